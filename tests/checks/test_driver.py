"""Driver, kernel module, device files: each fault where it is, and silence where the driver is not ours to judge."""

from __future__ import annotations

import pytest

from envkit.model import CallResult, DriverLibrary, MachineKind, Observed, Problem, SystemPackage, missing
from tests.checks.hardware import (
    A40,
    DRIVER,
    GTX1080,
    KERNEL,
    RTX5090,
    card,
    cuda,
    dkms,
    driver,
    failed,
    gpu,
    libraries,
    module,
    nodes,
    unloaded,
)
from tests.checks.software import CONTAINER, UBUNTU, Case, assert_case, findings, machine, said, v

ABSENT: Observed[None] = missing(Problem.ABSENT, "looked")
NO_GPU, NOT_INSTALLED, NOT_LOADED = "no-gpu-on-pci", "driver-not-installed", "driver-module-not-loaded"
MISSING, HEADERS, DKMS = "module-missing-for-running-kernel", "kernel-headers-missing", "dkms-build-failed"
SECURE, DROPPED, OPEN = "secure-boot-unsigned-module", "driver-dropped-gpu", "open-module-on-pre-turing"
CLOSED, MISMATCH, LIBRARY = "proprietary-module-on-blackwell", "driver-library-mismatch", "nvml-library-missing"
NODES, PERMISSION, UVM = "device-nodes-missing", "device-node-permission", "uvm-module-not-loaded"
HANGS, OPTIMUS, VFIO = "nvidia-smi-hangs", "optimus-gpu-off", "gpu-bound-to-vfio"
TWICE, MIXED, UPGRADE = "runfile-over-packages", "driver-repos-mixed", "unattended-upgrade-of-driver"
NOTHING: dict[str, object] = {
    "driver.kernel_module": ABSENT,
    "driver.libraries": ABSENT,
    "driver.user_space": ABSENT,
    "kernel.module_files": (),
    "kernel.loaded_modules": ("snd",),
}
WSL = {"system.machine_kind": MachineKind.WSL2}
JETSON = {"system.machine_kind": MachineKind.JETSON}
IN_CONTAINER = {"system.machine_kind": CONTAINER}
OLD_KERNEL = "6.8.0-45-generic"


def packages(*states: str, origins: tuple[str, ...] = ("ubuntu.com",)) -> tuple[SystemPackage, ...]:
    names = ("nvidia-driver-550", "libnvidia-compute-550", "nvidia-utils-550")
    rows = zip(names, states, (*origins, *origins, *origins), strict=False)
    return tuple(SystemPackage(name, "550.120-0ubuntu1", "dpkg", state, origin) for name, state, origin in rows)


CASES = (
    Case(NO_GPU, "fail", "metal", machine(pci_gpus=(), system__machine_kind=MachineKind.METAL), "UEFI settings"),
    Case(NO_GPU, "fail", "vm", machine(pci_gpus=(), system__machine_kind=MachineKind.VM), "Attach a GPU"),
    Case(NO_GPU, "fail", "kind-unknown", machine(pci_gpus=())),
    Case(NO_GPU, "skip", "container", machine(IN_CONTAINER, pci_gpus=())),
    Case(NO_GPU, "skip", "wsl", machine(WSL, pci_gpus=())),
    Case(NO_GPU, "skip", "jetson", machine(JETSON, pci_gpus=())),
    Case(NO_GPU, "ok", "there", machine(pci_gpus=(card(),))),
    Case(NO_GPU, "ok", "only-nvml-knows", machine(pci_gpus=(), gpus=(gpu(),))),
    Case(NO_GPU, "unknown", "text-on-other-things", machine(messages=())),
    Case(OPTIMUS, "fail", "profile-off", machine(system__prime_profile="off"), "prime-select"),
    Case(OPTIMUS, "fail", "asleep-and-nobody-drives-it", machine(pci_gpus=(card(power_state="D3cold", driver=""),))),
    Case(OPTIMUS, "ok", "asleep-with-its-driver", machine(pci_gpus=(card(power_state="D3cold"),))),
    Case(VFIO, "fail", "all-beside-a-driver", machine(driver(), pci_gpus=(card(driver="vfio-pci"),)), "reserved"),
    Case(VFIO, "warn", "all-for-its-guests", machine(pci_gpus=(card(driver="vfio-pci"),)), "virtual machines"),
    Case(VFIO, "ok", "one-of-two", machine(pci_gpus=(card(driver="vfio-pci"), card(address="0000:02:00.0")))),
    Case(VFIO, "fail", "pci-stub", machine(driver(), pci_gpus=(card(driver="pci-stub"),))),
    Case(VFIO, "ok", "none", machine(pci_gpus=(card(),))),
    Case(NOT_INSTALLED, "fail", "fresh", machine({**NOTHING, **UBUNTU}, pci_gpus=(card(driver=""),)), "ubuntu-drivers"),
    Case(NOT_INSTALLED, "unknown", "files-not-looked-at", machine(pci_gpus=(card(),), driver__kernel_module=ABSENT)),
    Case(NOT_INSTALLED, "skip", "container", machine({**NOTHING, **IN_CONTAINER}, pci_gpus=(card(),))),
    Case(NOT_INSTALLED, "skip", "wsl", machine({**NOTHING, **WSL}, pci_gpus=())),
    Case(NOT_INSTALLED, "skip", "no-gpu", machine(NOTHING, pci_gpus=())),
    Case(NOT_INSTALLED, "skip", "reserved", machine(NOTHING, pci_gpus=(card(driver="vfio-pci"),))),
    Case(
        NOT_INSTALLED,
        "ok",
        "module-on-disk-only",
        machine(NOTHING, kernel__module_files=(module(),), pci_gpus=(card(),)),
    ),
    Case(NOT_INSTALLED, "ok", "error-35-with-a-driver", machine({**driver(), **said(NOT_INSTALLED)})),
    Case(
        NOT_LOADED,
        "fail",
        "libraries-without-module",
        machine(unloaded(), kernel__module_files=()),
        "kernel module is not",
    ),
    Case(NOT_LOADED, "fail", "blocked", machine(unloaded(), kernel__blacklisted=("nvidia",)), "blacklist"),
    Case(NOT_LOADED, "fail", "there-but-not-loaded", machine(unloaded(), kernel__module_files=(module(),)), "modprobe"),
    Case(NOT_LOADED, "skip", "container", machine({**unloaded(), **IN_CONTAINER})),
    Case(NOT_LOADED, "skip", "wsl", machine({**unloaded(), **WSL})),
    Case(NOT_LOADED, "skip", "jetson", machine({**unloaded(), **JETSON})),
    Case(NOT_LOADED, "ok", "loaded", machine(driver())),
    Case(
        NOT_LOADED,
        "unknown",
        "code-9-of-a-stub",
        machine(
            driver__nvml=failed(9, "DRIVER_NOT_LOADED"),
            driver__libraries=(
                DriverLibrary("libnvidia-ml.so.1", "/usr/local/cuda/lib64/stubs/libnvidia-ml.so", None, stub=True),
            ),
        ),
    ),
    Case(
        MISSING,
        "fail",
        "other-kernel-has-it",
        machine(unloaded(), kernel__module_files=(module(kernel=OLD_KERNEL),)),
        KERNEL,
    ),
    Case(MISSING, "fail", "by-dkms-status", machine(unloaded(), kernel__dkms=(dkms(OLD_KERNEL),)), OLD_KERNEL),
    Case(MISSING, "ok", "there", machine(unloaded(), kernel__module_files=(module(),))),
    Case(
        MISSING,
        "skip",
        "container",
        machine({**unloaded(), **IN_CONTAINER}, kernel__module_files=(module(kernel=OLD_KERNEL),)),
    ),
    Case(
        HEADERS,
        "fail",
        "dkms-needs-them",
        machine({**unloaded(), **UBUNTU}, kernel__headers=ABSENT, kernel__dkms=(dkms(OLD_KERNEL),)),
        "apt-get install -y linux-headers-$(uname -r)",
    ),
    Case(
        HEADERS,
        "warn",
        "module-is-built",
        machine(driver(), kernel__headers=ABSENT, kernel__dkms=(dkms(),)),
        "next build",
    ),
    Case(HEADERS, "skip", "prebuilt", machine(driver(), kernel__headers=ABSENT, kernel__dkms=())),
    Case(HEADERS, "ok", "there", machine(kernel__headers="/usr/src/linux-headers")),
    Case(
        DKMS,
        "fail",
        "added",
        machine(unloaded(), kernel__dkms=(dkms("", "added"),), kernel__dkms_make_log="nv.c:200:19: error: no member"),
    ),
    Case(DKMS, "ok", "installed", machine(unloaded(), kernel__dkms=(dkms(),))),
    Case(
        DKMS,
        "ok",
        "added-beside-a-prebuilt-module",
        machine(unloaded(), kernel__dkms=(dkms("", "added"),), kernel__module_files=(module(),)),
    ),
    Case(
        SECURE,
        "fail",
        "unsigned",
        machine(unloaded(), system__secure_boot=True, kernel__module_files=(module(signed=False),)),
        "mokutil",
    ),
    Case(
        SECURE,
        "unknown",
        "signature-unknown",
        machine(unloaded(), system__secure_boot=True, kernel__module_files=(module(signed=None),)),
    ),
    Case(SECURE, "ok", "off", machine(unloaded(), system__secure_boot=False)),
    Case(SECURE, "ok", "loaded", machine(driver(), system__secure_boot=True)),
    Case(SECURE, "skip", "legacy-boot-is-not-off", machine(unloaded(), system__secure_boot=ABSENT)),
    Case(SECURE, "unknown", "unreadable", machine(unloaded(), system__secure_boot=missing(Problem.DENIED, "efivars"))),
    Case(DROPPED, "fail", "old-card", machine(driver("590.48.01"), pci_gpus=(card(GTX1080),)), "branch 580"),
    Case(
        DROPPED, "fail", "new-card", machine(driver("535.216.01"), pci_gpus=(card(RTX5090),)), "began with branch 570"
    ),
    Case(DROPPED, "ok", "fits", machine(driver("580.95.05"), pci_gpus=(card(GTX1080),))),
    Case(DROPPED, "ok", "nvml-lists-it", machine(driver("590.48.01"), pci_gpus=(card(GTX1080),), gpus=(gpu(GTX1080),))),
    Case(
        DROPPED,
        "unknown",
        "no-driver-version",
        machine(
            driver(),
            pci_gpus=(card(),),
            driver__kernel_module=ABSENT,
            driver__user_space=ABSENT,
            kernel__module_files=(),
        ),
    ),
    Case(OPEN, "fail", "pascal", machine(driver(open_module=True), pci_gpus=(card(GTX1080),))),
    Case(OPEN, "ok", "ampere", machine(driver(open_module=True), pci_gpus=(card(),))),
    Case(OPEN, "ok", "proprietary", machine(driver(), pci_gpus=(card(GTX1080),))),
    Case(
        CLOSED,
        "fail",
        "blackwell",
        machine({**driver("570.172.08"), **UBUNTU}, pci_gpus=(card(RTX5090),)),
        "nvidia-driver-570-open",
    ),
    Case(CLOSED, "ok", "open", machine(driver("570.172.08", open_module=True), pci_gpus=(card(RTX5090),))),
    Case(
        MISMATCH,
        "fail",
        "restart-is-enough",
        machine(driver(), driver__kernel_module=v("550.107.02")),
        "a reboot loads the new module",
    ),
    Case(
        MISMATCH,
        "fail",
        "broken",
        machine(driver(), driver__user_space=v("535.183.01"), kernel__module_files=(module("550.120"),)),
        "a reboot will not help",
    ),
    Case(
        MISMATCH, "fail", "exit-status-18", machine(driver__nvidia_smi=CallResult(18, "", "nvidia-smi -L", "mismatch"))
    ),
    Case(MISMATCH, "ok", "equal", machine(driver())),
    Case(MISMATCH, "skip", "wsl", machine(WSL, driver__user_space=v("535.1"), driver__kernel_module=v("1.1"))),
    Case(LIBRARY, "fail", "module-without-library", machine(driver(), driver__libraries=libraries(DRIVER)[:1])),
    Case(LIBRARY, "ok", "there", machine(driver())),
    Case(LIBRARY, "skip", "jetson", machine(JETSON, driver__nvml=failed(12, "LIBRARY_NOT_FOUND"))),
    Case(LIBRARY, "skip", "no-driver", machine(NOTHING, driver__nvml=failed(12, "LIBRARY_NOT_FOUND"))),
    Case(
        NODES,
        "fail",
        "one-of-two",
        machine(driver(cards=1), driver__procfs_gpus=("0000:01:00.0", "0000:02:00.0")),
        "1 of 2",
    ),
    Case(
        NODES, "fail", "no-control-file", machine(driver(), driver__device_nodes=nodes(control=False)), "/dev/nvidiactl"
    ),
    Case(NODES, "ok", "there", machine(driver(), driver__procfs_gpus=("0000:01:00.0",))),
    Case(NODES, "skip", "container", machine({**driver(), **IN_CONTAINER}, driver__procfs_gpus=("a", "b"))),
    Case(
        PERMISSION,
        "fail",
        "group",
        machine(driver(), driver__device_nodes=nodes(accessible=False)),
        "usermod -aG video",
    ),
    Case(PERMISSION, "fail", "nvml-code-4", machine(driver__nvml=failed(4, "NO_PERMISSION"))),
    Case(PERMISSION, "ok", "open", machine(driver())),
    Case(
        UVM,
        "fail",
        "cuda-says-999",
        machine(driver(), driver__device_nodes=nodes(uvm=False), driver__cuda_init=cuda(999, "UNKNOWN")),
        "nvidia-modprobe -u",
    ),
    Case(UVM, "ok", "not-loaded-but-cuda-works", machine(driver(), kernel__loaded_modules=("nvidia",))),
    Case(
        UVM,
        "ok",
        "not-loaded-and-nobody-tried",
        machine(driver(), kernel__loaded_modules=("nvidia",), driver__cuda_init=missing(Problem.NOT_LOOKED)),
    ),
    Case(HANGS, "fail", "nvml", machine(driver(), driver__nvml=missing(Problem.TIMED_OUT, "nvml")), "bug report"),
    Case(
        HANGS,
        "fail",
        "nvidia-smi-and-nobody-asked-nvml",
        machine(driver(), driver__nvidia_smi=missing(Problem.TIMED_OUT), driver__nvml=missing(Problem.NOT_LOOKED)),
    ),
    Case(HANGS, "ok", "nvidia-smi-alone", machine(driver(), driver__nvidia_smi=missing(Problem.TIMED_OUT))),
    Case(
        HANGS,
        "fail",
        "one-gpu-of-three",
        machine(driver(), gpus=(gpu(), gpu(index=1, error="NVML_ERROR_TIMEOUT"), gpu(index=2))),
        "1 GPU of 3 does not answer",
    ),
    Case(HANGS, "ok", "answers", machine(driver())),
    Case(
        HANGS,
        "skip",
        "no-driver",
        machine(NOTHING, driver__nvml=failed(12, "LIBRARY_NOT_FOUND"), driver__nvidia_smi=ABSENT),
    ),
    Case(
        TWICE,
        "fail",
        "two-versions",
        machine(driver(), driver__libraries=libraries("550.120", "535.183.01")),
        "2 versions",
    ),
    Case(
        TWICE,
        "warn",
        "runfile-and-packages",
        machine(driver(), driver__runfile_installed=v(DRIVER), packages=packages("installed")),
        "nvidia-uninstall",
    ),
    Case(
        TWICE,
        "warn",
        "runfile-and-packages-on-hold",
        machine(driver(), driver__runfile_installed=v(DRIVER), packages=packages("hold")),
        "nvidia-uninstall",
    ),
    Case(TWICE, "ok", "runfile-alone", machine(driver(), driver__runfile_installed=v(DRIVER), packages=())),
    Case(
        MIXED,
        "fail",
        "half-installed",
        machine(packages=packages("unpacked")),
        "Only partly installed: 1 driver package",
    ),
    Case(
        MIXED,
        "warn",
        "two-sources",
        machine(packages=packages("installed", "installed", origins=("ubuntu.com", "nvidia.com"))),
    ),
    Case(MIXED, "ok", "one-source", machine(packages=packages("installed", "installed"))),
    Case(MIXED, "skip", "no-driver-package", machine(packages=())),
    Case(
        UPGRADE, "warn", "today", machine(package_changes=("2026-11-20 unattended-upgrade: nvidia-driver-550 (a, b)",))
    ),
    Case(UPGRADE, "ok", "by-hand", machine(package_changes=("2026-11-20 apt upgrade: nvidia-driver-550 (a, b)",))),
    Case("persistence-off", "ok", "server", machine(driver(), gpus=(gpu(A40, persistence_mode=False),))),
    Case(
        "persistence-off",
        "warn",
        "slow-starts",
        machine({**driver(), **said("persistence-off/told-slow")}, gpus=(gpu(A40, persistence_mode=False),)),
        "nvidia-persistenced",
    ),
    Case("profiling-counters-restricted", "ok", "the-default", machine(driver__params={"RmProfilingAdminOnly": "1"})),
    Case("profiling-counters-restricted", "warn", "refused", machine(said("profiling-counters-restricted"))),
    Case("vm-gpu-unsupported-by-release", "ok", "quiet-log", machine(kernel__log=())),
    Case(
        "nouveau-loaded",
        "ok",
        "module-for-another-card",
        machine(pci_gpus=(card(),), kernel__loaded_modules=("nouveau", "nvidia")),
    ),
    Case("nova-core-bound", "fail", "module-name", machine(pci_gpus=(card(driver="nova_core"),))),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_case(case: Case) -> None:
    assert_case(case)


def test_a_blocked_module_is_shown_as_evidence() -> None:
    [finding] = findings(NOT_LOADED, machine(unloaded(), kernel__blacklisted=("nvidia",)))
    assert "kernel.blacklisted" in {item.fact for item in finding.evidence}


def test_the_third_witness_of_a_mismatch_is_the_module_on_disk() -> None:
    [finding] = findings(MISMATCH, machine(driver(), driver__kernel_module=v("550.107.02")))
    assert {item.fact: item.value for item in finding.evidence} == {
        "driver.kernel_module": "550.107.02",
        "driver.user_space": "550.120",
        "kernel.module_files": "550.120",
    }


def test_nothing_is_loaded_or_held_from_inside_a_container() -> None:
    inside = machine(driver(), driver__kernel_module=v("550.107.02"), system__machine_kind=MachineKind.CONTAINER)
    [finding] = findings(MISMATCH, inside)
    assert finding.status.value == "fail"
    assert finding.remedy is not None
    assert "belongs to the host" in finding.remedy.summary
    assert finding.remedy.commands == ()


def test_reinstalling_is_never_the_first_answer_to_a_missing_module() -> None:
    [finding] = findings(NOT_LOADED, machine(unloaded(), kernel__module_files=(module(),)))
    assert finding.remedy is not None
    assert finding.remedy.summary.startswith("Load the module (first command)")
    assert not any("install" in command for command in finding.remedy.commands)
