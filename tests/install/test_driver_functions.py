"""The decisions of `--with-driver`, function by function: what refuses, what is kept, what is asked for only once."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from envkit.base.errors import RequestError
from envkit.base.settings import Mirrors
from envkit.base.versions import Version
from envkit.install.model import FetchFile
from envkit.install.options import ScriptOptions
from envkit.install.steps import installation
from tests.install.drivers import machine, packages, script
from tests.install.plans import plan, scripted
from tests.install.shell import call, keeping

URL = "https://mirror.lan/drivers/NVIDIA-Linux-x86_64-580.65.06.run?key=1"
FILE = "NVIDIA-Linux-x86_64-580.65.06.run"


def installer(result: str, before: str = "") -> str:
    """A bundled runfile that writes `result` into the list of what is on disk, or fails when it is empty."""
    mark = "/driver-on-disk"
    return f"""
    CURRENT_STEP=driver; folder=${{STATE_DIR%/state/*}}
    [ -z '{before}' ] || echo '{before}' >"$folder{mark}"
    printf '#!/bin/sh\\n%s\\n' "{f"echo {result} >$folder{mark}" if result else "exit 1"}" \
      >"$CACHE_DIR/cuda_12.4.1_550.54.15_linux.run"
    run() {{ echo "runs $*"; }}
    """


@pytest.mark.parametrize(
    ("before", "result", "removes"),
    [("", "new", True), ("", "", False), ("old", "", False), ("old", "new", False)],
)
def test_rollback_removes_only_a_driver_that_the_script_brought(
    tmp_path: Path, before: str, result: str, removes: bool
) -> None:
    machine(tmp_path)
    body = installer(result, before) + (
        '(install_driver_runfile) || echo "code $?"\n'
        'uninstall() { local code; code=$(declare -f remove_driver_runfile); eval "${code//\\/usr\\/bin/$folder}"; }\n'
        "uninstall; : >$folder/nvidia-uninstall; chmod +x $folder/nvidia-uninstall; undo_changes"
    )
    done = call(script(), body, tmp_path)
    assert ("nvidia-uninstall --silent" in done.stdout) is removes, done
    assert ("code 11" in done.stdout) is (not result)
    assert ("cannot be brought back" in done.stderr) is (before == "old" and result == "new")


@pytest.mark.parametrize("before", ["old", ""])
def test_a_driver_that_stays_keeps_what_kernel_updates_build_it_with(tmp_path: Path, before: str) -> None:
    """Without DKMS, the headers and a compiler, the next kernel would have no driver."""
    machine(tmp_path)
    body = f"""{installer("new", before)}
    printf '%s\\n' make >$STATE_DIR/packages.1; printf '%s\\n' dkms linux-headers-amd64 >$STATE_DIR/packages.2
    CURRENT_STEP=prerequisites; record packages-added $STATE_DIR/packages.1
    CURRENT_STEP=driver; record packages-added $STATE_DIR/packages.2
    install_driver_runfile
    remove_added_packages() {{ echo "removes $(cat "$1" | tr '\\n' ' ')"; }}
    undo_changes
    """
    done = call(script(), body, tmp_path)
    assert done.returncode == 0 and "removes make \n" in done.stdout, done
    assert ("build that driver with them: dkms linux-headers-amd64" in done.stderr) is bool(before)
    assert ("removes dkms linux-headers-amd64" in done.stdout) is (not before)


def test_the_marks_of_the_first_try_outlive_a_second_one(tmp_path: Path) -> None:
    machine(tmp_path)
    body = installer("new") + "install_driver_runfile; install_driver_runfile; cat $STATE_DIR/driver-before; echo end"
    assert call(script(), body, tmp_path).stdout == "end\n"


REFUSALS = {
    "secure boot": ("12.4.1", "", "Secure Boot refuses"),
    "no driver in the runfile": ("13.4.1", "", "contains no suitable one"),
    "a packaged driver that is too old": (
        "12.4.1",
        "packaged_driver() { echo nvidia-driver; }",
        "must not be installed over packages",
    ),
    "headers that cannot be had": ("12.4.1", "headers_are_here() { return 1; }", "no kernel headers"),
    "no program for the initramfs": (
        "12.4.1",
        "package_candidate() { echo 580.65.06; }; initramfs_can_be_rebuilt() { return 1; }",
        "neither update-initramfs nor dracut is installed",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_nouveau_stays_where_no_driver_can_be_installed(tmp_path: Path, name: str) -> None:
    cuda, stub, words = REFUSALS[name]
    machine(tmp_path, "nouveau", secure_boot=name == "secure boot")
    done = call(script(cuda, "ubuntu24.04"), f"{stub}\ncheck_for_driver\nrun_step 1 nouveau N", tmp_path)
    assert done.returncode == 11, done
    assert words in done.stderr
    assert "rebuild the initramfs" not in done.stdout


def test_a_rollback_goes_on_without_a_program_for_the_initramfs(tmp_path: Path) -> None:
    """The earlier notes are taken back too, and the last line says what is left to do."""
    file = tmp_path / "nouveau.conf"
    body = f"""
    CURRENT_STEP=prerequisites; record absent {tmp_path}/made; : >{tmp_path}/made
    CURRENT_STEP=nouveau; record initramfs -
    echo 'blacklist nouveau' | write_file {file}; initramfs_can_be_rebuilt() {{ return 1; }}
    roll_back
    """
    done = call(script("12.4.1", "ubuntu24.04"), body, tmp_path)
    assert done.returncode == 0 and "rebuilds" not in done.stdout, done
    assert "Undone, except for this: the initramfs is not rebuilt" in done.stdout + done.stderr
    assert not file.exists() and not (tmp_path / "made").exists()


@pytest.mark.parametrize("packaged", [True, False])
def test_one_reboot_serves_nouveau_and_a_packaged_driver(tmp_path: Path, packaged: bool) -> None:
    """A runfile's installer needs one before it starts; a package needs one afterward anyway."""
    machine(tmp_path, "nouveau")
    offer = "package_candidate() { echo 580.65.06; }" if packaged else ":"
    steps = "run_step 1 nouveau N; run_step 2 driver D"
    body = f"{offer}\nNOUVEAU_FILE={tmp_path}/nouveau.conf\nMODE=install\ncheck_for_driver\n{steps}"
    done = call(script("12.4.1", "ubuntu24.04"), body, tmp_path)
    assert done.returncode == 8 and done.stderr.count("reboot now") == 1, done
    assert "blacklist nouveau" in (tmp_path / "nouveau.conf").read_text() and "rebuilds the boot image" in done.stdout
    assert ("installs nvidia-driver" in done.stdout) is packaged
    (journal,) = tmp_path.glob("state/*/journal")
    assert f"{'driver' if packaged else 'nouveau'}\treboot" in journal.read_text()


def test_nouveau_stays_where_the_drivers_packages_cannot_be_installed(tmp_path: Path) -> None:
    """Until the run is resumed, or without it, the machine still boots with a driver for its display."""
    machine(tmp_path, "nouveau")
    file = tmp_path / "nouveau.conf"
    body = f"""
    package_candidate() {{ echo 580.65.06; }}; NOUVEAU_FILE={file}; MODE=install
    install_packages() {{ echo "tries $*"; [[ -f {tmp_path}/network ]] || fail 3 "could not be fetched"; }}
    (check_for_driver; run_step 1 nouveau N) || echo "code $?"
    [[ ! -f $NOUVEAU_FILE ]] || echo "nouveau is off"
    : >{tmp_path}/network
    check_for_driver; run_step 1 nouveau N; cat $NOUVEAU_FILE
    """
    said = call(script("12.4.1", "ubuntu24.04"), body, tmp_path).stdout
    assert [said.count(words) for words in ("tries nvidia-driver", "code 3", "nouveau is off")] == [2, 1, 0], said
    assert said.count("rebuilds the boot image") == 1 and said.index("code 3") < said.index("blacklist nouveau"), said


def test_a_driver_is_refused_in_a_container_that_only_its_environment_tells(tmp_path: Path) -> None:
    machine(tmp_path)
    done = call(script(), "KUBERNETES_SERVICE_HOST=10.0.0.1\ncheck_for_driver", tmp_path)
    assert done.returncode == 11 and "install the driver on its host" in done.stderr, done


def test_a_chosen_file_must_be_there_before_nouveau_goes(tmp_path: Path) -> None:
    machine(tmp_path, "nouveau")
    done = call(script(driver_runfile="/nowhere/d.run"), "check_for_driver\nrun_step 1 nouveau N", tmp_path)
    assert done.returncode == 11 and "/nowhere/d.run is not on this machine" in done.stderr


@pytest.mark.parametrize("options", ["", "OFFLINE_DIR=/media/files"])
@pytest.mark.parametrize("alone", [True, False])
def test_a_script_without_a_runfile_says_what_is_missing_and_no_more(tmp_path: Path, alone: bool, options: str) -> None:
    found = plan("13.4.1", os_id="ubuntu24.04", gpus=("8.6",), with_driver=True)
    if alone:
        found = replace(found, choice=replace(found.choice, needs_toolkit=False, cudnn=None))
    text = scripted(found, ScriptOptions(with_driver=True), Mirrors())
    machine(tmp_path, secure_boot=True)
    done = call(text, f"{options}\npackaged_driver() {{ echo nvidia-driver; }}\ncheck_for_driver", tmp_path)
    assert done.returncode == 11 and "create the script again with --driver-runfile" in done.stderr, done
    assert ("this CUDA runfile contains no suitable one" in done.stderr) is not alone
    assert ("--offline fetches none" in done.stderr) is bool(options)
    assert ("the package sources of this machine offer no" in done.stderr) is (not options)
    assert "turn Secure Boot off" not in done.stderr and "must not be installed over packages" not in done.stderr


def test_with_offline_nothing_is_said_of_what_is_on_offer(tmp_path: Path) -> None:
    machine(tmp_path, secure_boot=True)
    done = call(script(), "OFFLINE_DIR=/media/files\ncheck_for_driver", tmp_path)
    assert done.returncode == 11 and "--offline fetches none, and Secure Boot refuses" in done.stderr, done


# dnf lists nothing as available for a package that is installed and current
INSTALLED = """
PACKAGE_MANAGER=dnf
unset -f package_candidate
eval "$kept"
dnf() { return 1; }
installed_version() { [[ $1 != nvidia-open ]] || echo 580.65.06; }
list_packages() { echo nvidia-open.noarch; }
"""


def test_an_installed_package_that_waits_for_its_reboot_is_no_obstacle(tmp_path: Path) -> None:
    machine(tmp_path)
    body = INSTALLED + "MODE=install\ncheck_for_driver\nrun_step 1 driver D"
    done = call(keeping(script("12.8", "rockylinux9"), "package_candidate"), body, tmp_path)
    assert done.returncode == 8, done
    assert "already installed" in done.stderr and "remove the packaged driver first" not in done.stderr
    assert "installs" not in done.stdout and "modprobe nvidia" in (tmp_path / "log.txt").read_text()


def test_a_driver_that_does_not_load_after_its_reboot_is_reported_and_no_second_reboot_asked_for(
    tmp_path: Path,
) -> None:
    machine(tmp_path)
    waiting = 'modinfo() { echo 580.65.06; }\njournal driver reboot\necho another-boot >"$STATE_DIR/driver-boot"\n'
    done = call(script(), waiting + "check_for_driver\nrun_step 1 driver D", tmp_path)
    assert done.returncode == 11 and "its module does not load" in done.stderr, done


def test_without_a_terminal_no_driver_installer_runs_before_the_license_is_accepted(tmp_path: Path) -> None:
    machine(tmp_path, "nouveau")
    text = script(accept_eula=False)
    assert call(text, "check_for_driver", tmp_path).returncode == 3
    done = call(text, installer("new") + "install_driver_runfile", tmp_path)
    assert done.returncode == 3 and not (tmp_path / "driver-on-disk").exists()
    asked_once = 'EULA_ACCEPTED=yes\ncheck_for_driver && accept_eula && echo "went on"'
    assert call(text, asked_once, tmp_path).stdout == "went on\n"


def test_a_url_is_fetched_first_and_used_under_its_own_name(tmp_path: Path) -> None:
    found = plan("12.4.1", gpus=("8.6",), with_driver=True)
    options = ScriptOptions(with_driver=True, driver_runfile=URL)
    work = installation(found, options, Mirrors())
    (fetch,) = (step for step in work.steps if isinstance(step, FetchFile) and step.needed_by == "driver")
    assert fetch.download.url == URL and fetch.download in work.downloads
    text = scripted(found, options, Mirrors())
    assert text.index("run_step 2 fetch-driver") < text.index(" nouveau 'Disable")
    assert f'sh "$(file_path "{FILE}")"' in text


def test_the_bundled_file_is_here_before_nouveau_goes() -> None:
    text = script()
    assert text.index("run_step 2 fetch-toolkit") < text.index(" nouveau 'Disable") < text.index(" driver 'NVIDIA")


def test_a_bundle_without_a_published_checksum_does_not_count_as_a_chosen_runfile() -> None:
    assert "\nDRIVER_FILE=''\n" in script("11.0.1", gpu="8.0")


@pytest.mark.parametrize(
    ("runfile", "words"),
    [("there/d.run", "relative"), ("/d/NVIDIA-Linux-x86_64-390.87.run", "390.87"), ("https://x.org/", "file name")],
)
def test_a_runfile_that_cannot_serve_is_wrong_usage(runfile: str, words: str) -> None:
    with pytest.raises(RequestError, match=words):
        script(driver_runfile=runfile)


# NVIDIA/gpu-driver-container pull request 182: --kernel-module-type exists from R560 on, -m before it.
@pytest.mark.parametrize(
    ("version", "gpu", "option"),
    [
        ("535.183.01", "8.6", "-m=kernel"),
        ("550.54.15", "12.0", "-m=kernel-open"),
        ("560.35.05", "8.6", "--kernel-module-type=open"),
        ("580.65.06", "6.1", "--kernel-module-type=proprietary"),
        ("580.65.06", "12.0", "--kernel-module-type=open"),
    ],
)
def test_the_kernel_module_is_named_as_that_installer_does(version: str, gpu: str, option: str) -> None:
    found = plan("12.4.1" if gpu != "12.0" else "12.8", gpus=(gpu,), with_driver=True)
    minimum = Version.parse("525.60.13")
    found = replace(found, choice=replace(found.choice, minimum_driver=minimum))
    runfile = f"/d/NVIDIA-Linux-x86_64-{version}.run"
    text = scripted(found, ScriptOptions(with_driver=True, driver_runfile=runfile), Mirrors())
    (options,) = re.findall(r"local -a options=\(--ui=none (.*)\)", text)
    assert [word for word in options.split() if word.startswith(("-m=", "--kernel-module-type"))] == [option]


@pytest.mark.parametrize(("os_id", "headers"), [("oraclelinux9", "kernel-devel-"), ("kylin10", "kernel-devel-")])
def test_headers_are_named_as_the_distribution_does(os_id: str, headers: str) -> None:
    text = script("12.8", os_id)
    assert headers in text and "linux-headers" not in text


@pytest.mark.parametrize("os_id", ["oraclelinux8", "oraclelinux9", "ubi9"])
def test_the_kin_of_rhel_get_its_packages(os_id: str) -> None:
    entries = [names for *_, names in packages(script("12.8", os_id))]
    assert entries == ["nvidia-open", "cuda-drivers"]


def test_a_distribution_without_driver_packages_gets_the_runfile(tmp_path: Path) -> None:
    machine(tmp_path)
    done = call(script("12.8", "kylin10"), 'check_for_driver; echo "package: $DRIVER_PACKAGE"', tmp_path)
    assert done.stdout == "package: \n", done


@pytest.mark.parametrize("runfile", [None, "/d/NVIDIA-Linux-x86_64-580.65.06.run", URL])
@pytest.mark.parametrize("os_id", ["debian12", "kylin10"])
def test_a_script_for_the_driver_alone_is_whole(tmp_path: Path, os_id: str, runfile: str | None) -> None:
    found = plan("12.8", os_id=os_id, gpus=("8.6",), with_driver=True)
    found = replace(found, choice=replace(found.choice, needs_toolkit=False, cudnn=None))
    options = ScriptOptions(with_driver=True, driver_runfile=runfile, accept_eula=False)
    machine(tmp_path)
    done = call(scripted(found, options, Mirrors()), "install_driver_runfile", tmp_path)
    words = "this plan has no driver runfile" if runfile is None else "the EULA has not been accepted"
    assert words in done.stderr, done


# Names of the distributions' package indexes and of NVIDIA's repositories, as list_packages gives them.
DRIVERS = """nvidia-384 nvidia-375-dev nvidia-tesla-470-driver nvidia-tesla-470-kernel-dkms nvidia-legacy-390xx-driver
nvidia-kernel-dkms nvidia-open-kernel-dkms akmod-nvidia.x86_64 nvidia-compute-G06.x86_64 nvidia-computeG05.x86_64
nvidia-driver-580-open nvidia-headless-535-server nvidia-dkms-580 kmod-nvidia-open-dkms.x86_64 cuda-drivers.x86_64
nvidia-open-driver-G06-signed-kmp-default.x86_64 nvidia-driver-G06-kmp-default.x86_64 nvidia-gfxG05-kmp-default.x86_64
libcuda1-384:amd64 libcuda1:amd64 libnvidia-compute-580:amd64 xorg-x11-drv-nvidia-cuda.x86_64 nvidia-340:amd64"""
OTHERS = """nvidia-container-toolkit nvidia-cuda-toolkit nvidia-settings nvidia-modprobe nvidia-detect nvidia-prime
nvidia-cuda-dev nvidia-profiler libnvidia-container1:amd64 cuda-toolkit-12-4 nvidia-cudnn nvidia-legacy-check
xserver-xorg-video-nouveau nvidia-docker2"""


def test_packaged_drivers_are_known_by_their_names(tmp_path: Path) -> None:
    body = f"list_packages() {{ printf '%s\\n' {' '.join((DRIVERS + ' ' + OTHERS).split())}; }}\npackaged_driver"
    assert call(script(), body, tmp_path).stdout.split() == DRIVERS.split()


IN_USE = """nvidia_uvm 1540096 {uvm} - Live 0x0000000000000000 (OE)
nvidia_drm 77824 0 - Live 0x0000000000000000 (OE)
nvidia_modeset 1310720 1 nvidia_drm, Live 0x0000000000000000 (OE)
nvidia 56823808 {core} nvidia_uvm,nvidia_modeset, Live 0x0000000000000000 (OE)
nvidiafb 61440 7 - Live 0x0000000000000000
"""


@pytest.mark.parametrize(
    ("uvm", "core", "held"), [(0, 2, ""), (4, 2, "nvidia_uvm"), (0, 15, "nvidia"), (2, 9, "nvidia_uvm nvidia")]
)
def test_a_driver_in_use_is_reported_with_its_users_before_a_runfile_replaces_it(
    tmp_path: Path, uvm: int, core: int, held: str
) -> None:
    machine(tmp_path, "nvidia")
    (tmp_path / "root/sys/module/nvidia/version").write_text("470.57.02\n")
    (tmp_path / "root/proc/4711/fd").mkdir(parents=True)
    (tmp_path / "root/proc/modules").write_text(IN_USE.format(uvm=uvm, core=core))
    (tmp_path / "root/proc/4711/comm").write_text("nvidia-persiste\n")
    (tmp_path / "root/proc/4711/fd/3").symlink_to("/dev/nvidiactl")
    done = call(script(), "check_for_driver; echo went on", tmp_path)
    if not held:
        assert done.stdout == "went on\n", done
        return
    assert done.returncode == 11, done
    assert f"driver 470.57.02 is loaded and in use (modules: {held}; programs: nvidia-persiste)" in done.stderr
    assert "systemctl stop nvidia-persistenced" in done.stderr and "docker ps" in done.stderr


# As /proc/modules lists nv_peer_mem (Mellanox/nv_peer_memory) and gdrdrv (NVIDIA/gdrcopy), which call the driver.
FOREIGN = """nvidia_uvm 1540096 0 - Live 0x0000000000000000 (OE)
nv_peer_mem 16384 0 - Live 0x0000000000000000 (OE)
nvidia 39059456 3 nvidia_uvm,nv_peer_mem,gdrdrv, Live 0x0000000000000000 (OE)
"""


def test_a_foreign_module_that_holds_the_driver_is_named(tmp_path: Path) -> None:
    machine(tmp_path, "nvidia")
    (tmp_path / "root/sys/module/nvidia/version").write_text("470.57.02\n")
    (tmp_path / "root/proc").mkdir()
    (tmp_path / "root/proc/modules").write_text(FOREIGN)
    done = call(script(), "check_for_driver; echo went on", tmp_path)
    assert done.returncode == 11 and "(modules: nvidia (held by nv_peer_mem gdrdrv); programs" in done.stderr, done


@pytest.mark.parametrize("alone", [False, True])
def test_what_the_drivers_installer_complains_about_is_reported_in_words(tmp_path: Path, alone: bool) -> None:
    machine(tmp_path)
    words = "ERROR: An NVIDIA kernel module 'nvidia-drm' appears to already be loaded in your kernel."
    found = plan("12.4.1", gpus=("8.6",), with_driver=True)
    choice = replace(found.choice, needs_toolkit=not alone, cudnn=None if alone else found.choice.cudnn)
    options = ScriptOptions(with_driver=True, driver_runfile=URL)
    body = f"""CURRENT_STEP=driver
    printf '#!/bin/sh\\necho "%s"; exit 1\\n' "{words}" >"$CACHE_DIR/{FILE}"
    install_driver_runfile"""
    done = call(scripted(replace(found, choice=choice), options, Mirrors()), body, tmp_path)
    assert done.returncode == 11 and "the loaded driver is in use: stop everything that uses the GPU" in done.stderr, (
        done
    )
