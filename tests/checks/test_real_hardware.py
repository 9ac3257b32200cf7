"""What healthy hardware says that looks like a fault, each next to the fault that it resembles."""

from __future__ import annotations

from typing import Any

import pytest

from envkit.checks.engine.findings import Status
from envkit.checks.engine.messages import message_evidence, seen
from envkit.checks.engine.registry import all_checks
from envkit.checks.engine.runner import run_checks
from envkit.checks.gpu.gpus import on_nvswitch_board
from envkit.model import DeviceNode, Gpu, MachineKind, Measurement, Observed, PcieLink, PciGpu, Problem, missing
from tests.checks.hardware import A40, ADDRESS, H100, card, cuda, driver, gpu, link, unloaded
from tests.checks.software import Case, assert_case, machine, matrix, python, said, sm, torch, v

STOPPED, DRIFT, OTHER = "fabric-manager-not-running", "fabric-manager-version-mismatch", "error-802-other-causes"
NVLINK, ACS, IOMMU = "nvlink-inactive", "acs-blocks-p2p", "iommu-translation-hang"
WIDTH, RATE, BRAKE = "pcie-width-degraded", "pcie-gen-degraded", "hw-power-brake"
LICENSE, HELD, ERRORS = "vgpu-unlicensed", "gpu-memory-held-by-lost-process", "pcie-link-errors"
UVM, OPEN, COUNT = "uvm-module-not-loaded", "device-node-permission", "gpu-count-mismatch"
ORDER, VISIBLE, GONE = "device-order-confusion", "cuda-visible-devices-invalid", "container-loses-gpu"
HOT, DROPPED, NOUVEAU = "thermal-throttle", "driver-dropped-gpu", "nouveau-loaded"
LOADED, POWER, TEST = "driver-module-not-loaded", "power-limit-lowered", "gpu-test-failed"
MIB = 1024**2
LAPTOP, WORKSTATION = "NVIDIA GeForce RTX 5080 Laptop GPU", "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition"
WORKS = {"driver.cuda_init": cuda(0, "SUCCESS")}
UNASKED: dict[str, object] = {"driver.cuda_init": missing(Problem.ABSENT, "looked")}
REFUSES = {"driver.cuda_init": cuda(802, "SYSTEM_NOT_READY")}
ABSENT: Observed[None] = missing(Problem.ABSENT, "looked")


def named(name: str, count: int = 1, /, **more: Any) -> dict[str, object]:
    return {"gpus": tuple(Gpu(i, name, f"0000:0{i + 1}:00.0", **more) for i in range(count))}


def hgx(**more: object) -> dict[str, object]:
    return {"driver.nvswitches": 4, "driver.fabric_manager": "installed", **named(H100, 8, **more)}


def tray(**more: object) -> dict[str, object]:
    return {"driver.nvswitches": 0, "driver.fabric_manager": ABSENT, **named("NVIDIA GB200", 4, **more)}


def slotless(name: str, device: str) -> dict[str, object]:
    """A GPU that is built onto its processor: its one lane of generation 1 is a placeholder."""
    own = PcieLink(ADDRESS, "", 2.5, 64.0, 1, 16)
    pci = PciGpu(ADDRESS, device, driver="nvidia", link=own, hops=(link("0000:00:00.0", 1, 16),), name=name)
    nvml = Gpu(
        0,
        name,
        ADDRESS,
        link_generation_current=1,
        link_generation_max=5,
        link_width_current=1,
        link_width_max=16,
        utilization_percent=99,
    )
    return {"pci_gpus": (pci,), "gpus": (nvml,)}


def narrow(name: str, device: str) -> dict[str, object]:
    """A GPU with eight of sixteen lanes, as PCI and NVML show it."""
    own = PcieLink(ADDRESS, "", 2.5, 32.0, 8, 16)
    port = link("0000:00:01.0", 8, 16, fastest=32.0)
    pci = PciGpu(ADDRESS, device, driver="nvidia", link=own, hops=(port,), name=name)
    return {"pci_gpus": (pci,), **named(name, link_width_current=8, link_width_max=16)}


def step(name: str, passed: bool | None = True, value: float = 0.1, detail: str = "") -> Measurement:
    return Measurement(name, "torch", passed, value, "s", detail)


def linked(mig_mode: bool) -> dict[str, object]:
    """Two GPUs with twelve links, and a third of their kind without."""
    pair = (gpu(A40, nvlinks_active=12), gpu(A40, "0000:02:00.0", 1, nvlinks_active=12))
    return {"gpus": (*pair, gpu(A40, "0000:03:00.0", 2, nvlinks_active=0, mig_mode=mig_mode))}


def log(*severities: str) -> dict[str, object]:
    lines = (f"nvidia 0000:01:00.0: PCIe Bus Error: severity={word}, type=Physical Layer" for word in severities)
    return {"kernel.log": tuple(f"[{index}] {line}" for index, line in enumerate(lines)), "pci_gpus": (card(),)}


def lender() -> dict[str, object]:
    """The driver of a host that returns parts of two GPUs."""
    return {**driver(), **named(A40, 2, virtualization_mode="host-vgpu")}


def idle_host() -> dict[str, object]:
    """A host of virtual GPUs by its modules: the memory is its guests'."""
    gpus = named(A40, 2, memory_bytes=48 * 1024**3, memory_used_bytes=9 * 1024**3, processes=())
    return {**gpus, "kernel.loaded_modules": ("nvidia", "nvidia_vgpu_vfio")}


def beside_an_old_card(holder: str, device: str = "128B") -> dict[str, object]:
    """A GPU that works, and a GeForce GT 710 with another driver or none."""
    old = PciGpu("0000:02:00.0", device, driver=holder)
    return {**driver(), "pci_gpus": (card(A40), old), "gpus": (gpu(A40),), "kernel.loaded_modules": ("nvidia",)}


def shared(own: int, error: str = "EPERM") -> dict[str, object]:
    """Eight nodes of GPUs, of which device rules leave `own`."""
    nodes = (
        DeviceNode(f"/dev/nvidia{n}", "0666", "root", "root", n < own, open_error="" if n < own else error)
        for n in range(8)
    )
    return {"driver.device_nodes": tuple(nodes), "driver.procfs_gpus": tuple(f"0000:0{n}:00.0" for n in range(8))}


def pod(nodes: int) -> dict[str, object]:
    """A container that was given some nodes; the module's list is the host's."""
    return {
        "system.machine_kind": MachineKind.CONTAINER,
        "driver.procfs_gpus": tuple(f"0000:0{n}:00.0" for n in range(8)),
        "driver.device_nodes": tuple(DeviceNode(f"/dev/nvidia{n}", "0666", "root", "root", True) for n in range(nodes)),
    }


def cards(*rows: tuple[str, str, int]) -> dict[str, object]:
    return {
        "gpus": tuple(
            Gpu(i, name, f"0000:0{i + 1}:00.0", compute_capability=sm(cc)[0], memory_bytes=gib * 1024**3)
            for i, (name, cc, gib) in enumerate(rows)
        )
    }


def divided(instances: tuple[str, ...] | None) -> dict[str, object]:
    return named("NVIDIA A100-SXM4-80GB", mig_mode=True, mig_instances=instances)


BIG, SMALL = ("NVIDIA GeForce RTX 4090", "8.9", 24), ("NVIDIA GeForce RTX 3060", "8.6", 12)
INSTANCES = ("MIG-00000000-0000-5000-8000-000000000001", "MIG-00000000-0000-5000-8000-000000000002")
GONE_INSTANCE = {"CUDA_VISIBLE_DEVICES": "MIG-00000000-0000-5000-8000-000000000009"}
IDLE_H100: dict[str, Any] = {
    "memory_bytes": 81559 * MIB,
    "memory_used_bytes": 4 * MIB,
    "memory_reserved_bytes": 565 * MIB,
    "processes": (),
}
NO_SERVICE = said("fabric-manager-not-running/told-service")
NO_LICENSE = said("vgpu-unlicensed/status")
A100 = "NVIDIA A100-SXM4-40GB"
BY_NUMBER = {"CUDA_VISIBLE_DEVICES": "1"}
UNLICENSED = {"licensed": False}
HALF: dict[str, Any] = {"power_limit_w": 150.0, "power_limit_default_w": 300.0}
FULL: dict[str, Any] = {"power_limit_w": 300.0, "power_limit_default_w": 300.0}
UNSEEN = {"driver.kernel_module": ABSENT, "kernel.loaded_modules": ABSENT}

CASES = (
    # memory
    Case(HELD, "ok", "reserved-by-the-driver", machine(named(H100, **IDLE_H100))),
    Case(HELD, "warn", "used-by-nobody", machine(named(H100, **IDLE_H100 | {"memory_used_bytes": 900 * MIB}))),
    # fabric
    Case(STOPPED, "ok", "cuda-sees-all", machine(hgx() | WORKS, driver__cuda_device_count=8)),
    Case(STOPPED, "ok", "all-completed", machine(hgx(fabric_state="completed"))),
    Case(STOPPED, "fail", "cuda-sees-some", machine(hgx() | WORKS, driver__cuda_device_count=7)),
    Case(STOPPED, "fail", "cuda-refuses", machine(hgx(fabric_state="in-progress") | REFUSES)),
    Case(STOPPED, "fail", "joined-in-vain", machine(hgx(fabric_state="failed") | REFUSES)),
    Case(STOPPED, "skip", "tray", machine(tray(fabric_state="completed") | WORKS)),
    Case(STOPPED, "skip", "tray-without-word", machine(tray())),
    Case(STOPPED, "fail", "tray-that-waits", machine(tray(fabric_state="in-progress") | REFUSES), "switch trays"),
    Case(
        STOPPED,
        "skip",
        "gh200",
        machine(named("NVIDIA GH200 480GB", 2), driver__nvswitches=0, driver__fabric_manager=ABSENT),
    ),
    Case(
        DRIFT,
        "warn",
        "all-gpus-usable",
        machine(
            hgx(fabric_state="completed"),
            driver__fabric_manager_version=v("550.90.07"),
            driver__kernel_module=v("550.127.05"),
        ),
    ),
    Case(NVLINK, "ok", "one-gpu-in-mig-mode", machine(linked(mig_mode=True))),
    Case(NVLINK, "ok", "one-card-without-a-bridge", machine(linked(mig_mode=False))),
    Case(IOMMU, "ok", "nvswitches", machine(hgx(), kernel__iommu="translated")),
    Case(IOMMU, "ok", "tray", machine(tray(), kernel__iommu="translated")),
    Case(IOMMU, "warn", "pcie-cards", machine(named(A40, 2), kernel__iommu="translated")),
    Case(ACS, "ok", "nvswitches", machine(hgx(), kernel__acs_redirect=("0000:00:01.0",))),
    Case(ACS, "warn", "pcie-cards", machine(named(A40, 2), kernel__acs_redirect=("0000:00:01.0",))),
    # links
    Case(WIDTH, "ok", "laptop-wired-for-eight", machine(narrow(LAPTOP, "2C19"))),
    Case(WIDTH, "warn", "desktop-with-eight", machine(narrow("NVIDIA GeForce RTX 5080", "2C02"))),
    Case(WIDTH, "warn", "max-q-workstation-is-no-laptop", machine(narrow(WORKSTATION, "2BB4"))),
    Case(
        POWER,
        "warn",
        "max-q-workstation-is-no-laptop",
        machine({"gpus": (Gpu(0, WORKSTATION, ADDRESS, **HALF), Gpu(1, WORKSTATION, "0000:02:00.0", **FULL))}),
    ),
    Case(POWER, "ok", "laptop", machine(named(LAPTOP, **HALF))),
    Case(WIDTH, "skip", "gb10", machine(slotless("NVIDIA GB10", "2E12"))),
    Case(WIDTH, "skip", "gh200", machine(slotless("NVIDIA GH200 480GB", "2342"))),
    Case(WIDTH, "skip", "gb300", machine(slotless("NVIDIA GB300", "31C2"))),
    Case(RATE, "unknown", "gb10", machine(slotless("NVIDIA GB10", "2E12"))),
    Case(BRAKE, "ok", "laptop-on-battery", machine(named(LAPTOP, throttle_reasons=0x88))),
    Case(BRAKE, "ok", "idle", machine(named(A40, throttle_reasons=0x89))),
    Case(BRAKE, "fail", "server", machine(named(A40, throttle_reasons=0x88))),
    Case(
        ERRORS,
        "ok",
        "one-corrected-and-a-counter",
        machine(log("Corrected"), pci_gpus=(card(aer_errors={"correctable": 1}),)),
    ),
    Case(ERRORS, "ok", "one-corrected", machine(log("Corrected"))),
    Case(ERRORS, "warn", "many-corrected", machine(log(*["Corrected"] * 12))),
    Case(ERRORS, "warn", "one-fatal", machine(log("Corrected", "Uncorrected (Fatal)"))),
    # the only GPU of a virtual machine
    Case(STOPPED, "skip", "one-sxm-gpu-in-a-vm", machine(named(H100, virtualization_mode="passthrough"))),
    Case(
        STOPPED,
        "ok",
        "no-unit-and-no-switch",
        machine(
            {**named(H100, virtualization_mode="passthrough"), **said("fabric-manager-not-running/told-service")},
        ),
    ),
    Case(STOPPED, "ok", "board-of-four", machine(named(A100, 4, virtualization_mode="none") | NO_SERVICE)),
    Case(STOPPED, "fail", "board-of-eight", machine(named(A100, 8, virtualization_mode="none") | NO_SERVICE)),
    Case(STOPPED, "ok", "sxm2-has-no-switches", machine(named("Tesla V100-SXM2-16GB", 8) | NO_SERVICE)),
    Case(
        LICENSE, "ok", "passthrough-and-a-message", machine(named(A40, virtualization_mode="passthrough") | NO_LICENSE)
    ),
    # heat of a laptop
    Case(HOT, "ok", "laptop-kept-below-its-limit", machine(named(LAPTOP, throttle_reasons=0x24))),
    Case(HOT, "warn", "laptop-at-its-limit", machine(named(LAPTOP, throttle_reasons=0x48))),
    Case(HELD, "skip", "host-of-vgpus", machine(idle_host())),
    # an old card for the display
    Case(DROPPED, "ok", "left-to-nouveau", machine(beside_an_old_card("nouveau"))),
    Case(DROPPED, "fail", "left-without-a-driver", machine(beside_an_old_card(""))),
    Case(NOUVEAU, "ok", "too-old-for-the-driver", machine(beside_an_old_card("nouveau"))),
    Case(NOUVEAU, "fail", "new-enough", machine(beside_an_old_card("nouveau", "2204"))),
    Case(COUNT, "ok", "left-to-nouveau", machine(beside_an_old_card("nouveau"))),
    # virtual GPUs
    Case(LICENSE, "skip", "passthrough", machine(named("Tesla T4", virtualization_mode="passthrough", **UNLICENSED))),
    Case(LICENSE, "skip", "metal", machine(named("Tesla T4", virtualization_mode="none", **UNLICENSED))),
    Case(LICENSE, "fail", "guest", machine(named("GRID T4-16Q", virtualization_mode="vgpu", **UNLICENSED))),
    Case(LICENSE, "fail", "text-without-a-mode", machine(named("GRID T4-16Q", **UNLICENSED))),
    Case(UVM, "skip", "host-of-vgpus", machine(lender() | UNASKED, kernel__loaded_modules=("nvidia",))),
    Case(
        UVM,
        "warn",
        "nobody-may-load-it",
        machine(driver() | UNASKED, kernel__loaded_modules=("nvidia",), driver__modprobe_setuid=False),
    ),
    Case(UVM, "ok", "before-the-first-program", machine(driver() | UNASKED, kernel__loaded_modules=("nvidia",))),
    Case(IOMMU, "skip", "host-of-vgpus", machine(lender(), kernel__iommu="translated")),
    Case(ACS, "skip", "host-of-vgpus", machine(lender(), kernel__acs_redirect=("0000:00:01.0",))),
    # parts of a machine that others were given
    Case(OPEN, "ok", "job-with-two-of-eight", machine(driver() | shared(2)), "6 GPUs"),
    Case(OPEN, "fail", "nothing-may-be-opened", machine(driver() | shared(0))),
    Case(OPEN, "fail", "six-of-eight-by-their-mode", machine(driver() | shared(2, "EACCES"))),
    Case(COUNT, "ok", "job-with-two-of-eight", machine(driver() | shared(2) | named(A40, 2), pci_gpus=(card(),) * 8)),
    Case(COUNT, "fail", "job-that-lost-one", machine(driver() | shared(2) | named(A40, 1))),
    Case(COUNT, "ok", "pod-with-one-of-eight", machine(driver() | pod(1) | named(A40, 1))),
    Case(COUNT, "fail", "pod-that-lost-one", machine(driver() | pod(2) | named(A40, 1))),
    Case(GONE, "ok", "job-in-a-container", machine(driver() | pod(8) | shared(2))),
    # orders and names in CUDA_VISIBLE_DEVICES
    Case(ORDER, "ok", "faster-one-first", machine(cards(BIG, SMALL), variables={})),
    Case(ORDER, "ok", "nobody-chooses-by-number", machine(cards(SMALL, BIG), variables={})),
    Case(ORDER, "warn", "faster-one-second", machine(cards(SMALL, BIG), variables=BY_NUMBER)),
    Case(ORDER, "warn", "larger-one-second", machine(cards(("A", "8.6", 12), ("B", "8.0", 80)), variables=BY_NUMBER)),
    Case(ORDER, "warn", "asked-for-otherwise", machine(cards(BIG, SMALL), variables={"CUDA_DEVICE_ORDER": "FASTEST"})),
    Case(VISIBLE, "ok", "instance", machine(divided(INSTANCES), variables={"CUDA_VISIBLE_DEVICES": INSTANCES[1]})),
    Case(
        VISIBLE,
        "fail",
        "no-instance",
        machine(divided(INSTANCES), variables=GONE_INSTANCE),
        "not the UUID of a MIG instance",
    ),
    Case(VISIBLE, "fail", "not-divided", machine(named(A40, mig_mode=False), variables=GONE_INSTANCE)),
    Case(VISIBLE, "ok", "instances-not-told", machine(divided(None), variables=GONE_INSTANCE)),
    # what --deep ran
    Case(TEST, "skip", "not-asked-for", machine()),
    Case(TEST, "unknown", "refused", machine(measurements=missing(Problem.DENIED, "python"))),
    Case(TEST, "ok", "passed", machine(measurements=(step("import"), step("device"), step("kernel", value=0.9)))),
    Case(TEST, "fail", "kernel", machine(measurements=(step("kernel", False),)), "product"),
    Case(TEST, "fail", "one-copy", machine(measurements=(step("copy", False), step("copy-to-host")))),
    Case(TEST, "warn", "minutes", machine(measurements=(step("kernel", value=130.0),)), "130 s"),
    Case(TEST, "unknown", "no-device", machine(measurements=(step("device", None, detail="no CUDA device"),))),
    # a driver that answers is loaded
    Case(
        LOADED,
        "ok",
        "nvml-answers",
        machine(driver(), driver__kernel_module=ABSENT, kernel__loaded_modules=ABSENT, pci_gpus=(card(),)),
    ),
    Case(LOADED, "fail", "nvml-does-not", machine(unloaded(), pci_gpus=(card(),))),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_real_hardware_says_is_judged_for_what_it_is(case: Case) -> None:
    assert_case(case)


BOARDS = {
    True: ("NVIDIA H200", "NVIDIA B200", "NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB", "NVIDIA H20", "NVIDIA B300"),
    False: (
        "NVIDIA GH200 480GB",
        "NVIDIA GB200",
        "NVIDIA GB300",
        "NVIDIA H200 NVL",
        "NVIDIA H100 PCIe",
        "NVIDIA B2000",
    ),
}


@pytest.mark.parametrize(("on", "name"), [(on, name) for on, names in BOARDS.items() for name in names])
def test_a_name_that_holds_anothers_is_no_board_of_it(on: bool, name: str) -> None:
    assert on_nvswitch_board(name) is on


def test_a_gpu_of_a_virtual_machine_is_judged_by_its_copies() -> None:
    slow = tuple(Measurement(n, ADDRESS, True, 1.2, "GB/s", "") for n in ("copy-to-device", "copy-to-host"))
    here = machine(
        named(H100, link_generation_current=5, link_generation_max=5, link_width_current=16),
        system__machine_kind=MachineKind.VM,
        measurements=slow,
    )
    assert_case(Case(RATE, "warn", "slow-copies", here, "1.2 of the 63.0 GB/s"))


def test_a_failed_step_names_the_cause_that_its_words_tell() -> None:
    build = torch("2.6.0+cu124", "12.4", sm_arch_list=sm("sm_50", "sm_60"), ptx_arch_list=())
    words = "RuntimeError: CUDA error: no kernel image is available for execution on the device"
    here = machine(
        driver(), gpus=(gpu(),), pythons=(python(build),), measurements=(step("kernel", False, detail=words),)
    )
    heard = seen(here, "arch-newer-than-build")
    assert [evidence.fact for evidence in message_evidence(here, heard)] == ["measurements"]
    found = run_checks(here, matrix(), all_checks().values())
    failed = [finding for finding in found if finding.status is Status.FAIL]
    assert failed[0].id in ("arch-newer-than-build", "arch-dropped-by-framework")
    assert [finding.because_of for finding in failed if finding.id == TEST] == [failed[0].id]
