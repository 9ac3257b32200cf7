"""The decisions of `--with-driver`, function by function: what refuses, what is kept, what is asked for only once."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from envkit.errors import RequestError
from envkit.install.model import FetchFile
from envkit.install.options import ScriptOptions
from envkit.install.steps import installation
from envkit.render.script import render_script
from envkit.settings import Mirrors
from envkit.versions import Version
from tests.install.plans import plan
from tests.install.shell import call

URL = "https://mirror.lan/drivers/NVIDIA-Linux-x86_64-580.65.06.run?key=1"
FILE = "NVIDIA-Linux-x86_64-580.65.06.run"


def script(cuda: str = "12.4.1", os_id: str = "debian12", gpu: str = "8.6", **options: Any) -> str:
    found = plan(cuda, os_id=os_id, gpus=(gpu,), with_driver=True)
    return render_script(found, replace(ScriptOptions(with_driver=True), **options), Mirrors())


def packages(text: str) -> list[list[str]]:
    """First branch, last branch, stream and names of each entry of DRIVER_PACKAGES."""
    (line,) = re.findall(r"^DRIVER_PACKAGES=\((.*)\)$", text, re.M)
    return [entry.split("|") for entry in re.findall(r'"([^"]*)"', line)]


def machine(folder: Path, *modules: str, secure_boot: bool = False) -> None:
    """A /sys with an NVIDIA GPU, these loaded modules, and Secure Boot on or off."""
    device = folder / "root/sys/bus/pci/devices/0000:01:00.0"
    device.mkdir(parents=True)
    (device / "vendor").write_text("0x10de\n")
    (device / "class").write_text("0x030000\n")
    for module in modules:
        (folder / "root/sys/module" / module).mkdir(parents=True)
    variables = folder / "root/sys/firmware/efi/efivars"
    variables.mkdir(parents=True)
    (variables / "SecureBoot-8be4").write_bytes(bytes((6, 0, 0, 0, int(secure_boot))))


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


def test_the_marks_of_the_first_try_outlive_a_second_one(tmp_path: Path) -> None:
    machine(tmp_path)
    body = installer("new") + "install_driver_runfile; install_driver_runfile; cat $STATE_DIR/driver-before; echo end"
    assert call(script(), body, tmp_path).stdout == "end\n"


REFUSALS = {
    "secure boot": ("12.4.1", "", "Secure Boot refuses"),
    "no driver in the runfile": ("13.4.1", "", "holds none"),
    "a packaged driver that is too old": ("12.4.1", "packaged_driver() { echo nvidia-driver; }", "must not mix"),
    "headers that cannot be had": ("12.4.1", "headers_are_here() { return 1; }", "no kernel headers"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_nouveau_stays_where_no_driver_can_be_installed(tmp_path: Path, name: str) -> None:
    cuda, stub, words = REFUSALS[name]
    machine(tmp_path, "nouveau", secure_boot=name == "secure boot")
    done = call(script(cuda, "ubuntu24.04"), f"{stub}\ncheck_for_driver\nrun_step 1 nouveau N", tmp_path)
    assert done.returncode == 11, done
    assert words in done.stderr
    assert "boot image" not in done.stdout


def test_a_chosen_file_must_be_there_before_nouveau_goes(tmp_path: Path) -> None:
    machine(tmp_path, "nouveau")
    done = call(script(driver_runfile="/nowhere/d.run"), "check_for_driver\nrun_step 1 nouveau N", tmp_path)
    assert done.returncode == 11 and "/nowhere/d.run is not on this machine" in done.stderr


# dnf lists nothing as available for a package that is installed and current
INSTALLED = """
PACKAGE_MANAGER=dnf
unset -f package_candidate
eval "$real_candidate"
dnf() { return 1; }
installed_version() { [[ $1 != nvidia-open ]] || echo 580.65.06; }
list_packages() { echo nvidia-open.noarch; }
"""


def test_an_installed_package_that_waits_for_its_reboot_is_no_obstacle(tmp_path: Path) -> None:
    machine(tmp_path)
    body = INSTALLED + "MODE=install\ncheck_for_driver\nrun_step 1 driver D"
    text = script("12.8", "rockylinux9")
    done = call(
        text.replace("run_all_steps() {", "real_candidate=$(declare -f package_candidate)\nrun_all_steps() {", 1),
        body,
        tmp_path,
    )
    assert done.returncode == 8, done
    assert "installed already" in done.stderr and "remove it first" not in done.stderr
    assert "installs" not in done.stdout and "modprobe nvidia" in (tmp_path / "log.txt").read_text()


def test_a_driver_that_does_not_load_after_its_reboot_is_told_and_no_second_reboot_asked_for(tmp_path: Path) -> None:
    machine(tmp_path)
    waiting = 'modinfo() { echo 580.65.06; }\njournal driver reboot\necho another-boot >"$STATE_DIR/driver-boot"\n'
    done = call(script(), waiting + "check_for_driver\nrun_step 1 driver D", tmp_path)
    assert done.returncode == 11 and "its module does not load" in done.stderr, done


def test_without_a_terminal_no_driver_installer_runs_before_the_licence_is_accepted(tmp_path: Path) -> None:
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
    text = render_script(found, options, Mirrors())
    assert text.index("run_step 2 fetch-driver") < text.index(" nouveau 'Switch")
    assert f'sh "$(file_path "{FILE}")"' in text


def test_the_bundled_file_is_here_before_nouveau_goes() -> None:
    text = script()
    assert text.index("run_step 2 fetch-toolkit") < text.index(" nouveau 'Switch") < text.index(" driver 'NVIDIA")


def test_a_bundle_without_a_published_checksum_does_not_count_as_a_chosen_runfile() -> None:
    assert "\nDRIVER_FILE=''\n" in script("11.0.1")


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
    text = render_script(found, ScriptOptions(with_driver=True, driver_runfile=runfile), Mirrors())
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
    done = call(render_script(found, options, Mirrors()), "install_driver_runfile", tmp_path)
    words = "this plan has no driver runfile" if runfile is None else "the EULA has not been accepted"
    assert words in done.stderr, done


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
    body = f"{where}() {{ [[ $1 != {package} ]] || echo {version}; }}\nchoose_driver_package"
    done = call(script(cuda, os_id, gpu), body, tmp_path)
    assert done.stdout == (f"|{package}\n" if taken else ""), done


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


def test_a_runfile_past_the_last_branch_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="580 is the last branch"):
        script(gpu="6.1", driver_runfile="/d/NVIDIA-Linux-x86_64-610.43.02.run")
    bundled = script("11.8.0", gpu="3.7")  # its own driver is 520; Kepler ends with 470
    assert "$(file_path" not in bundled.partition("\ninstall_driver_runfile() {")[2].partition("\n}")[0]
