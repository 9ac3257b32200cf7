"""The distribution's packages: another program's lock is waited for, and the kernel's headers come with each update."""

from __future__ import annotations

from pathlib import Path

import pytest

from envkit._startup.records import replace
from envkit.base.settings import Mirrors
from envkit.install.options import ScriptOptions
from tests.install.drivers import machine
from tests.install.drivers import script as bundling
from tests.install.plans import plan, scripted
from tests.install.shell import call, dry_run, keeping

_REAL = 'eval "$kept"; SYSTEM_WIDE=1 CURRENT_STEP=prerequisites\n'
_HELD = {
    "apt": "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 812 (unattended-upgr)",
    "old apt": "E: Could not get lock /var/lib/dpkg/lock - open (11: Resource temporarily unavailable)",
    "lists": "E: Unable to lock directory /var/lib/apt/lists/",
    "dpkg": "dpkg: error: dpkg frontend lock was locked by another process with pid 812",
    "zypper": "System management is locked by the application with pid 812 (zypper).",
}


def script() -> str:
    text = scripted(plan("12.4.1", gpus=("8.6",), with_driver=True), ScriptOptions(with_driver=True), Mirrors())
    return keeping(text, "install_packages", "refresh_packages")


@pytest.mark.parametrize("said", _HELD.values(), ids=_HELD)
@pytest.mark.parametrize(("free_after", "patience", "code"), [(3, 600, 0), (999, 20, 3)])
def test_a_held_lock_is_waited_for(said: str, free_after: int, patience: int, code: int, tmp_path: Path) -> None:
    body = f"""{_REAL}
    PATIENCE={patience}
    sleep() {{ echo "$1" >>{tmp_path}/slept; }}
    dpkg() {{ :; }}
    refresh_packages() {{ :; }}
    tried() {{ wc -l <{tmp_path}/tried; }}
    env() {{ echo >>{tmp_path}/tried; (($(tried) > {free_after})) || {{ echo '{said}'; return 100; }}; }}
    install_packages gcc; echo installed
    """
    done = call(script(), body, tmp_path)
    assert done.returncode == code and ("installed" in done.stdout) is (code == 0), done
    assert done.stderr.count("waiting for up to 10 minutes") == 1
    assert len((tmp_path / "slept").read_text().split()) == (free_after if code == 0 else patience // 5)


def test_any_other_fault_is_told_at_once(tmp_path: Path) -> None:
    body = (
        f"{_REAL}dpkg() {{ :; }}\nrefresh_packages() {{ :; }}\nenv() {{ echo 'E: Unable to locate gcc'; return 100; }}"
    )
    done = call(script(), f"{body}\ninstall_packages gcc", tmp_path)
    assert done.returncode == 3 and "Unable to locate gcc" in done.stderr and "waiting" not in done.stderr


@pytest.mark.parametrize(("allowed", "code"), [(0, 3), (1, 0)])
def test_with_offline_packages_come_only_from_sources_that_were_allowed(
    allowed: int, code: int, tmp_path: Path
) -> None:
    """A mirror of the distribution in the machine's own network is no reason to refuse."""
    body = (
        f"{_REAL}OFFLINE_DIR=/media SYSTEM_PACKAGES={allowed}\nrefresh_packages() {{ :; }}\n"
        "dpkg() { :; }\nenv() { echo asks; }"
    )
    done = call(script(), f"{body}\ninstall_packages gcc; echo installed", tmp_path)
    assert done.returncode == code and ("installed" in done.stdout) is (code == 0), done
    assert ("pass --system-packages" in done.stderr) is (code != 0)
    assert "--system-packages" in dry_run(script(), "--help").stdout


_IMAGES = """
ii \\tlinux-image-6.1.0-18-amd64\\tkmod, linux-base
ii \\tlinux-image-amd64\\tlinux-image-6.1.0-18-amd64 (= 6.1.76-1)
ii \\tlinux-image-generic-hwe-22.04\\tlinux-image-6.8.0-40-generic, linux-modules-extra-6.8.0-40-generic
ii \\tlinux-image-gcp\\tlinux-image-6.8.0-1010-gcp
un \\tlinux-image-virtual\\tlinux-image-5.15.0-1-generic
"""


@pytest.mark.parametrize(
    ("kernel", "package"),
    [
        ("6.1.0-18-amd64", "linux-headers-amd64"),
        ("6.8.0-40-generic", "linux-headers-generic-hwe-22.04"),
        ("6.8.0-1010-gcp", "linux-headers-gcp"),
        ("5.15.0-1-generic", ""),
        ("6.9.0-custom", ""),
    ],
)
def test_the_headers_of_coming_kernels_come_along(kernel: str, package: str, tmp_path: Path) -> None:
    """Else the next kernel update takes the driver away."""
    body = f"""
    uname() {{ echo {kernel}; }}
    dpkg-query() {{ printf '{_IMAGES.strip().replace(chr(10), "%b")}'; }}
    package_candidate() {{ echo 1; }}
    follow_kernel
    """.replace("%b", "\\n")
    assert call(script(), body, tmp_path).stdout == (f"installs {package}\n" if package else "")


def test_headers_that_nobody_offers_are_reported_before_anything_is_installed(tmp_path: Path) -> None:
    body = "headers_are_here() { return 1; }\npackage_candidate() { :; }\ninstall_headers"
    done = call(script(), body, tmp_path)
    assert done.returncode == 11 and done.stdout == "" and "Update the kernel, reboot" in done.stderr, done


@pytest.mark.parametrize("here", [True, False])
def test_a_runfile_driver_is_built_again_by_kernel_updates(here: bool, tmp_path: Path) -> None:
    found = plan("12.8", gpus=("8.6",), with_driver=True)
    runfile = "/d/NVIDIA-Linux-x86_64-580.65.06.run"
    text = scripted(found, ScriptOptions(with_driver=True, driver_runfile=runfile), Mirrors())
    assert "options+=(--dkms)" in text
    packaged = scripted(replace(found, request=found.request), ScriptOptions(with_driver=True), Mirrors())
    assert "--dkms" not in packaged  # the installer inside a CUDA runfile takes no such option
    body = f"""
    choose_driver() {{ :; }}
    follow_kernel() {{ :; }}
    command() {{ [[ $2 != dkms ]] || {"true" if here else "false"}; }}
    package_candidate() {{ echo 3.0; }}
    prepare_driver
    """
    assert call(text, body, tmp_path).stdout == ("" if here else "installs dkms\n")


def test_a_runfile_driver_is_built_for_the_kernel_of_the_next_boot_too(tmp_path: Path) -> None:
    """Debian's metapackage of headers provides the newest kernel, before DKMS knows of the driver."""
    text = scripted(
        plan("12.8", gpus=("8.6",), with_driver=True),
        ScriptOptions(with_driver=True, driver_runfile="/d/NVIDIA-Linux-x86_64-580.65.06.run"),
        Mirrors(),
    )
    body = """
    installed=yes
    command() { [[ $installed == yes ]]; }
    other_kernels() { printf '%s\\n' 6.1.0-56-amd64 6.12-amd64; }
    run() { echo "runs $*"; [[ $* != *6.12* ]]; }
    build_for_other_kernels; installed=no; build_for_other_kernels; echo end
    """
    done = call(text, body, tmp_path)
    lines = [f"runs dkms autoinstall -k {kernel}" for kernel in ("6.1.0-56-amd64", "6.12-amd64")]
    assert done.stdout.splitlines() == [*lines, "end"], done
    assert "could not be built for kernel 6.12-amd64" in done.stderr and "6.1.0-56" not in done.stderr


def test_a_newer_kernel_that_comes_along_is_reported(tmp_path: Path) -> None:
    body = """
    kernel_headers_package() { echo linux-headers-amd64; }
    package_candidate() { echo 6.1.192-2; }
    apt-get() { echo "Inst linux-image-amd64 [6.1.176-1] (6.1.192-2)
    Inst linux-image-6.1.0-56-amd64 (6.1.192-2)
    Inst linux-headers-amd64 (6.1.192-2)" | sed 's/^ *//'; }
    follow_kernel
    """
    done = call(script(), body, tmp_path)
    assert "the next boot will start: linux-image-6.1.0-56-amd64\n" in done.stderr and "installs linux" in done.stdout


def test_rollback_never_removes_the_kernel_that_runs(tmp_path: Path) -> None:
    """It may have come with the headers or the signed modules, and runs since the reboot."""
    text = keeping(script(), "remove_added_packages")
    body = """eval "$kept"
    uname() { echo 6.8.0-60-generic; }
    dpkg() { echo amd64; }
    image=linux-image-6.8.0-60-generic
    dpkg-query() { [[ $* != "-S /boot/vmlinuz-6.8.0-60-generic" ]] || echo "$image: /boot/vmlinuz"; }
    list_packages() { printf '%s\n' linux-headers-generic $image make; }
    taken_along() { :; }
    when_free() { echo "$*"; }
    printf '%s\n' linux-headers-generic $image >$STATE_DIR/packages.1
    remove_added_packages $STATE_DIR/packages.1
    """
    done = call(text, body, tmp_path)
    assert done.returncode == 0 and done.stdout.splitlines()[-1].endswith("AutomaticRemove=false linux-headers-generic")
    assert "linux-image-6.8.0-60-generic stays, because this machine runs that kernel" in done.stderr


def test_a_driver_that_no_kernel_update_builds_again_is_reported_beforehand(tmp_path: Path) -> None:
    """A CUDA runfile's installer knows no DKMS; a dry run tells it as well."""
    machine(tmp_path)
    done = call(bundling("12.4.1"), "MODE=dry-run; check_for_driver", tmp_path)
    assert done.returncode == 0 and "again after every kernel update, or create it with --driver-runfile" in done.stderr
    chosen = tmp_path / "NVIDIA-Linux-x86_64-580.65.06.run"
    chosen.touch()
    done = call(bundling("12.4.1", driver_runfile=str(chosen)), "MODE=dry-run; check_for_driver", tmp_path)
    assert done.returncode == 0 and "kernel update" not in done.stderr, done


_LISTS = {
    "CentOS-Base.repo": """[base]
mirrorlist=http://mirrorlist.centos.org/?release=$releasever&arch=$basearch&repo=os&infra=$infra
#baseurl=http://mirror.centos.org/centos/$releasever/os/$basearch/
gpgcheck=1
""",
    "epel.repo": "[epel]\nmetalink=https://mirrors.example/metalink?repo=epel-7\n",
}


@pytest.mark.parametrize(("os_id", "manager"), [("centos7", "yum"), ("centos8", "dnf")])
@pytest.mark.parametrize("repaired", [False, True])
def test_an_ended_release_takes_its_packages_from_the_archive(
    os_id: str, manager: str, repaired: bool, tmp_path: Path
) -> None:
    own = tmp_path / "repos"
    own.mkdir()
    for name, text in _LISTS.items():
        (own / name).write_text(text.replace("mirrorlist=", "#mirrorlist=") if repaired else text)
    before = {path.name: path.read_text() for path in own.iterdir()}
    program = tmp_path / "bin" / manager
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nfor word; do printf '<%s>' \"$word\"; done\n")
    program.chmod(0o755)
    body = f"""
    PATH={tmp_path}/bin:$PATH; OWN_LISTS={own}
    when_free {manager} install -y 'a b'; cat $LOG_FILE
    """
    text = scripted(plan("11.8.0", os_id=os_id), ScriptOptions(), Mirrors())
    done = call(text, body, tmp_path)
    (lists,) = tmp_path.glob("state/*/repositories") if not repaired else [None]
    option = f"<--setopt=reposdir={lists}>" if lists else ""
    assert f"{option}<install><-y><a b>" in done.stdout, done
    assert {path.name: path.read_text() for path in own.iterdir()} == before
    if lists:
        assert "\nbaseurl=http://vault.centos.org/centos/$releasever/os" in (lists / "CentOS-Base.repo").read_text()
        assert (lists / "epel.repo").read_text() == _LISTS["epel.repo"]


def test_other_systems_have_no_archive() -> None:
    assert "--setopt=reposdir" not in script()
