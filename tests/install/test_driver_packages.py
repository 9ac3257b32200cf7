"""Which packages `--with-driver` takes, in which version, and from which stream of a module."""

from __future__ import annotations

from pathlib import Path

import pytest

from envkit.base.errors import RequestError
from tests.install.drivers import machine, packages, script
from tests.install.shell import call, keeping

# The last branch of Kepler is 470, that of Pascal 580 (NVIDIA Unix driver deprecation schedule, answer 3142).
OFFERS = {
    "pascal and what NVIDIA's repository has": ("12.4.1", "centos7", "6.1", "cuda-drivers", "610.43.02-1", False),
    "pascal and the last branch": ("12.4.1", "centos7", "6.1", "cuda-drivers", "3:580.65.06-1.el7", True),
    "kepler and Debian 13's": ("11.4.0", "debian13", "3.7", "nvidia-driver", "550.163.01-2", False),
    "kepler and Debian 11's": ("11.4.0", "debian11", "3.7", "nvidia-driver", "470.256.02-2", True),
    "a transitional package": (
        "11.4.0",
        "debian12",
        "3.7",
        "nvidia-tesla-460-driver",
        "535.1",
        False,
    ),
    "blackwell needs the open module": ("12.8", "fedora42", "12.0", "cuda-drivers", "580.65.06", False),
    "the proprietary module ends": ("12.4.1", "debian12", "8.6", "cuda-drivers", "615.71.09-1", False),
    "ampere and the proprietary module": ("12.4.1", "debian12", "8.6", "nvidia-driver", "535.247.01-1", True),
}


@pytest.mark.parametrize("name", OFFERS)
@pytest.mark.parametrize("where", ["package_candidate", "installed_version"])
def test_a_package_is_taken_only_in_a_version_that_drives_the_gpu(tmp_path: Path, name: str, where: str) -> None:
    cuda, os_id, gpu, package, version, taken = OFFERS[name]
    body = f"{where}() {{ [[ $1 != {package} && $1 != lib*cuda1 ]] || echo {version}; }}\nchoose_driver_package"
    done = call(script(cuda, os_id, gpu), body, tmp_path)
    names = done.stdout.strip("|\n").split()
    assert names[:1] == ([package] if taken else []), done
    # Debian's libcuda1 is a package of its own (packages.debian.org), and nothing but a recommendation provides it.
    assert not taken or ("libcuda1" in names) is (package == "nvidia-driver")


@pytest.mark.parametrize("place", ["sys", "modinfo"])
def test_a_driver_that_has_dropped_the_gpu_is_told_and_not_replaced(tmp_path: Path, place: str) -> None:
    machine(tmp_path, "nvidia")
    if place == "sys":
        (tmp_path / "root/sys/module/nvidia/version").write_text("610.43.02\n")
    body = "modinfo() { echo 610.43.02; }\ncheck_for_driver" if place == "modinfo" else "check_for_driver"
    done = call(script(gpu="6.1"), body, tmp_path)
    assert done.returncode == 11 and "branch 580 is the last one for the GPU" in done.stderr, done


def test_an_installed_package_comes_before_a_newer_one_on_offer(tmp_path: Path) -> None:
    body = (
        "installed_version() { [[ $1 != nvidia-driver-570-open ]] || echo 570.86.16; }\n"
        "package_candidate() { [[ $1 != nvidia-driver-580-open ]] || echo 580.65.06; }\nchoose_driver_package"
    )
    assert call(script("12.4.1", "ubuntu24.04"), body, tmp_path).stdout == "|nvidia-driver-570-open\n"


# GPUs from Turing to Hopper run with either kernel module, Blackwell with the open one alone (NVIDIA Driver
# Installation Guide, Open or Proprietary Kernel Modules).
@pytest.mark.parametrize(
    ("cuda", "gpu", "version", "taken"),
    [
        ("12.4.1", "8.6", "570.86.16", "nvidia-driver-570"),
        ("13.0", "8.6", "570.86.16", "nvidia-driver-580-open"),  # too old for CUDA 13
        ("12.8", "12.0", "570.86.16", "nvidia-driver-580-open"),
    ],
)
def test_an_installed_driver_with_the_other_module_is_kept_where_it_fits(
    tmp_path: Path, cuda: str, gpu: str, version: str, taken: str
) -> None:
    body = (
        f"installed_version() {{ [[ $1 != nvidia-driver-570 ]] || echo {version}; }}\n"
        "package_candidate() { [[ $1 != nvidia-driver-580-open ]] || echo 580.65.06; }\nchoose_driver_package"
    )
    assert call(script(cuda, "ubuntu24.04", gpu), body, tmp_path).stdout == f"|{taken}\n"


def test_a_runfile_past_the_last_branch_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="580 is the last branch"):
        script(gpu="6.1", driver_runfile="/d/NVIDIA-Linux-x86_64-610.43.02.run")
    bundled = script("11.8.0", gpu="3.7")  # its own driver is 520; Kepler ends with 470
    assert "$(file_path" not in bundled.partition("\ninstall_driver_runfile() {")[2].partition("\n}")[0]


# An excerpt of what `dnf module info` prints: the artifacts of the stream.
MODULE = """
Name             : nvidia-driver
Stream           : 580-dkms
Artifacts        : cuda-drivers-0:580.65.06-1.el9.x86_64
                 : cuda-drivers-0:580.82.07-1.el9.x86_64
                 : cuda-drivers-fabricmanager-0:580.99.01-1.el9.x86_64
                 : nvidia-driver-3:580.82.07-1.el9.x86_64
"""
DNF = """
PACKAGE_MANAGER=dnf
CURRENT_STEP=driver
run() { "$@"; }
dnf() {
  echo "dnf $*" >>"$STATE_DIR/calls"
  case "$*" in
    "-q module info nvidia-driver:580-dkms") printf '%s' "$MODULE" ;;
    "module enable -y nvidia-driver:"*)
      mkdir -p "$SYSROOT/etc/dnf/modules.d"
      printf '[nvidia-driver]\nname=nvidia-driver\nstream=%s\nprofiles=\nstate=enabled\n' "${4##*:}" \
        >"$SYSROOT/etc/dnf/modules.d/nvidia-driver.module" ;;
    "module reset -y nvidia-driver") rm "$SYSROOT/etc/dnf/modules.d/nvidia-driver.module" ;;
    *) return 1 ;;
  esac
}
"""


def stream_file(folder: Path, stream: str, state: str) -> None:
    """What dnf writes when somebody enables or disables the module."""
    file = folder / "root/etc/dnf/modules.d/nvidia-driver.module"
    file.parent.mkdir(parents=True)
    file.write_text(f"[nvidia-driver]\nname=nvidia-driver\nstream={stream}\nprofiles=\nstate={state}\n")


def modular(gpu: str = "6.1", cuda: str = "12.4.1") -> str:
    """A script for Rocky 9 whose package_candidate is the real one."""
    return keeping(script(cuda, "rockylinux9", gpu), "package_candidate")


def on_dnf(body: str) -> str:
    return f"MODULE='{MODULE}'{DNF}eval \"$kept\"\n{body}"


@pytest.mark.parametrize("os_id", ["debian12", "debian13"])
def test_what_the_distribution_recommends_comes_first(os_id: str) -> None:
    """Its packages of branches get no updates."""
    first, second = [entry[-1].split()[0] for entry in packages(script("12.4.1", os_id))][:2]
    assert first == "nvidia-driver" and second.startswith("nvidia-tesla-")


@pytest.mark.parametrize("os_id", ["rhel8", "almalinux9", "oraclelinux9", "amzn2023", "ubi8"])
def test_modular_systems_take_the_packages_from_a_stream(os_id: str) -> None:
    # NVIDIA Driver Installation Guide, Kernel Modules: dnf module enable nvidia-driver:open-dkms, then nvidia-open
    found = packages(script("12.8", os_id))
    assert [entry[2:] for entry in found] == [
        ["nvidia-driver:open-dkms", "nvidia-open"],
        ["nvidia-driver:latest-dkms", "cuda-drivers"],
    ]
    old = packages(script("12.4.1", os_id, "6.1"))
    assert old[0] == ["525", "580", "nvidia-driver:580-dkms", "cuda-drivers"]
    assert old[-1][2] == "nvidia-driver:latest-dkms"


def test_a_stream_is_enabled_for_the_packages_and_reset_by_rollback(tmp_path: Path) -> None:
    machine(tmp_path)
    body = on_dnf(
        "check_for_driver; install_driver || true; cat $SYSROOT/etc/dnf/modules.d/*; undo_changes; cat $STATE_DIR/calls"
    )
    body = body.replace("check_for_driver;", "reboot_for_driver() { echo 'asks for a reboot'; }\ncheck_for_driver;")
    done = call(modular(), body, tmp_path)
    assert "installs cuda-drivers" in done.stdout and "stream=580-dkms" in done.stdout, done
    calls = [line for line in done.stdout.splitlines() if line.startswith("dnf module")]
    assert calls == ["dnf module enable -y nvidia-driver:580-dkms", "dnf module reset -y nvidia-driver"]


def test_a_stream_that_was_enabled_before_is_kept_by_rollback(tmp_path: Path) -> None:
    machine(tmp_path)
    stream_file(tmp_path, "580-dkms", "enabled")
    body = "reboot_for_driver() { :; }\ncheck_for_driver; install_driver; undo_changes; cat $STATE_DIR/calls"
    done = call(modular(), on_dnf(body), tmp_path)
    assert "installs cuda-drivers" in done.stdout and "dnf module enable" not in done.stdout, done
    assert "dnf module reset" not in done.stdout


@pytest.mark.parametrize(("stream", "state"), [("open-dkms", "enabled"), ("580-dkms", "disabled")])
def test_another_choice_of_stream_is_the_admins_and_is_reported(tmp_path: Path, stream: str, state: str) -> None:
    machine(tmp_path)
    stream_file(tmp_path, stream, state)
    done = call(modular(), on_dnf("check_for_driver"), tmp_path)
    assert done.returncode == 11 and "sudo dnf module reset nvidia-driver" in done.stderr, done


@pytest.mark.parametrize(("gpu", "taken"), [("8.6", True), ("12.0", False)])
def test_an_enabled_stream_of_a_branch_is_taken_where_it_drives_the_gpu(tmp_path: Path, gpu: str, taken: bool) -> None:
    machine(tmp_path)
    stream_file(tmp_path, "580-dkms", "enabled")
    text = modular(gpu) if gpu != "12.0" else modular(gpu, "12.8")
    assert "580-dkms" not in str(packages(text))  # the plan's own are open-dkms and latest-dkms
    done = call(text, on_dnf('check_for_driver; echo "$DRIVER_STREAM: $DRIVER_PACKAGE"'), tmp_path)
    if taken:
        assert done.stdout == "580-dkms: cuda-drivers\n", done
    else:
        assert done.returncode == 11 and "this script's packages are in other streams (open-dkms)" in done.stderr, done


def test_a_stream_that_was_looked_at_is_told_from_one_that_was_not(tmp_path: Path) -> None:
    machine(tmp_path)
    stream_file(tmp_path, "latest-dkms", "enabled")
    done = call(modular(), on_dnf("check_for_driver"), tmp_path)
    assert "is on offer in it" in done.stderr and "other streams" not in done.stderr, done


# Stefan Dirsch (SUSE), Installation of NVIDIA drivers on openSUSE and SLE, 2025-07-16: the user space with libcuda is
# nvidia-compute-utils-G06, in the version of the signed module.
ZYPPER = """
PACKAGE_MANAGER=zypper
zypper() {
  case "$*" in
    *"search -s --match-exact -t package nvidia-compute-utils-G06")
      echo "   | nvidia-compute-utils-G06 | package | $OFFERED-1 | x86_64 | cuda" ;;
  esac
}
package_candidate() { [[ $1 != "$MODULE_PACKAGE" ]] || echo 570.133.20_k6.4.0_150600.21-1.1; }
"""


@pytest.mark.parametrize(
    ("gpu", "package"),
    [("12.0", "nvidia-open-driver-G06-signed-kmp-default"), ("6.1", "nvidia-driver-G06-kmp-default")],
)
@pytest.mark.parametrize(("offered", "taken"), [("570.133.20", True), ("580.65.06", False)])
def test_suse_gets_module_and_libraries_of_one_version(
    tmp_path: Path, gpu: str, package: str, offered: str, taken: bool
) -> None:
    text = script("12.8" if gpu == "12.0" else "12.4.1", "opensuse15", gpu)
    machine(tmp_path)
    body = f"OFFERED={offered} MODULE_PACKAGE={package}\n{ZYPPER}\nchoose_driver_package"
    done = call(text, body, tmp_path)
    names = f"{package} nvidia-compute-utils-G06=570.133.20"
    assert done.stdout == (f"|{names}\n" if taken else ""), done
    if taken:
        body = body.replace("choose_driver_package", "reboot_for_driver() { :; }\ncheck_for_driver; install_driver")
        assert f"installs {names}\n" in call(text, body, tmp_path).stdout


def test_zypper_agrees_to_the_license_of_the_driver_alone_and_only_after_the_user_did(tmp_path: Path) -> None:
    machine(tmp_path)
    body = (
        "OFFERED=570.133.20 MODULE_PACKAGE=nvidia-driver-G06-kmp-default"
        + ZYPPER
        + 'eval "$kept"\nSYSTEM_WIDE=1 CURRENT_STEP=driver\n'
        + 'uname() { echo x86_64; }\nreboot_for_driver() { :; }\nwhen_free() { echo "runs $*"; }\n'
        + "check_for_driver; install_driver; install_packages gcc"
    )
    text = keeping(script("12.4.1", "opensuse15", "6.1"), "install_packages")
    lines = [line for line in call(text, body, tmp_path).stdout.splitlines() if line.startswith("runs zypper")]
    installs = [line.partition("--no-recommends ")[2] for line in lines if " install " in line]
    assert installs == [
        "--auto-agree-with-licenses nvidia-driver-G06-kmp-default nvidia-compute-utils-G06=570.133.20",
        "gcc",
    ]
    asking = script("12.4.1", "opensuse15", "6.1", accept_eula=False)
    refused = call(asking, body.replace('eval "$kept"', ""), tmp_path)
    assert refused.returncode == 3 and "EULA has not been accepted" in refused.stderr, refused


def test_ubuntu_16_04_has_the_driver_under_its_old_name(tmp_path: Path) -> None:
    offers = "package_candidate() { [[ $1 != nvidia-384 && $1 != libcuda1-384 ]] || echo 384.130-0ubuntu0.16.04.2; }"
    done = call(script("9.0.176", "ubuntu16.04", "6.1"), f"{offers}\nchoose_driver_package", tmp_path)
    assert done.stdout == "|nvidia-384 libcuda1-384\n", done


@pytest.mark.parametrize(("lists", "told"), [("true", True), ("false", False)])
def test_a_dry_run_judges_by_the_package_lists_that_are_here(lists: str, told: bool, tmp_path: Path) -> None:
    """It does not fetch them; without any it cannot tell what is on offer, and refuses nothing."""
    body = f"""
    MODE=dry-run; package_lists_are_here() {{ {lists}; }}; refresh_packages() {{ echo refreshed; }}
    driver_is_good() {{ return 1; }}; in_container() {{ return 1; }}; nvidia_gpu_on_bus() {{ echo 0000:01:00.0; }}
    check_driver_runfile() {{ fail 11 "no package will do"; }}
    check_for_driver; echo went on
    """
    done = call(script(), body, tmp_path)
    assert "does not refresh the package lists" in done.stderr and "refreshed" not in done.stdout, done
    assert ("no package will do" in done.stderr) is told and ("went on" in done.stdout) is not told, done
