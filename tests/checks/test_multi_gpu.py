"""MIG, fabric, NVLink, peer access, NCCL and shared memory: what several GPUs need, and what single ones do not."""

from __future__ import annotations

from typing import Any

import pytest

from envkit.model import MachineKind, Observed, Problem, SystemPackage, missing
from tests.checks.hardware import A40, ADDRESS, H100, RTX3090, RTX4090, card, cuda, driver, gpu, link
from tests.checks.software import CONTAINER, UBUNTU, Case, assert_case, findings, machine, python, said, torch, v

EMPTY, ONE = "mig-enabled-no-instance", "mig-one-instance-visible"
STOPPED, DRIFT, NOTHING, OTHER = (
    "fabric-manager-not-running",
    "fabric-manager-version-mismatch",
    "fabric-manager-nothing-to-do",
    "error-802-other-causes",
)
NVLINK, ACS, IOMMU, GEFORCE = "nvlink-inactive", "acs-blocks-p2p", "iommu-translation-hang", "geforce-p2p-hang"
INTERFACE, LOCKED, PEER, SHM = "nccl-wrong-interface", "memlock-too-low", "peermem-not-loaded", "shm-too-small"
ABSENT: Observed[None] = missing(Problem.ABSENT, "looked")
SECOND = "0000:02:00.0"
MIB, GIB = 1024**2, 1024**3
SWITCHES = {"driver.nvswitches": 4}
NOT_READY = {"driver.cuda_init": cuda(802, "SYSTEM_NOT_READY")}
VM = {"system.machine_kind": MachineKind.VM}
TWO_A40 = {"gpus": (gpu(A40), gpu(A40, SECOND, 1))}
TWO_4090 = {"gpus": (gpu(RTX4090), gpu(RTX4090, SECOND, 1)), "variables": {}}
INFINIBAND = {"system.infiniband_devices": ("mlx5_0",)}


def mig(*instances: str) -> dict[str, object]:
    return {"gpus": (gpu(A40, mig_mode=True, mig_instances=instances),)}


def exclusive(count: int = 1, /, **more: Any) -> dict[str, object]:
    """GPUs that one program at a time may use."""
    places = (ADDRESS, SECOND)[:count]
    return {"gpus": tuple(gpu(A40, at, i, compute_mode="exclusive-process", **more) for i, at in enumerate(places))}


def two_ports(above: str = "") -> dict[str, object]:
    """Two cards, each with a port for itself, or both below the switch at `above`."""
    ports = [(link(f"0000:3d:0{n}.0"), *([link(above)] if above else [])) for n in (4, 8)]
    return {"pci_gpus": tuple(card(A40, at, hops=hops) for at, hops in zip((ADDRESS, SECOND), ports, strict=True))}


REFUSED = cuda(46, "DEVICE_UNAVAILABLE")


def nvlinks(*active: int, name: str = A40) -> dict[str, object]:
    return {
        "gpus": tuple(
            gpu(name, f"0000:0{i + 1}:00.0", i, nvlinks_active=n, nvlinks_total=4) for i, n in enumerate(active)
        )
    }


CASES = (
    Case(EMPTY, "fail", "none", machine(mig()), "-mig 0"),
    Case(EMPTY, "ok", "one", machine(mig("MIG-a"))),
    Case(EMPTY, "skip", "mig-off", machine(gpus=(gpu(A40, mig_mode=False),))),
    Case(
        ONE,
        "fail",
        "numbers",
        machine(mig("MIG-a", "MIG-b"), variables={"CUDA_VISIBLE_DEVICES": "0,1"}),
        "=$uuid PROGRAM",
    ),
    Case(ONE, "warn", "the-first-by-number", machine(mig("MIG-a", "MIG-b"), variables={"CUDA_VISIBLE_DEVICES": "0"})),
    Case(
        ONE,
        "fail",
        "old-form",
        machine(mig("MIG-a", "MIG-b"), variables={"CUDA_VISIBLE_DEVICES": "MIG-GPU-1/1/0"}),
        "old MIG instance name format",
    ),
    Case(ONE, "ok", "by-uuid", machine(mig("MIG-a", "MIG-b"), variables={"CUDA_VISIBLE_DEVICES": "MIG-b"})),
    Case(
        STOPPED,
        "fail",
        "stopped",
        machine({**driver(), **SWITCHES, **UBUNTU}, driver__fabric_manager="installed"),
        "systemctl enable --now",
    ),
    Case(
        STOPPED,
        "fail",
        "not-installed",
        machine({**driver(), **SWITCHES, **UBUNTU}, driver__fabric_manager=ABSENT),
        "nvidia-fabricmanager-550=550.120-*",
    ),
    Case(STOPPED, "ok", "running", machine({**driver(), **SWITCHES}, driver__fabric_manager="running")),
    Case(STOPPED, "skip", "no-switch", machine(driver(), driver__nvswitches=0, driver__fabric_manager="failed")),
    Case(STOPPED, "fail", "802-in-a-text", machine(said(STOPPED))),
    Case(STOPPED, "unknown", "nobody-looked", machine(gpus=(gpu(H100),))),
    Case(
        DRIFT,
        "fail",
        "other-release",
        machine({**driver(), **SWITCHES}, driver__fabric_manager_version=v("550.90.07")),
        "hold",
    ),
    Case(
        DRIFT,
        "warn",
        "nobody-needs-it",
        machine(driver(), driver__nvswitches=0, driver__fabric_manager_version=v("550.90.07")),
    ),
    Case(DRIFT, "ok", "equal", machine({**driver(), **SWITCHES}, driver__fabric_manager_version=v("550.120"))),
    Case(
        NOTHING,
        "ok",
        "no-switch",
        machine(driver(), driver__nvswitches=0, driver__fabric_manager="failed"),
        "nothing here needs it",
    ),
    Case(NOTHING, "warn", "text-alone", machine(said(NOTHING)), "disable the service"),
    Case(NOTHING, "ok", "running", machine(driver(), driver__fabric_manager="running")),
    Case(
        OTHER,
        "fail",
        "running-and-still-802",
        machine({**driver(), **SWITCHES, **NOT_READY}, driver__fabric_manager="running"),
        "nokaslr",
    ),
    Case(OTHER, "fail", "no-switch-at-all", machine({**driver(), **NOT_READY}, driver__nvswitches=0)),
    Case(
        OTHER,
        "fail",
        "in-a-container",
        machine({**driver(), **NOT_READY, "system.machine_kind": CONTAINER}),
        "the host's administrator",
    ),
    Case(
        OTHER,
        "skip",
        "the-fabric-manager-explains-it",
        machine({**driver(), **SWITCHES, **NOT_READY}, driver__fabric_manager=ABSENT),
    ),
    Case(OTHER, "ok", "ready", machine(driver())),
    Case(NVLINK, "fail", "one-link-down", machine(nvlinks(4, 2))),
    Case(NVLINK, "ok", "a-pair-and-a-single-card", machine(nvlinks(4, 4, 0))),
    Case(NVLINK, "fail", "none-on-a-board-without-slots", machine(nvlinks(12, 0, name=H100))),
    Case(NVLINK, "fail", "none-on-a-switch-board", machine({**nvlinks(18, 0, name=H100), **SWITCHES})),
    Case(NVLINK, "ok", "no-bridge", machine(nvlinks(0, 0)), "normal without a bridge"),
    Case(NVLINK, "ok", "equal", machine(nvlinks(4, 4))),
    Case(NVLINK, "skip", "no-nvlink", machine(gpus=(gpu(),))),
    Case(ACS, "warn", "metal", machine(TWO_A40, kernel__acs_redirect=("0000:3c:01.0",))),
    Case(ACS, "warn", "below-one-switch", machine(two_ports("0000:3c:01.0"), kernel__acs_redirect=("0000:3d:04.0",))),
    Case(ACS, "ok", "a-port-for-each", machine(two_ports(), kernel__acs_redirect=("0000:3c:01.0", "0000:b0:01.0"))),
    Case(ACS, "ok", "cards-that-never-exchange", machine(TWO_4090, kernel__acs_redirect=("0000:3c:01.0",))),
    Case(ACS, "skip", "virtual-machine", machine({**TWO_A40, **VM}, kernel__acs_redirect=("0000:3c:01.0",))),
    Case(
        ACS,
        "skip",
        "host-of-virtual-machines",
        machine(pci_gpus=(card(A40, driver="vfio-pci"), card(A40, SECOND)), kernel__acs_redirect=("0000:3c:01.0",)),
    ),
    Case(ACS, "ok", "one-gpu", machine(gpus=(gpu(A40),), kernel__acs_redirect=("0000:3c:01.0",))),
    Case(ACS, "ok", "off", machine(TWO_A40, kernel__acs_redirect=())),
    Case(
        ACS,
        "unknown",
        "for-root-only",
        machine(TWO_A40, kernel__acs_redirect=missing(Problem.DENIED, "config"), messages=()),
    ),
    Case(IOMMU, "warn", "translated", machine({**TWO_A40, **UBUNTU}, kernel__iommu="translated"), "iommu=pt"),
    Case(IOMMU, "ok", "cards-that-never-exchange", machine(TWO_4090, kernel__iommu="translated")),
    Case(IOMMU, "ok", "passthrough", machine(TWO_A40, kernel__iommu="passthrough")),
    Case(IOMMU, "ok", "one-gpu", machine(gpus=(gpu(A40),), kernel__iommu="translated")),
    Case(IOMMU, "skip", "virtual-machine", machine({**TWO_A40, **VM}, kernel__iommu="translated")),
    Case(
        IOMMU,
        "skip",
        "host-of-virtual-machines",
        machine(pci_gpus=(card(A40, driver="vfio-pci"), card(A40, SECOND)), kernel__iommu="translated"),
    ),
    Case(GEFORCE, "ok", "two-4090", machine(TWO_4090)),
    Case(GEFORCE, "fail", "two-4090-that-hang", machine({**TWO_4090, **said("geforce-p2p-hang/told-disable")})),
    Case(GEFORCE, "ok", "switched-off", machine(gpus=TWO_4090["gpus"], variables={"NCCL_P2P_DISABLE": "1"})),
    Case(GEFORCE, "skip", "two-3090", machine(gpus=(gpu(RTX3090), gpu(RTX3090, SECOND, 1)), variables={})),
    Case(
        INTERFACE,
        "fail",
        "not-there",
        machine(variables={"NCCL_SOCKET_IFNAME": "ib9"}, network_interfaces=("lo", "eth0")),
        "ib9",
    ),
    Case(
        INTERFACE,
        "fail",
        "in-the-file",
        machine(nccl_config={"NCCL_SOCKET_IFNAME": "=eth"}, network_interfaces=("eth0",)),
    ),
    Case(
        INTERFACE,
        "fail",
        "everything-left-out",
        machine(variables={"NCCL_SOCKET_IFNAME": "^lo,eth"}, network_interfaces=("lo", "eth0")),
    ),
    Case(
        INTERFACE,
        "ok",
        "prefix",
        machine(variables={"NCCL_SOCKET_IFNAME": "eth,ib"}, network_interfaces=("lo", "eth0")),
    ),
    Case(
        INTERFACE,
        "ok",
        "left-out",
        machine(variables={"NCCL_SOCKET_IFNAME": "^lo,docker"}, network_interfaces=("lo", "eth0")),
    ),
    Case(INTERFACE, "ok", "nothing-forced", machine(variables={}, network_interfaces=("lo",))),
    Case(INTERFACE, "unknown", "interfaces-unknown", machine(variables={"NCCL_SOCKET_IFNAME": "ib9"})),
    Case(LOCKED, "warn", "rdma", machine(INFINIBAND, system__memlock_bytes=64 * 1024), "64 KiB"),
    Case(LOCKED, "ok", "unlimited", machine(INFINIBAND, system__memlock_bytes=-1)),
    Case(LOCKED, "skip", "no-rdma", machine(system__infiniband_devices=ABSENT, system__memlock_bytes=64 * 1024)),
    Case(
        PEER, "warn", "proprietary", machine({**driver(), **INFINIBAND}, driver__peermem_loaded=False), "nvidia-peermem"
    ),
    Case(
        PEER,
        "ok",
        "open-module-with-dma-buf",
        machine({**driver(open_module=True), **INFINIBAND}, driver__peermem_loaded=False),
    ),
    Case(PEER, "ok", "loaded", machine({**driver(), **INFINIBAND}, driver__peermem_loaded=True)),
    Case(PEER, "skip", "no-rdma", machine(driver(), system__infiniband_devices=ABSENT)),
    Case(
        SHM,
        "warn",
        "container-with-torch",
        machine(system__machine_kind=CONTAINER, system__shm_bytes=64 * MIB, pythons=(python(torch()),)),
        "--shm-size=8g",
    ),
    Case(
        SHM,
        "fail",
        "and-it-broke",
        machine({**said("shm-too-small/torch"), "system.machine_kind": CONTAINER}, system__shm_bytes=64 * MIB),
    ),
    Case(
        SHM, "ok", "container-without-a-framework", machine(system__machine_kind=CONTAINER, system__shm_bytes=64 * MIB)
    ),
    Case(SHM, "ok", "metal", machine(system__machine_kind=MachineKind.METAL, system__shm_bytes=32 * GIB)),
    Case("compute-mode-exclusive", "ok", "nobody-there", machine(exclusive(processes=()))),
    Case("compute-mode-exclusive", "ok", "in-use", machine(exclusive(processes=(4410,)))),
    Case("compute-mode-exclusive", "fail", "refused", machine(exclusive(), driver__cuda_init=REFUSED), "-c DEFAULT"),
    Case(
        "compute-mode-exclusive", "fail", "refused-by-two", machine(exclusive(2), driver__cuda_init=REFUSED), "2 GPUs"
    ),
    Case(
        "compute-mode-exclusive",
        "fail",
        "prohibited",
        machine(gpus=(gpu(A40, compute_mode="prohibited"),)),
        "No CUDA program",
    ),
    Case("compute-mode-exclusive", "ok", "default", machine(gpus=(gpu(A40, compute_mode="default"),))),
    Case(
        "gpu-memory-held-by-lost-process",
        "fail",
        "gone",
        machine(gpus=(gpu(A40, lost_processes=(77,), processes=(77,)),)),
        "fuser",
    ),
    Case(
        "gpu-memory-held-by-lost-process",
        "warn",
        "nobody-listed",
        machine(gpus=(gpu(A40, processes=(), memory_used_bytes=9 * GIB, memory_bytes=48 * GIB),)),
    ),
    Case(
        "gpu-memory-held-by-lost-process",
        "ok",
        "the-driver-itself",
        machine(gpus=(gpu(A40, processes=(), memory_used_bytes=300 * MIB, memory_bytes=48 * GIB),)),
    ),
    Case(
        "gpu-memory-held-by-lost-process",
        "skip",
        "container",
        machine(system__machine_kind=CONTAINER, gpus=(gpu(A40, processes=(), memory_used_bytes=9 * GIB),)),
    ),
    Case(  # the processes of the host and of other containers are hidden from here
        "gpu-memory-held-by-lost-process",
        "warn",
        "container-out-of-memory",
        machine(
            said("gpu-memory-held-by-lost-process"),
            system__machine_kind=CONTAINER,
            gpus=(gpu(A40, processes=(), memory_used_bytes=9 * GIB, memory_bytes=48 * GIB),),
        ),
        "ran out of GPU memory",
    ),
    Case("display-server-on-compute-gpu", "warn", "server-card", machine(gpus=(gpu(A40, display_active=True),))),
    Case("display-server-on-compute-gpu", "ok", "remote-desktop", machine(VM, gpus=(gpu(A40, display_active=True),))),
    Case("display-server-on-compute-gpu", "ok", "desktop-card", machine(gpus=(gpu(display_active=True),))),
    Case(
        "vgpu-unlicensed",
        "fail",
        "no-license",
        machine(gpus=(gpu(A40, virtualization_mode="vgpu", licensed=False),)),
        "nvidia-gridd",
    ),
    Case("vgpu-unlicensed", "ok", "licensed", machine(gpus=(gpu(A40, virtualization_mode="vgpu", licensed=True),))),
    Case("vgpu-unlicensed", "skip", "no-vgpu", machine(gpus=(gpu(A40),))),
    Case(
        "cuda-broken-after-suspend",
        "fail",
        "slept",
        machine(driver(), driver__cuda_init=cuda(999, "UNKNOWN"), system__last_resume="PM: suspend exit"),
        "rmmod nvidia_uvm",
    ),
    Case(
        "cuda-broken-after-suspend", "ok", "slept-and-works", machine(driver(), system__last_resume="PM: suspend exit")
    ),
    Case(
        "cuda-broken-after-suspend",
        "unknown",
        "sleep-unknown",
        machine(driver(), driver__cuda_init=cuda(999, "UNKNOWN")),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_case(case: Case) -> None:
    assert_case(case)


def test_blackwell_boards_need_the_subnet_manager() -> None:
    boards = tuple(gpu(H100, f"0000:0{i}:00.0", i) for i in (1, 2))
    blackwell = tuple(type(item)(item.index, "NVIDIA B200", item.pci_address) for item in boards)
    facts = {"gpus": blackwell, "driver.fabric_manager": "failed", "driver.nvswitches": 0, **UBUNTU}
    [finding] = findings(NOTHING, machine(facts, packages=()))
    assert finding.status.value == "fail"
    assert finding.remedy is not None and "sudo apt-get install -y nvlsm" in finding.remedy.commands
    installed = (SystemPackage("nvlsm", "2025.03.1-1", "dpkg"),)
    [finding] = findings(NOTHING, machine(facts, packages=installed))
    assert finding.status.value == "ok"


def test_an_exact_interface_name_is_not_a_prefix() -> None:
    for value, status in (("=eth0", "ok"), ("=eth", "fail"), ("eth", "ok"), ("eth0:5000", "ok")):
        environment = machine(variables={"NCCL_SOCKET_IFNAME": value}, network_interfaces=("lo", "eth0"))
        assert [finding.status.value for finding in findings(INTERFACE, environment)] == [status], value
