"""What looks bad and is normal: none of it gives a failure."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Status
from envkit.checks.engine.registry import all_checks
from envkit.checks.engine.runner import run_checks
from envkit.model import CallResult, Environment, MachineKind, Nvcc, PcieLink, Problem, missing
from tests.checks.hardware import A40, ADDRESS, RTX3090, RTX4060, RTX4090, card, cuda, driver, failed, gpu, link
from tests.checks.software import CONTAINER, framework, gpus, machine, matrix, python, sm, torch, v

SECOND = "0000:02:00.0"
HEALTHY = {**driver(), "pci_gpus": (card(),), "gpus": (gpu(utilization_percent=0),), "kernel.log": ()}
HOST = {**driver(), "pci_gpus": (card(A40), card(A40, SECOND, driver="vfio-pci")), "gpus": (gpu(A40),)}


def xid(code: int) -> str:
    return f"NVRM: Xid (PCI:0000:01:00): {code}, pid=1422, name=python3, text"


def with_torch(capability: str, *arches: str) -> Environment:
    build = torch("2.13.0+cu130", "13.0", sm_arch_list=sm(*arches), ptx_arch_list=())
    return machine(gpus=gpus(("NVIDIA card", capability)), pythons=(python(build),))


NORMAL: dict[str, Environment] = {
    "generation 1 while idle": machine(
        HEALTHY,
        gpus=(gpu(link_generation_current=1, link_generation_max=4, utilization_percent=0, throttle_reasons=1),),
    ),
    "board of eight lanes": machine(HEALTHY, pci_gpus=(card(RTX4060),), gpus=(gpu(RTX4060),)),
    "slot of eight lanes": machine(HEALTHY, pci_gpus=(card(lanes=8, port=link("0000:00:01.1", 8, 8)),)),
    "arch list lacks sm_89": with_torch("8.9", "sm_80", "sm_86"),
    "arch list lacks sm_103": with_torch("10.3", "sm_100"),
    "arch list lacks sm_121": with_torch("12.1", "sm_120"),
    "nvcc differs from nvidia-smi": machine(
        HEALTHY, nvcc=Nvcc("/usr/local/cuda/bin/nvcc", "", v("11.8.89")), driver__driver_cuda_version=v("12.4")
    ),
    "no nvcc and no system cuDNN": machine(
        HEALTHY, nvcc=missing(Problem.ABSENT), cudnns=(), pythons=(python(torch("2.6.0+cu124", "12.4")),)
    ),
    "no driver in a container without a GPU request": machine(
        system__machine_kind=CONTAINER, pci_gpus=(), driver__kernel_module=missing(Problem.ABSENT), messages=()
    ),
    "no kernel module in WSL": machine(
        system__machine_kind=MachineKind.WSL2,
        pci_gpus=(),
        driver__kernel_module=missing(Problem.ABSENT),
        driver__nvml=CallResult(0, "NVML_SUCCESS"),
        gpus=(gpu(RTX4090),),
    ),
    "Fabric Manager failed without an NVSwitch": machine(
        HEALTHY, driver__fabric_manager="failed", driver__nvswitches=0, driver__fabric_manager_version=v("550.120")
    ),
    "no active NVLink": machine(
        HEALTHY,
        gpus=(gpu(A40, nvlinks_active=0, nvlinks_total=4), gpu(A40, SECOND, 1, nvlinks_active=0, nvlinks_total=4)),
        pci_gpus=missing(Problem.NOT_LOOKED),
        driver__device_nodes=missing(Problem.NOT_LOOKED),
    ),  # fmt: skip
    "ACS and IOMMU on a host of virtual machines": machine(
        HOST, kernel__acs_redirect=("0000:3c:01.0",), kernel__iommu="translated"
    ),
    "power cap at full load": machine(HEALTHY, gpus=(gpu(throttle_reasons=0x4, utilization_percent=100),)),
    "idle clocks": machine(HEALTHY, gpus=(gpu(throttle_reasons=0x1, utilization_percent=0),)),
    "persistence off on a desktop": machine(HEALTHY, gpus=(gpu(persistence_mode=False, display_active=True),)),
    "XID 13, 31, 43 and 45": machine(HEALTHY, kernel__log=(xid(13), xid(31), xid(43), xid(45))),
    "performance counters for root only": machine(HEALTHY, driver__params={"RmProfilingAdminOnly": "1"}),
    "sleeping laptop GPU": machine(
        HEALTHY,
        pci_gpus=(card(power_state="D3cold", config_readable=False, link=PcieLink(ADDRESS, "", None, 16.0, None, 16)),),
    ),
    "one GPU without resizable BAR": machine(HEALTHY, pci_gpus=(card(bar1_bytes=256 * 1024**2),)),
    "no Secure Boot variables": machine(HEALTHY, system__secure_boot=missing(Problem.ABSENT)),
    "nouveau loaded for another card": machine(HEALTHY, kernel__loaded_modules=("nouveau", "nvidia", "nvidia_uvm")),
    "uvm not loaded before the first CUDA program": machine(HEALTHY, kernel__loaded_modules=("nvidia",)),
}


@pytest.mark.parametrize("name", NORMAL)
def test_no_failure_and_no_broken_check(name: str) -> None:
    findings = run_checks(NORMAL[name], matrix(), all_checks().values())
    assert [(f.id, f.title) for f in findings if f.status in (Status.FAIL, Status.ERROR)] == []


def test_what_could_not_be_looked_at_is_never_healthy() -> None:
    refused = machine(
        kernel__log=missing(Problem.DENIED, "/dev/kmsg"), kernel__acs_redirect=missing(Problem.DENIED), messages=()
    )
    by_id = {finding.id: finding for finding in run_checks(refused, matrix(), all_checks().values())}
    for id in (
        "xid-other",
        "gsp-timeout",
        "gpu-fallen-off-bus",
        "acs-blocks-p2p",
        "ecc-uncorrectable",
        "nvidia-smi-hangs",
    ):
        assert by_id[id].status is Status.UNKNOWN, id


def test_a_driver_without_gpu_is_a_consequence_not_the_cause() -> None:
    facts = {**driver(), "driver.kernel_module": missing(Problem.ABSENT), "kernel.loaded_modules": ()}
    facts |= {"driver.nvml": failed(9, "DRIVER_NOT_LOADED"), "driver.cuda_init": cuda(100, "NO_DEVICE")}
    environment = machine(facts, pci_gpus=(), gpus=missing(Problem.ABSENT))
    failures = [f for f in run_checks(environment, matrix(), all_checks().values()) if f.status is Status.FAIL]
    assert failures[0].id == "no-gpu-on-pci"
    assert {finding.because_of for finding in failures[1:]} == {"no-gpu-on-pci"}


def test_error_35_without_any_driver_is_no_old_driver() -> None:
    nothing = {
        "driver.kernel_module": missing(Problem.ABSENT),
        "driver.user_space": missing(Problem.ABSENT),
        "driver.libraries": missing(Problem.ABSENT),
        "kernel.module_files": (),
        "kernel.loaded_modules": (),
    }
    build = framework("pytorch", "torch==2.6.0+cu124", "2.6.0+cu124", "12.4")
    environment = machine(nothing, pci_gpus=(card(RTX3090, driver=""),), pythons=(python(build),))
    failures = [f.id for f in run_checks(environment, matrix(), all_checks().values()) if f.status is Status.FAIL]
    assert failures[0] == "driver-not-installed"
    assert "driver-too-old-for-runtime" not in failures
