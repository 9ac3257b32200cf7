"""PCI without a driver: every hop above a GPU, regions, errors, ACS."""

from __future__ import annotations

import pytest

from envkit.base.versions import ComputeCapability
from envkit.capture.recorded import Entry
from envkit.model import Problem
from envkit.probe import pci
from tests.fakes.memory_host import Content, MemoryHost, link

PORT, SWITCH, GPU = "0000:60:01.0", "0000:61:00.0", "0000:65:00.0"
REAL = f"/sys/devices/pci0000:60/{PORT}/{SWITCH}/{GPU}"
FOLDERS = {PORT: REAL.rsplit("/", 2)[0], SWITCH: REAL.rsplit("/", 1)[0], GPU: REAL}
REGIONS = "\n".join(
    [
        "0x00000000b8000000 0x00000000b8ffffff 0x0000000000040200",
        "0x00000fc000000000 0x00000fdfffffffff 0x000000000014220c",
        "0x0000000000000000 0x0000000000000000 0x0000000000000000",
        "0x00000fe000000000 0x00000fe001ffffff 0x000000000014220c",
    ]
)


def _link(speed: str, speed_max: str, width: str, width_max: str) -> dict[str, str]:
    return {
        "current_link_speed": speed,
        "max_link_speed": speed_max,
        "current_link_width": width,
        "max_link_width": width_max,
    }


def _machine(changes: dict[str, Content] | None = None) -> MemoryHost:
    devices: dict[str, dict[str, str]] = {
        PORT: {"vendor": "0x8086", "device": "0x347a", **_link("16.0 GT/s PCIe", "16.0 GT/s PCIe", "16", "16")},
        SWITCH: {"vendor": "0x10b5", "device": "0x8764", **_link("8.0 GT/s PCIe", "8.0 GT/s PCIe", "8", "16")},
        GPU: {
            "vendor": "0x10de",
            "device": "0x20b2",
            "class": "0x030200",
            "subsystem_device": "0x1463",
            "numa_node": "1",
            "power_state": "D0",
            "resource": REGIONS,
            "aer_dev_correctable": "RxErr 0\nBadTLP 12\nTOTAL_ERR_COR 12\n",
            "aer_dev_fatal": "Undefined 0\nTOTAL_ERR_FATAL 0\n",
            **_link("2.5 GT/s PCIe", "16.0 GT/s PCIe", "8", "16"),
        },
    }
    files: dict[str, Content] = {
        f"{FOLDERS[name]}/{file}": text + "\n" for name, texts in devices.items() for file, text in texts.items()
    }
    files |= {f"/sys/bus/pci/devices/{name}": link(path) for name, path in FOLDERS.items()}
    files |= {
        f"{REAL}/config": b"\xde\x10\xb2\x20" + bytes(60),
        f"{REAL}/driver": link("/sys/bus/pci/drivers/nvidia"),
        "/sys/bus/pci/drivers/nvidia/bind": "",
        "/sys/bus/pci/slots/5/address": "0000:65:00\n",
        **{f"{FOLDERS[name]}/config": bytes(64) for name in (PORT, SWITCH)},
    }
    return MemoryHost({**files, **(changes or {})})


def _table(device: str) -> pci.Known | None:
    return ("A100-SXM4-80GB", ComputeCapability(8, 0)) if device == "20B2" else None


def test_a_gpu_with_every_link_above_it() -> None:
    (gpu,) = pci.probe(_machine(), _table)["pci_gpus"].get()
    assert (gpu.pci_address, gpu.device_id, gpu.pci_class, gpu.subsystem_id) == (GPU, "20B2", "0302", "1463")
    assert (gpu.name, gpu.compute_capability) == ("A100-SXM4-80GB", ComputeCapability(8, 0))
    assert (gpu.driver, gpu.numa_node, gpu.power_state) == ("nvidia", 1, "D0")
    assert gpu.link is not None
    assert (gpu.link.speed_current, gpu.link.speed_max) == (2.5, 16.0)
    assert (gpu.link.width_current, gpu.link.width_max, gpu.link.slot) == (8, 16, "5")
    assert [(hop.pci_address, hop.name, hop.width_current, hop.width_max) for hop in gpu.hops] == [
        (SWITCH, "10b5:8764", 8, 16),
        (PORT, "8086:347a", 16, 16),
    ]
    assert gpu.bar1_bytes == 128 << 30
    assert gpu.bars_assigned is True and gpu.bar1_resizable is False
    assert gpu.aer_errors == {"correctable": 12, "fatal": 0}
    assert gpu.config_readable is True


def test_no_nvidia_device_is_an_empty_list() -> None:
    host = MemoryHost({"/sys/bus/pci/devices/0000:00:00.0/vendor": "0x8086\n"})
    assert pci.probe(host)["pci_gpus"].get() == ()


def test_no_pci_at_all_is_absent() -> None:
    assert pci.probe(MemoryHost({}))["pci_gpus"].problem is Problem.ABSENT


@pytest.mark.parametrize(
    ("name", "bound"), [("nouveau", "nouveau"), ("vfio-pci", "vfio-pci"), ("NovaCore", "NovaCore")]
)
def test_the_bound_driver_is_named(name: str, bound: str) -> None:
    host = _machine({f"{REAL}/driver": link(f"/sys/bus/pci/drivers/{name}"), f"/sys/bus/pci/drivers/{name}/bind": ""})
    assert pci.probe(host)["pci_gpus"].get()[0].driver == bound


def test_an_unbound_device_has_no_driver() -> None:
    assert pci.probe(_machine({f"{REAL}/driver": Entry(problem=Problem.ABSENT)}))["pci_gpus"].get()[0].driver == ""


def test_a_device_off_the_bus_reads_ones() -> None:
    host = _machine({f"{REAL}/config": b"\xff" * 64})
    assert pci.probe(host)["pci_gpus"].get()[0].config_readable is False


@pytest.mark.parametrize(("text", "rate"), [("Unknown", None), ("8 GT/s", 8.0), ("32.0 GT/s PCIe", 32.0), ("", None)])
def test_link_rates(text: str, rate: float | None) -> None:
    host = _machine({f"{REAL}/current_link_speed": text})
    gpu_link = pci.probe(host)["pci_gpus"].get()[0].link
    assert gpu_link is not None and gpu_link.speed_current == rate


@pytest.mark.parametrize("text", ["0", "255", "", "x"])
def test_widths_that_say_nothing(text: str) -> None:
    gpu_link = pci.probe(_machine({f"{REAL}/current_link_width": text}))["pci_gpus"].get()[0].link
    assert gpu_link is not None and gpu_link.width_current is None


def test_an_io_region_without_addresses_is_no_fault() -> None:
    io = "0x0000000000000000 0x000000000000007f 0x0000000020040101"
    host = _machine({f"{REAL}/resource": REGIONS.rstrip("\n") + f"\n{io}\n"})
    assert pci.probe(host)["pci_gpus"].get()[0].bars_assigned is True


def test_the_window_onto_the_memory_is_the_second_memory_region() -> None:
    """On Hopper and after it, the first region has 64-bit addresses too, so the window is region 2."""
    lines = (
        "0x000000a041000000 0x000000a041ffffff 0x000000000014220c",
        "0x0000000000000000 0x0000000000000000 0x0000000000000000",
        "0x000000a000000000 0x000000bfffffffff 0x000000000014220c",
        "0x0000000000000000 0x0000000000000000 0x0000000000000000",
        "0x000000a042000000 0x000000a043ffffff 0x000000000014220c",
        "0x0000000000000000 0x0000000000000000 0x0000000000000000",
    )
    host = _machine({f"{REAL}/resource": "\n".join(lines), f"{REAL}/resource2_resize": "0x1"})
    (gpu, *_) = pci.probe(host)["pci_gpus"].get()
    assert (gpu.bar1_bytes, gpu.bar1_resizable, gpu.bars_assigned) == (128 * 1024**3, True, True)


def test_a_part_of_a_gpu_that_is_lent_to_a_virtual_machine_is_no_gpu() -> None:
    lent = "/sys/bus/pci/devices/0000:65:00.4"
    files: dict[str, Content] = {
        f"{lent}/vendor": "0x10de",
        f"{lent}/class": "0x030200",
        f"{lent}/physfn": link("../0000:65:00.0"),
    }
    assert len(pci.probe(_machine(files))["pci_gpus"].get()) == len(pci.probe(_machine())["pci_gpus"].get())


def test_a_region_without_addresses() -> None:
    unassigned = "0x0000000000000000 0x0000000000000000 0x000000000014220c"
    host = _machine({f"{REAL}/resource": REGIONS.replace(REGIONS.splitlines()[1], unassigned)})
    gpu = pci.probe(host)["pci_gpus"].get()[0]
    assert gpu.bars_assigned is False and gpu.bar1_bytes is None


def test_no_numa_node_is_not_node_minus_one() -> None:
    assert pci.probe(_machine({f"{REAL}/numa_node": "-1"}))["pci_gpus"].get()[0].numa_node is None


def test_nvswitches_are_counted() -> None:
    base = "/sys/bus/pci/devices/0000:c0:00.0"
    host = _machine({f"{base}/vendor": "0x10de", f"{base}/class": "0x068000", f"{base}/device": "0x22a3"})
    assert pci.probe(host)["driver.nvswitches"].get() == 1


def _extended(control: int) -> bytes:
    """A config space whose second extended capability is ACS with this control register."""
    space = bytearray(4096)
    space[0x100:0x104] = (0x0001 | 1 << 16 | 0x148 << 20).to_bytes(4, "little")
    space[0x148:0x14C] = (0x000D | 1 << 16).to_bytes(4, "little")
    space[0x14E:0x150] = control.to_bytes(2, "little")
    return bytes(space)


@pytest.mark.parametrize(("control", "bridges"), [(0x1D, (SWITCH,)), (0x00, ()), (0x01, ())])
def test_acs_redirection_is_read_from_config_space(control: int, bridges: tuple[str, ...]) -> None:
    host = _machine({f"{FOLDERS[SWITCH]}/config": _extended(control), f"{FOLDERS[PORT]}/config": _extended(0)})
    assert pci.probe(host)["kernel.acs_redirect"].get() == bridges


def test_a_short_config_space_is_for_root_only() -> None:
    assert pci.probe(_machine())["kernel.acs_redirect"].problem is Problem.DENIED


def test_a_circle_of_capabilities_ends() -> None:
    space = bytearray(4096)
    space[0x100:0x104] = (0x0001 | 1 << 16 | 0x100 << 20).to_bytes(4, "little")
    host = _machine({f"{FOLDERS[name]}/config": bytes(space) for name in (SWITCH, PORT)})
    assert pci.probe(host)["kernel.acs_redirect"].get() == ()
