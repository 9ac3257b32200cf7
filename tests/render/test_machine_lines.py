"""The lines about the machine on GPUs that are no cards, and on those that do not answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from envkit.ingest import parse_text
from envkit.model import Environment
from envkit.render.machine import machine_line, machine_lines
from tests.checks.test_true_faults import one_hangs
from tests.fakes.changed import with_change
from tests.fakes.machines import load_machine


def about(environment: Environment, label: str) -> list[str]:
    """The texts under one label."""
    texts, last = [], ""
    for name, text in machine_lines(environment):
        last = name or last
        if last == label:
            texts.append(text)
    return texts


@pytest.mark.parametrize(
    ("machine", "label", "expected"),
    [
        ("ubuntu18.04-jetson-nano", "GPU", ["part of the processor, CUDA finds 1"]),
        ("ubuntu18.04-jetson-nano", "Driver", ["part of the system, L4T 32.7.1; CUDA up to 10.2"]),
        ("ubuntu24.04-jetson-thor", "GPU", ["0: NVIDIA Thor · sm_110 · 0000:01:00.0"]),
        (
            "ubuntu24.04-jetson-thor",
            "Driver",
            ["580.00 loaded, open kernel module", "part of the system, L4T 38.2.0; CUDA up to 13.0"],
        ),
        ("ubuntu24.04-gb10-580-dgx-spark", "GPU", ["0: NVIDIA GB10 · sm_121 · 000f:01:00.0"]),
        (
            "debian12-gtx1060-535",
            "GPU",
            ["0: NVIDIA GeForce GTX 1060 6GB · sm_61 · 6 GiB · PCIe x16 of x16 · 0000:01:00.0"],
        ),
        ("debian12-none-none", "GPU", ["none on the PCI bus"]),
    ],
)
def test_a_gpu_is_shown_as_what_it_is(machine: str, label: str, expected: list[str]) -> None:
    assert about(load_machine(machine), label) == expected


def test_a_gpu_that_does_not_answer_has_a_line_of_its_own(tmp_path: Path) -> None:
    lines = about(with_change("ubuntu22.04-8xh200-570", one_hangs, tmp_path), "GPU")
    assert len(lines) == 8
    assert lines[3] == "3: NVML_ERROR_TIMEOUT"


def test_a_machine_in_wsl_is_not_said_to_lack_what_windows_has() -> None:
    line = machine_line(load_machine("wsl2-rtx4090-560-driver-inside"))
    assert "WSL 2" in line and "no driver" not in line and "PCI" not in line


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("GPU 0: GeForce GT 730 (UUID: GPU-1)\n", "(compute capability 2.1, 3.0, or 3.5)"),
        ("name, driver_version\nNVIDIA GeForce GT 730, 470.256.02\n", "(compute capability 3.0 or 3.5)"),
        ("name, compute_cap, driver_version\nNVIDIA GeForce GT 730, 3.5, 470.256.02\n", "NVIDIA GeForce GT 730"),
        ("GPU 0: NVIDIA GeForce GT 1030 (UUID: GPU-1)\n", "NVIDIA GeForce GT 1030"),
    ],
)
def test_a_name_of_several_chips_says_what_it_can_be(text: str, said: str) -> None:
    assert machine_line(parse_text(text)).endswith(said)
