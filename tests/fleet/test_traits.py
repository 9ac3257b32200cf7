"""A trait tells what a person means by it, and a failing check explains it only where it rests on the same field."""

from __future__ import annotations

import pytest

from envkit._startup.records import replace
from envkit.fleet.traits import KEYS, explanations, traits_of
from envkit.ingest.sources import from_text
from envkit.model import SystemPackage, found
from tests.fakes.machines import load_machine


@pytest.mark.parametrize(
    ("machine", "key", "value"),
    [
        ("ubuntu22.04-8xh100-550", "gpu_count", "8"),
        ("ubuntu22.04-8xh100-silent-loss", "gpu_count", "7"),
        ("ubuntu22.04-8xh100-lost-gpu", "gpu_count", "7"),
        ("ubuntu22.04-rtx3090-mismatch", "gpu_count", "1"),  # the driver does not answer; the bus does
        ("ubuntu22.04-8xh100-550", "fabric_manager_state", "running"),
        ("ubuntu22.04-8xh100-no-fabric-manager", "fabric_manager_state", "installed"),
        ("ubuntu22.04-8xh100-550", "numa_nodes", "0, 1"),
    ],
)
def test_what_a_machine_lost_shows(machine: str, key: str, value: str) -> None:
    assert traits_of(load_machine(machine))[key] == value


@pytest.mark.parametrize(
    ("packages", "value"),
    [
        ([("nvidia-driver-550", "dpkg", "hold"), ("docker-ce", "dpkg", "installed")], "nvidia-driver-550"),
        ([("nvidia-driver-550", "dpkg", "installed")], "none"),
        ([("kernel", "rpm", "installed")], None),  # its locks are in no file that is read
        ([], "none"),
    ],
)
def test_a_package_that_is_held_back_shows(packages: list[tuple[str, str, str]], value: str | None) -> None:
    known = tuple(SystemPackage(name, "1", manager, state) for name, manager, state in packages)
    machine = replace(load_machine("ubuntu22.04-8xh100-550"), packages=found(known, "test"))
    assert traits_of(machine).get("held_packages") == value


def test_boards_with_different_firmware_show() -> None:
    machine = load_machine("ubuntu22.04-8xh100-550")
    first, *others = machine.gpus.get()
    assert "vbios" not in traits_of(machine)
    gpus = (replace(first, vbios="96.00.5E.00.01"), *(replace(gpu, vbios="96.00.74.00.01") for gpu in others))
    assert traits_of(replace(machine, gpus=found(gpus, "nvml")))["vbios"] == "96.00.5E.00.01, 96.00.74.00.01"


@pytest.mark.parametrize(
    ("evidence", "traits"),
    [
        ("gpus[0].compute_mode", {"compute_mode"}),
        ("gpus[0].mig_instances", {"mig"}),
        ("gpus[3].error", {"gpu_count"}),
        ("gpus.compute_capability", set()),
        ("pci_gpus", {"gpu_count"}),
        ("pci_gpus[0000:c3:00.0].driver", set()),
        ("gpus[0].vbios", {"vbios"}),
        ("pythons.frameworks[pytorch].cuda", {"frameworks"}),
        ("pythons.shadowing_modules", set()),
        ("driver.kernel_module", {"driver"}),
        ("system.kernel", {"kernel"}),
    ],
)
def test_a_check_explains_what_it_rests_on(evidence: str, traits: set[str]) -> None:
    assert explanations({evidence: "x"}) == dict.fromkeys(traits, "x")
    assert traits <= set(KEYS)


@pytest.mark.parametrize(
    "text",
    [
        "index, name, vbios_version, driver_version\n0, NVIDIA A100-SXM4-80GB, 92.00.45.00.05, 535.247.01\n",
        "GPU 00000000:07:00.0\n    Product Name : NVIDIA A100-SXM4-80GB\n    VBIOS Version : 92.00.45.00.05\n",
        '<nvidia_smi_log>\n<gpu id="00000000:07:00.0">\n<product_name>NVIDIA A100-SXM4-80GB</product_name>\n'
        "<vbios_version>92.00.45.00.05</vbios_version>\n</gpu>\n</nvidia_smi_log>\n",
    ],
    ids=["csv", "text", "xml"],
)
def test_the_firmware_that_nvidia_smi_names_is_read(text: str) -> None:
    assert traits_of(from_text(text, "x", "x")).get("vbios") == "92.00.45.00.05"
