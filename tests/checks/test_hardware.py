"""PCIe, memory, heat, power: what is degraded is named with its place and its cost, what is normal is not changed."""

from __future__ import annotations

from typing import Any

import pytest

from envkit.checks.engine.registry import all_checks
from envkit.checks.engine.runner import run_checks
from envkit.model import MachineKind, Measurement, PcieLink, Problem, missing
from envkit.tables.codes import error_codes
from tests.checks.hardware import (
    A40,
    ADDRESS,
    H100,
    K80,
    RTX3090,
    RTX4060,
    card,
    cuda,
    driver,
    failed,
    gpu,
    link,
)
from tests.checks.software import UBUNTU, Case, assert_case, findings, machine, matrix, said

WIDTH, RATE, ERRORS = "pcie-width-degraded", "pcie-gen-degraded", "pcie-link-errors"
BAR, RESIZE, OFF_BUS = "bar-not-assigned", "resizable-bar-off", "gpu-fallen-off-bus"
ECC, PENDING, REMAP = "ecc-uncorrectable", "row-remap-pending", "row-remap-failed"
HOT, BRAKE, LIMIT = "thermal-throttle", "hw-power-brake", "power-limit-lowered"
POWER, INFOROM, INIT = "external-power-missing", "inforom-corrupted", "rm-init-adapter-failed"
XID, GSP, COUNT = "xid-other", "gsp-timeout", "gpu-count-mismatch"
VM = {"system.machine_kind": MachineKind.VM}
SECOND = "0000:02:00.0"
MIB, GIB = 1024**2, 1024**3


def xid(code: int, address: str = "0000:01:00") -> str:
    return f"[   12.3] NVRM: Xid (PCI:{address}): {code}, pid=1422, name=python3, text"


def two_cards(first: int, second: int, ports: tuple[int, int] = (16, 16)) -> dict[str, object]:
    """Two cards of sixteen lanes that run with fewer, on two ports of one bus."""
    ends = (link("0000:00:01.1", first, ports[0]), link("0000:00:01.2", second, ports[1]))
    return {
        "pci_gpus": (
            card(lanes=first, port=ends[0], link=link(ADDRESS, first)),
            card(address=SECOND, lanes=second, port=ends[1], link=link(SECOND, second)),
        )
    }


LINKED = {
    "gpus": (gpu(link_generation_current=4, link_generation_max=4, link_width_current=16, link_width_max=16),),
    "pci_gpus": (card(),),
}


def copies(value: float) -> dict[str, object]:
    """What `--deep` measured on the one card."""
    return {
        "measurements": tuple(
            Measurement(name, ADDRESS, True, value, "GB/s", "best of 5 copies of 256 MiB")
            for name in ("copy-to-device", "copy-to-host")
        )
    }


def nvml_link(lanes: int, model: str = RTX3090, at: str = ADDRESS, **more: Any) -> dict[str, object]:
    """What NVML alone says of the link of a GPU at work."""
    link = {"link_width_current": lanes, "link_width_max": 16, "link_generation_max": 4, "utilization_percent": 97}
    return {"gpus": (gpu(model, at, **{**link, **more}),)}


def below_a_switch(upstream: int) -> dict[str, object]:
    """A card at full width below a switch whose own link to the root has `upstream` of sixteen lanes."""
    hops = (link("0000:43:00.0"), link("0000:42:00.0", upstream, 16), link("0000:40:01.1", upstream, 16))
    return {"pci_gpus": (card(A40, "0000:44:00.0", hops=hops),)}


def limits(*watts: float) -> dict[str, object]:
    """GPUs of one model whose limit is 350 W by default."""
    limited = enumerate(zip((ADDRESS, SECOND), watts, strict=True))
    return {"gpus": tuple(gpu(RTX3090, at, i, power_limit_w=w, power_limit_default_w=350.0) for i, (at, w) in limited)}


CASES = (
    Case(WIDTH, "fail", "quarter", machine(pci_gpus=(card(lanes=4),)), "7.9 GB/s each way instead of 31.5"),
    Case(WIDTH, "warn", "half-on-a-desktop", machine(pci_gpus=(card(lanes=8),)), "15.8 GB/s each way instead of 31.5"),
    Case(WIDTH, "warn", "half-on-a-server", machine(pci_gpus=(card(A40, lanes=8),))),
    Case(WIDTH, "ok", "shared-by-two-cards", machine(two_cards(8, 8)), "shared with GPU 0000:02:00.0"),
    Case(WIDTH, "ok", "board-divides-by-design", machine(two_cards(8, 8, (8, 8))), "by design"),
    Case(WIDTH, "ok", "slot-of-the-chipset", machine(two_cards(16, 4, (16, 4)))),
    Case(WIDTH, "ok", "riser-in-a-slot-of-one", machine(pci_gpus=(card(lanes=1, port=link("0000:00:1c.0", 1, 1)),))),
    Case(WIDTH, "ok", "half-and-slot-unknown", machine(pci_gpus=(card(lanes=8, hops=()),))),
    Case(WIDTH, "fail", "switch-above-is-narrow", machine(below_a_switch(4)), "bridge 0000:40:01.1"),
    Case(WIDTH, "ok", "switch-is-wide", machine(below_a_switch(16))),
    Case(WIDTH, "ok", "board-of-eight-lanes", machine(pci_gpus=(card(RTX4060),))),
    Case(
        WIDTH, "ok", "board-of-eight-that-claims-sixteen", machine(pci_gpus=(card(RTX4060, link=link(ADDRESS, 8, 16)),))
    ),
    Case(
        WIDTH, "ok", "one-card-in-a-slot-of-eight", machine(pci_gpus=(card(lanes=8, port=link("0000:00:01.1", 8, 8)),))
    ),
    Case(WIDTH, "ok", "idle-rate-does-not-matter", machine(pci_gpus=(card(),))),
    Case(WIDTH, "unknown", "virtual-ports", machine(VM, pci_gpus=(card(lanes=1),))),
    Case(
        WIDTH,
        "warn",
        "slot-unknown",
        machine(pci_gpus=(card(lanes=4, hops=()),)),
        "the number of lanes of its slot is unknown",
    ),
    Case(WIDTH, "unknown", "nvml-idle", machine(gpus=(gpu(link_width_current=4, link_width_max=16),))),
    Case(WIDTH, "ok", "nvml-busy-half", machine(nvml_link(8)), "the slot may have no more"),
    Case(WIDTH, "warn", "nvml-busy-quarter", machine(nvml_link(4)), "7.9 GB/s each way instead of 31.5"),
    Case(WIDTH, "fail", "nvml-busy-half-on-a-board-without-slots", machine(nvml_link(8, H100))),
    Case(WIDTH, "unknown", "passed-through", machine(nvml_link(8, H100, virtualization_mode="passthrough"))),
    Case(WIDTH, "unknown", "no-port-above-it", machine(nvml_link(1, at="00000000:00:1E.0"))),
    Case(WIDTH, "ok", "nvml-full", machine(gpus=(gpu(link_width_current=16, link_width_max=16),))),
    Case(RATE, "ok", "idle", machine(pci_gpus=(card(),), gpus=(gpu(utilization_percent=0),))),
    Case(
        RATE,
        "ok",
        "idle-by-nvml",
        machine(gpus=(gpu(link_generation_current=1, link_generation_max=4, utilization_percent=0),)),
    ),
    Case(RATE, "ok", "load-unknown", machine(gpus=(gpu(link_generation_current=1, link_generation_max=4),))),
    Case(
        RATE,
        "warn",
        "busy",
        machine(
            gpus=(gpu(link_generation_current=1, link_generation_max=4, link_width_current=16, utilization_percent=99),)
        ),
        "4.0 GB/s each way instead of 31.5",
    ),
    Case(
        RATE,
        "ok",
        "old-slot",
        machine(gpus=(gpu(link_generation_current=3, link_generation_max=3, link_generation_device_max=4),)),
        "its slot or processor does not",
    ),
    Case(RATE, "warn", "measured-slow", machine({**LINKED, **copies(11.2)}), "11.2 of the 31.5 GB/s"),
    Case(RATE, "ok", "measured-fast", machine({**LINKED, **copies(26.0)}), "26.0 of the 31.5 GB/s"),
    Case(
        ERRORS,
        "warn",
        "uncorrected",
        machine(pci_gpus=(card(aer_errors={"correctable": 0, "fatal": 0, "nonfatal": 2}),)),
    ),
    Case(ERRORS, "warn", "many-corrected", machine(pci_gpus=(card(aer_errors={"correctable": 4000}),))),
    Case(ERRORS, "warn", "replays", machine(gpus=(gpu(pcie_replays=900),))),
    Case(ERRORS, "ok", "a-few", machine(pci_gpus=(card(aer_errors={"correctable": 3, "fatal": 0, "nonfatal": 0}),))),
    Case(BAR, "fail", "none", machine(pci_gpus=(card(bars_assigned=False),)), "Above 4G"),
    Case(BAR, "fail", "virtual-machine", machine(VM, pci_gpus=(card(bars_assigned=False),)), "PCI window"),
    Case(BAR, "ok", "there", machine(pci_gpus=(card(),))),
    Case(
        RESIZE,
        "warn",
        "two-cards",
        machine(pci_gpus=(card(A40, bar1_bytes=256 * MIB), card(A40, SECOND, bar1_bytes=256 * MIB))),
    ),
    Case(
        RESIZE,
        "ok",
        "two-cards-that-never-exchange",
        machine(pci_gpus=(card(bar1_bytes=256 * MIB), card(address=SECOND, bar1_bytes=256 * MIB))),
    ),
    Case(RESIZE, "ok", "one-card-hardly-notices", machine(pci_gpus=(card(bar1_bytes=256 * MIB),))),
    Case(RESIZE, "ok", "large", machine(pci_gpus=(card(),))),
    Case(OFF_BUS, "fail", "config-reads-ffff", machine(pci_gpus=(card(config_readable=False),)), "power it off"),
    Case(OFF_BUS, "fail", "nvml-code-15", machine(driver__nvml=failed(15, "GPU_IS_LOST"))),
    Case(OFF_BUS, "fail", "one-gpu-answers-lost", machine(gpus=(gpu(error="NVML_ERROR_GPU_IS_LOST"),))),
    Case(OFF_BUS, "fail", "xid-79", machine(kernel__log=(xid(79),))),
    Case(OFF_BUS, "warn", "back-again", machine(kernel__log=(xid(79),), pci_gpus=(card(),), gpus=(gpu(),))),
    Case(OFF_BUS, "ok", "asleep", machine(pci_gpus=(card(config_readable=False, power_state="D3cold"),))),
    Case(OFF_BUS, "ok", "answers", machine(pci_gpus=(card(),))),
    Case(
        OFF_BUS, "unknown", "log-for-root-only", machine(kernel__log=missing(Problem.DENIED, "/dev/kmsg"), messages=())
    ),
    Case(ECC, "fail", "counter", machine(gpus=(gpu(A40, ecc_uncorrectable=2),)), "--gpu-reset -i 0"),
    Case(ECC, "fail", "cuda-214", machine(driver__cuda_init=cuda(214, "ECC_UNCORRECTABLE"))),
    Case(ECC, "fail", "xid-95", machine(kernel__log=(xid(95),))),
    Case(ECC, "warn", "xid-94-is-contained", machine(kernel__log=(xid(94),)), "Restart the program"),
    Case(ECC, "ok", "none", machine(gpus=(gpu(A40, ecc_uncorrectable=0),))),
    Case(PENDING, "warn", "rows", machine(gpus=(gpu(A40, remapped_rows_pending=True),)), "--gpu-reset"),
    Case(PENDING, "warn", "pages-of-older-gpus", machine(gpus=(gpu(retired_pages_pending=True),))),
    Case(PENDING, "ok", "none", machine(gpus=(gpu(A40, remapped_rows_pending=False),))),
    Case(REMAP, "fail", "no-spare-row", machine(gpus=(gpu(A40, remapped_rows_failed=True),)), "RMA it"),
    Case(REMAP, "fail", "xid-64", machine(kernel__log=(xid(64),))),
    Case(REMAP, "ok", "none", machine(gpus=(gpu(A40, remapped_rows_failed=False),))),
    Case(HOT, "warn", "software", machine(gpus=(gpu(A40, throttle_reasons=0x20, utilization_percent=100),))),
    Case(HOT, "ok", "fans-keep-a-target", machine(gpus=(gpu(throttle_reasons=0x20, utilization_percent=100),))),
    Case(HOT, "warn", "hardware", machine(gpus=(gpu(throttle_reasons=0x48, temperature_c=94),)), "94 °C"),
    Case(HOT, "ok", "power-cap-at-full-load", machine(gpus=(gpu(throttle_reasons=0x4, utilization_percent=100),))),
    Case(HOT, "ok", "idle", machine(gpus=(gpu(throttle_reasons=0x1),))),
    Case(BRAKE, "fail", "brake", machine(gpus=(gpu(throttle_reasons=0x80),)), "power supplies"),
    Case(BRAKE, "fail", "slowdown-without-heat", machine(gpus=(gpu(throttle_reasons=0x8),))),
    Case(BRAKE, "ok", "slowdown-by-heat", machine(gpus=(gpu(throttle_reasons=0x48),))),
    Case(BRAKE, "ok", "application-clocks", machine(gpus=(gpu(throttle_reasons=0x2),))),
    Case(LIMIT, "warn", "lower-than-its-peer", machine(limits(200.0, 350.0)), "-pl 350"),
    Case(LIMIT, "ok", "all-alike", machine(limits(250.0, 250.0))),
    Case(LIMIT, "ok", "default", machine(gpus=(gpu(power_limit_w=350.0, power_limit_default_w=350.0),))),
    Case(POWER, "fail", "code-8", machine(driver__nvml=failed(8, "INSUFFICIENT_POWER")), "cables"),
    Case(POWER, "ok", "quiet", machine(driver())),
    Case(INFOROM, "warn", "code-14", machine(driver__nvidia_smi=failed(14, "CORRUPTED_INFOROM"))),
    Case(INFOROM, "ok", "quiet", machine(driver())),
    Case(INIT, "fail", "nvml-lists-none", machine(driver(), pci_gpus=(card(),), gpus=())),
    Case(INIT, "fail", "one-without-uuid", machine(driver(), gpus=(gpu(),), driver__uninitialised_gpus=(SECOND,))),
    Case(INIT, "ok", "not-used-yet", machine(driver(), gpus=(gpu(),), driver__uninitialised_gpus=(ADDRESS,))),
    Case(INIT, "skip", "not-loaded", machine(driver__kernel_module=missing(Problem.ABSENT), kernel__loaded_modules=())),
    Case(XID, "warn", "firmware", machine(kernel__log=(xid(62),)), "Reset the GPU"),
    Case(XID, "warn", "unknown-number", machine(kernel__log=(xid(977),)), "Look the number up"),
    Case(XID, "ok", "faults-of-programs", machine(kernel__log=(xid(13), xid(31), xid(43), xid(45))), "not in the GPU"),
    Case(XID, "ok", "quiet", machine(kernel__log=())),
    Case(XID, "unknown", "log-for-root-only", machine(kernel__log=missing(Problem.DENIED, "/dev/kmsg"), messages=())),
    Case(GSP, "fail", "xid-119", machine(kernel__log=(xid(119),))),
    Case(GSP, "fail", "xid-120", machine(kernel__log=(xid(120),))),
    Case(GSP, "ok", "quiet", machine(kernel__log=(xid(31),))),
    Case(
        COUNT,
        "fail",
        "module",
        machine(driver(), pci_gpus=(card(), card(address=SECOND)), driver__procfs_gpus=(ADDRESS,)),
        "GPU 0000:02:00.0 is missing from the kernel module (2 on PCI, 1 in the kernel module)",
    ),
    Case(
        COUNT,
        "fail",
        "nvml",
        machine(driver(cards=2), pci_gpus=(card(), card(address=SECOND)), gpus=(gpu(),)),
        "1 in NVML",
    ),
    Case(
        COUNT,
        "fail",
        "half-a-board",
        machine(
            driver(cards=3),
            pci_gpus=tuple(card(K80, f"0000:0{place}:00.0") for place in (1, 2, 4)),
            system__machine_kind=MachineKind.METAL,
        ),
        "4 GPUs on the boards, 3 on PCI",
    ),
    Case(
        COUNT,
        "ok",
        "a-board",
        machine(
            driver(cards=2),
            pci_gpus=(card(K80), card(K80, SECOND)),
            driver__procfs_gpus=(ADDRESS, SECOND),
            system__machine_kind=MachineKind.METAL,
        ),
    ),
    Case(
        COUNT,
        "ok",
        "half-a-board-of-the-host",
        machine(driver(), pci_gpus=(card(K80),), driver__procfs_gpus=(ADDRESS,), system__machine_kind=MachineKind.VM),
    ),
    Case(COUNT, "fail", "cuda", machine(driver(), gpus=(gpu(),), driver__cuda_device_count=0), "0 in CUDA"),
    Case(
        COUNT,
        "fail",
        "excluded",
        machine(
            driver(cards=2), pci_gpus=(card(), card(address=SECOND)), gpus=(gpu(),), driver__excluded_gpus=(SECOND,)
        ),
        "excluded by a driver option",
    ),
    Case(
        COUNT,
        "ok",
        "reserved-for-vms",
        machine(driver(), pci_gpus=(card(), card(address=SECOND, driver="vfio-pci")), gpus=(gpu(),)),
    ),
    Case(
        COUNT,
        "ok",
        "mig-counts-instances",
        machine(
            driver(),
            gpus=(gpu(A40, mig_mode=True), gpu(A40, SECOND, 1)),
            driver__device_nodes=missing(Problem.NOT_LOOKED),
            driver__procfs_gpus=(ADDRESS, SECOND),
            driver__cuda_device_count=1,
        ),
    ),
    Case(COUNT, "fail", "nvml-code-28", machine(driver__nvml=failed(28, "GPU_NOT_FOUND")), "NVML answers error 28"),
    Case(
        COUNT,
        "fail",
        "nvml-code-999",
        machine({**driver(), "driver.nvml": failed(999, "UNKNOWN")}),
        "error 999 (UNKNOWN)",
    ),
    Case(COUNT, "fail", "cuda-code-999", machine({**driver(), "driver.cuda_init": cuda(999, "UNKNOWN")}), "0 in CUDA"),
    Case(
        COUNT,
        "ok",
        "code-that-explains-itself",
        machine({**driver(), "driver.cuda_init": cuda(802, "x")}, gpus=(gpu(),)),
    ),
    Case(COUNT, "ok", "equal", machine(driver(), pci_gpus=(card(),), gpus=(gpu(),), driver__cuda_device_count=1)),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_case(case: Case) -> None:
    assert_case(case)


def test_a_narrow_link_is_named_with_slot_and_bridge() -> None:
    end = PcieLink(ADDRESS, "", 2.5, 16.0, 4, 16, "PCIEX16_1")
    [finding] = findings(WIDTH, machine(pci_gpus=(card(lanes=4, link=end),)))
    assert finding.title == f"{RTX3090} has 4 of 16 PCIe lanes in slot PCIEX16_1, bridge 0000:00:01.1"
    assert finding.subject == f"GPU {ADDRESS}"
    assert finding.remedy is not None
    assert f"sudo lspci -vvv -s {ADDRESS}" in finding.remedy.commands


def test_remap_pending_and_xid_63_are_one_fault() -> None:
    environment = machine(gpus=(gpu(A40, remapped_rows_pending=True),), kernel__log=(xid(63),))
    assert [finding.status.value for finding in findings(PENDING, environment)] == ["warn"]
    assert [finding.status.value for finding in findings(XID, environment)] == ["ok"]


def test_each_counted_layer_is_evidence() -> None:
    environment = machine(driver(), pci_gpus=(card(),), gpus=(gpu(),), driver__cuda_device_count=1)
    [finding] = findings(COUNT, environment)
    assert [item.value for item in finding.evidence] == ["PCI: 1", "/dev: 1", "NVML: 1", "CUDA: 1"]


@pytest.mark.parametrize("code", sorted(code for api, code in error_codes() if api == "nvml" and code > 3))
def test_no_error_of_nvml_goes_by_in_silence(code: int) -> None:
    name = error_codes()["nvml", code].name
    environment = machine({**driver(), "driver.nvml": failed(code, name)}, pci_gpus=(card(),))
    found = run_checks(environment, matrix(), all_checks().values())
    assert [finding.id for finding in found if finding.status.value in ("fail", "warn")], name


@pytest.mark.parametrize("code", sorted(code for api, code in error_codes() if api == "cuda"))
def test_no_error_of_cuda_goes_by_in_silence(code: int) -> None:
    name = error_codes()["cuda", code].name
    facts = {**driver(), "driver.cuda_init": cuda(code, name), "driver.nvswitches": 0}
    environment = machine(facts, pci_gpus=(card(),), gpus=(gpu(),))
    found = run_checks(environment, matrix(), all_checks().values())
    assert [finding.id for finding in found if finding.status.value == "fail"], name


def test_in_a_container_only_what_was_given_to_it_counts() -> None:
    place = {"system.machine_kind": MachineKind.CONTAINER}
    environment = machine({**driver(), **place}, pci_gpus=(card(), card(address=SECOND)), gpus=(gpu(),))
    assert [finding.status.value for finding in findings(COUNT, environment)] == ["ok"]


@pytest.mark.parametrize("model", [H100, RTX3090])
def test_a_healthy_card_has_no_hardware_fault(model: str) -> None:
    environment = machine({**driver(), **UBUNTU}, pci_gpus=(card(model),), gpus=(gpu(model),), kernel__log=())
    for id in (WIDTH, RATE, ERRORS, BAR, OFF_BUS, INIT, XID, GSP, COUNT, POWER, INFOROM):
        assert {finding.status.value for finding in findings(id, environment)} <= {"ok", "unknown"}, id


def test_messages_of_a_text_count_like_a_log() -> None:
    [finding] = findings(
        OFF_BUS, machine(said("gpu-fallen-off-bus/xid-79", xid(79), pci_address="0000:a1:00", code="79"))
    )
    assert finding.status.value == "fail"
    assert finding.subject == "GPU 0000:a1:00.0"
