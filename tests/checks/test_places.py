"""Containers, their engines, WSL, Jetson, and the variables that hide GPUs."""

from __future__ import annotations

import pytest

from envkit.base.versions import Version
from envkit.model import (
    CallResult,
    DeviceNode,
    DockerEngine,
    DriverLibrary,
    MachineKind,
    PciGpu,
    Problem,
    SystemPackage,
    missing,
)
from tests.checks.software import (
    CONTAINER,
    GPU_4090,
    GPU_A100,
    UBUNTU,
    Case,
    assert_case,
    gpus,
    libcuda,
    machine,
    python,
    pythons,
    said,
    sm,
    torch,
    v,
    worst,
)

RUNTIME, SNAP, NO_GPU = "docker-no-nvidia-runtime", "docker-from-snap-or-desktop", "container-no-gpu-injected"
CAPABILITIES, BAKED, IMAGE = "driver-capabilities-missing", "driver-baked-into-image", "image-needs-newer-driver"
CDI, LOSES, ROOTLESS, SELINUX = "cdi-unresolvable", "container-loses-gpu", "rootless-cgroups", "selinux-blocks-device"
WSL1, WSL_DRIVER, WSL_CUDA = "wsl1", "wsl-driver-inside", "wsl-libcuda-missing"
JETSON, NVML = "jetson-generic-wheel", "jetson-no-nvml"
EMPTY, INVALID, DEBUG, ORDER = (
    "cuda-visible-devices-empty",
    "cuda-visible-devices-invalid",
    "bad-cuda-env-vars",
    "device-order-confusion",
)
KIND = "system.machine_kind"
IN_CONTAINER, IN_WSL, ON_JETSON = {KIND: CONTAINER}, {KIND: MachineKind.WSL2}, {KIND: MachineKind.JETSON}
HOST_GPU = {"pci_gpus": (PciGpu("0000:01:00.0", "2684"),), "driver.kernel_module": v("550.90.07")}
NODE = DeviceNode("/dev/nvidia0", "0666", "root", "root", True)
WSL_LIBCUDA = DriverLibrary("libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1", None, in_ld_cache=True)
NVML_LIBRARY = DriverLibrary("libnvidia-ml.so.1", "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1", v("550.90.07"))
MIXED_GPUS = gpus(GPU_4090, GPU_A100)


def engine(*runtimes: str, **more: object) -> DockerEngine:
    return DockerEngine(Version.parse("27.3.1"), runtimes=("runc", *runtimes), **more)  # type: ignore[arg-type]


def docker(*runtimes: str, **more: object) -> dict[str, object]:
    return {"containers.docker": engine(*runtimes, **more)}


def needs(text: str, cuda: str = "12.4", **more: object) -> dict[str, object]:
    return {"variables": {"NVIDIA_REQUIRE_CUDA": text}, "driver.driver_cuda_version": v(cuda), **more}


NO_TOOLKIT: dict[str, object] = {"containers.container_toolkit": missing(Problem.ABSENT)}
TOOLKIT: dict[str, object] = {"containers.container_toolkit": v("1.17.4")}
CLAUSES = "cuda>=12.6 brand=tesla,driver>=535,driver<536 brand=geforce,driver>=550,driver<551"

CASES = (
    Case(
        RUNTIME,
        "warn",
        "nothing-installed",
        machine(UBUNTU, **docker() | NO_TOOLKIT, gpus=gpus(GPU_4090)),
        "nvidia-ctk runtime configure --runtime=docker",
    ),
    Case(RUNTIME, "ok", "runtime", machine(docker("nvidia") | NO_TOOLKIT, gpus=gpus(GPU_4090))),
    Case(RUNTIME, "ok", "hook-alone", machine(docker() | TOOLKIT, gpus=gpus(GPU_4090))),
    Case(RUNTIME, "skip", "no-gpu", machine(docker() | NO_TOOLKIT, pci_gpus=())),
    Case(
        RUNTIME,
        "fail",
        "told",
        machine(UBUNTU, **said(RUNTIME, 'could not select device driver "" with capabilities: [[gpu]]')),
        "nvidia-container-toolkit",
    ),
    Case(SNAP, "warn", "snap", machine(docker(snap=True) | TOOLKIT, gpus=gpus(GPU_4090)), "snap"),
    Case(
        SNAP,
        "warn",
        "desktop",
        machine(docker(operating_system="Docker Desktop") | TOOLKIT, gpus=gpus(GPU_4090)),
        "docker context use default",
    ),
    Case(
        SNAP,
        "skip",
        "desktop-on-windows",
        machine(docker(operating_system="Docker Desktop") | IN_WSL, gpus=gpus(GPU_4090)),
    ),
    Case(SNAP, "ok", "plain", machine(docker(snap=False, operating_system="Ubuntu 22.04"))),
    Case(SNAP, "fail", "told", machine(said(SNAP))),
    Case(
        NO_GPU,
        "fail",
        "host-has-one",
        machine(IN_CONTAINER | HOST_GPU, driver__device_nodes=(), variables={"NVIDIA_VISIBLE_DEVICES": "void"}),
        "--gpus all",
    ),
    Case(NO_GPU, "unknown", "host-unknown", machine(IN_CONTAINER, driver__device_nodes=(), variables={})),
    Case(NO_GPU, "ok", "nodes", machine(IN_CONTAINER | HOST_GPU, driver__device_nodes=(NODE,))),
    Case(NO_GPU, "skip", "metal", machine({KIND: MachineKind.METAL})),
    Case(NO_GPU, "fail", "told", machine(said(NO_GPU))),
    Case(
        CAPABILITIES,
        "fail",
        "no-libcuda",
        machine(
            IN_CONTAINER,
            driver__device_nodes=(NODE,),
            driver__libraries=(NVML_LIBRARY,),
            variables={"NVIDIA_DRIVER_CAPABILITIES": "utility"},
        ),
        "compute,utility",
    ),
    Case(
        CAPABILITIES,
        "ok",
        "both",
        machine(IN_CONTAINER, driver__device_nodes=(NODE,), driver__libraries=(NVML_LIBRARY, libcuda("550.90.07"))),
    ),
    Case(CAPABILITIES, "fail", "told", machine(said(CAPABILITIES))),
    Case(
        BAKED,
        "fail",
        "other-version",
        machine(
            IN_CONTAINER | HOST_GPU, packages=(SystemPackage("libnvidia-compute-535", "535.183.01-0ubuntu1", "dpkg"),)
        ),
        "rebuild it",
    ),
    Case(
        BAKED,
        "fail",
        "other-version-on-hold",
        machine(
            IN_CONTAINER | HOST_GPU,
            packages=(SystemPackage("libnvidia-compute-535", "535.183.01-0ubuntu1", "dpkg", "hold"),),
        ),
        "rebuild it",
    ),
    Case(
        BAKED,
        "warn",
        "same-version",
        machine(
            IN_CONTAINER | HOST_GPU, packages=(SystemPackage("libnvidia-compute-550", "550.90.07-0ubuntu1", "dpkg"),)
        ),
    ),
    Case(
        BAKED,
        "ok",
        "toolkit-only",
        machine(IN_CONTAINER | HOST_GPU, packages=(SystemPackage("cuda-toolkit-12-4", "12.4.1-1", "dpkg"),)),
    ),
    Case(BAKED, "fail", "told", machine(said(BAKED))),
    Case(IMAGE, "fail", "cuda-too-low", machine(needs("cuda>=12.6", "12.4"))),
    Case(IMAGE, "ok", "cuda-enough", machine(needs("cuda>=12.6", "12.8"))),
    Case(
        IMAGE,
        "ok",
        "saved-by-brand-and-driver",
        machine(needs(CLAUSES, "12.2", **{"driver.kernel_module": v("535.183.01")}), gpus=gpus(GPU_A100)),
    ),
    Case(
        IMAGE,
        "fail",
        "brand-is-another",
        machine(needs(CLAUSES, "12.2", **{"driver.kernel_module": v("535.183.01")}), gpus=gpus(GPU_4090)),
    ),
    Case(IMAGE, "unknown", "driver-unknown", machine(variables={"NVIDIA_REQUIRE_CUDA": "cuda>=12.6"})),
    Case(
        IMAGE,
        "skip",
        "switched-off",
        machine(variables={"NVIDIA_REQUIRE_CUDA": "cuda>=12.6", "NVIDIA_DISABLE_REQUIRE": "1"}),
    ),
    Case(
        IMAGE, "fail", "told", machine(said(IMAGE, "unsatisfied condition: cuda>=12.6", condition="cuda>=12.6")), "12.6"
    ),
    Case(
        CDI,
        "fail",
        "stale",
        machine(
            containers__cdi_specs=("/etc/cdi/nvidia.yaml",),
            containers__cdi_missing_paths=("/usr/lib/libcuda.so.535.54.03",),
        ),
        "nvidia-ctk cdi generate",
    ),
    Case(
        CDI, "ok", "whole", machine(containers__cdi_specs=("/etc/cdi/nvidia.yaml",), containers__cdi_missing_paths=())
    ),
    Case(CDI, "skip", "none", machine(containers__cdi_specs=())),
    Case(CDI, "fail", "told", machine(said(CDI, "unresolvable CDI devices nvidia.com/gpu=all"))),
    Case(
        LOSES,
        "fail",
        "eperm",
        machine(
            IN_CONTAINER,
            driver__device_nodes=(DeviceNode("/dev/nvidia0", "0666", "root", "root", False, open_error="EPERM"),),
            driver__nvml=CallResult(999, "UNKNOWN", "nvmlInit"),
        ),
        "docker restart",
    ),
    Case(LOSES, "ok", "opens", machine(IN_CONTAINER, driver__device_nodes=(NODE,))),
    Case(LOSES, "fail", "told", machine(said(LOSES, "Failed to initialize NVML: Unknown Error"))),
    Case(
        ROOTLESS,
        "warn",
        "hook-sets-cgroups",
        machine(
            docker(rootless=True),
            containers__toolkit_config={"nvidia-container-cli.no-cgroups": "false"},
            containers__cdi_specs=(),
        ),
        "no-cgroups",
    ),
    Case(
        ROOTLESS,
        "ok",
        "told-not-to",
        machine(docker(rootless=True), containers__toolkit_config={"nvidia-container-cli.no-cgroups": "true"}),
    ),
    Case(ROOTLESS, "skip", "root", machine(docker(rootless=False), containers__toolkit_config={})),
    Case(ROOTLESS, "fail", "told", machine(said(ROOTLESS, "mount error: operation not permitted"))),
    Case(
        SELINUX,
        "fail",
        "refused",
        machine(IN_CONTAINER, system__selinux="enforcing", driver__nvml=CallResult(4, "NO_PERMISSION", "nvmlInit")),
        "label=disable",
    ),
    Case(SELINUX, "ok", "podman", machine(system__selinux="enforcing", containers__podman=v("5.2.0"))),
    Case(SELINUX, "skip", "permissive", machine(system__selinux="permissive")),
    Case(SELINUX, "fail", "told", machine(said(SELINUX, "Failed to initialize NVML: Insufficient Permissions"))),
    Case(
        WSL1, "fail", "wsl1", machine({KIND: MachineKind.WSL1}, system__kernel="4.4.0-19041-Microsoft"), "--set-version"
    ),
    Case(WSL1, "ok", "wsl2", machine(IN_WSL, system__kernel="5.15.167.4-microsoft-standard-WSL2")),
    Case(WSL1, "fail", "told", machine(said(WSL1))),
    Case(
        WSL_DRIVER,
        "fail",
        "package",
        machine(IN_WSL, packages=(SystemPackage("libnvidia-compute-535", "535.183.01", "dpkg"),)),
        "purge",
    ),
    Case(WSL_DRIVER, "fail", "library", machine(IN_WSL, driver__libraries=(libcuda("535.183.01"),))),
    Case(
        WSL_DRIVER,
        "ok",
        "toolkit-only",
        machine(
            IN_WSL, packages=(SystemPackage("cuda-toolkit-12-4", "12.4.1-1", "dpkg"),), driver__libraries=(WSL_LIBCUDA,)
        ),
    ),
    Case(WSL_DRIVER, "fail", "told", machine(IN_WSL, **said(WSL_DRIVER))),
    Case(WSL_CUDA, "fail", "no-libcuda", machine(IN_WSL, driver__libraries=missing(Problem.ABSENT)), "wsl --update"),
    Case(WSL_CUDA, "fail", "blocked", machine(IN_WSL, driver__nvml=CallResult(17, "OPERATING_SYSTEM", "nvmlInit"))),
    Case(WSL_CUDA, "ok", "there", machine(IN_WSL, driver__libraries=(WSL_LIBCUDA,))),
    Case(WSL_CUDA, "fail", "told", machine(said(WSL_CUDA, "GPU access blocked by the operating system"))),
    Case(
        JETSON,
        "fail",
        "cpu-build",
        machine(ON_JETSON, **pythons(python(torch("2.6.0", None))), system__l4t_release=v("36.4")),
    ),
    Case(
        JETSON,
        "fail",
        "server-build",
        machine(
            ON_JETSON,
            **pythons(python(torch("2.6.0+cu126", "12.6", sm_arch_list=sm("8.0", "9.0"), ptx_arch_list=()))),
            gpus=gpus(("Orin", "8.7")),
        ),
    ),
    Case(
        JETSON,
        "ok",
        "made-for-it",
        machine(
            ON_JETSON,
            **pythons(python(torch("2.6.0", "12.6", sm_arch_list=sm("8.7"), ptx_arch_list=()))),
            gpus=gpus(("Orin", "8.7")),
        ),
    ),
    Case(JETSON, "fail", "told", machine(said(JETSON))),
    Case(NVML, "ok", "normal", machine(ON_JETSON, driver__nvml=missing(Problem.ABSENT))),
    Case(NVML, "skip", "no-jetson", machine({KIND: MachineKind.METAL})),
    Case(EMPTY, "fail", "empty", machine(variables={"CUDA_VISIBLE_DEVICES": ""}), "unset CUDA_VISIBLE_DEVICES"),
    Case(EMPTY, "fail", "minus-one", machine(variables={"CUDA_VISIBLE_DEVICES": "-1"})),
    Case(EMPTY, "fail", "scheduler", machine(variables={"CUDA_VISIBLE_DEVICES": "NoDevFiles"}), "srun"),
    Case(EMPTY, "ok", "not-set", machine(variables={})),
    Case(EMPTY, "ok", "one", machine(variables={"CUDA_VISIBLE_DEVICES": "0"})),
    Case(
        EMPTY, "fail", "told", machine(gpus=gpus(GPU_4090), **said(EMPTY, "RuntimeError: No CUDA GPUs are available"))
    ),
    Case(INVALID, "fail", "index", machine(variables={"CUDA_VISIBLE_DEVICES": "0,2"}, gpus=MIXED_GPUS), "1 GPU"),
    Case(INVALID, "fail", "twice", machine(variables={"CUDA_VISIBLE_DEVICES": "1,1"}, gpus=MIXED_GPUS), "twice"),
    Case(INVALID, "fail", "torch-spelling", machine(variables={"CUDA_VISIBLE_DEVICES": "cuda:0"})),
    Case(INVALID, "ok", "both", machine(variables={"CUDA_VISIBLE_DEVICES": "1,0"}, gpus=MIXED_GPUS)),
    Case(INVALID, "skip", "not-set", machine(variables={}, gpus=MIXED_GPUS)),
    Case(INVALID, "unknown", "gpus-unknown", machine(variables={"CUDA_VISIBLE_DEVICES": "1"})),
    Case(DEBUG, "warn", "blocking", machine(variables={"CUDA_LAUNCH_BLOCKING": "1"}), "unset CUDA_LAUNCH_BLOCKING"),
    Case(DEBUG, "warn", "no-boost", machine(variables={"CUDA_AUTO_BOOST": "0"})),
    Case(DEBUG, "ok", "off", machine(variables={"CUDA_LAUNCH_BLOCKING": "0", "CUDA_AUTO_BOOST": "1"})),
    Case(
        ORDER,
        "warn",
        "mixed",
        machine(variables={"CUDA_VISIBLE_DEVICES": "1"}, gpus=MIXED_GPUS),
        "CUDA_DEVICE_ORDER=PCI_BUS_ID",
    ),
    Case(ORDER, "ok", "ordered", machine(variables={"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, gpus=MIXED_GPUS)),
    Case(ORDER, "skip", "one-model", machine(variables={}, gpus=gpus(GPU_4090, GPU_4090))),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_each_case_gets_its_verdict(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("place", [CONTAINER, MachineKind.WSL2])
def test_no_driver_inside_a_container_or_wsl_is_no_missing_driver(place: MachineKind) -> None:
    environment = machine({KIND: place}, driver__kernel_module=missing(Problem.ABSENT), pci_gpus=())
    assert worst("driver-not-installed", environment).status.value == "skip"


def test_an_image_that_asks_for_what_nobody_can_judge_is_unknown() -> None:
    environment = machine(needs("brand=unheard,driver>=535"))
    assert worst(IMAGE, environment).status.value == "unknown"
