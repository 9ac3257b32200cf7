"""A first look calls each fact by words, and never by its path."""

from __future__ import annotations

import pytest

from envkit.checks.engine.fact_words import fact_label
from envkit.checks.engine.findings import Evidence, Finding, Status
from envkit.checks.engine.registry import all_checks
from envkit.checks.engine.runner import run_checks
from envkit.model import Environment
from envkit.render.text import doctor_text
from tests.checks.software import matrix
from tests.fakes.machines import load_machine, machine_names


@pytest.mark.parametrize(
    ("fact", "words"),
    [
        ("gpus.compute_capability", "compute capability"),
        ("gpus[0].ecc_uncorrectable", "GPU 0 uncorrectable ECC errors"),
        ("GPU 0000:01:00.0 pcie_replays", "GPU 0000:01:00.0 PCIe replays"),
        ("pci_gpus[0000:01:00.0].driver", "GPU 0000:01:00.0 driver"),
        ("pythons.frameworks[pytorch].sm_arch_list", "PyTorch binary kernels for compute capabilities"),
        ("pythons.build_tools[ptxas]", "ptxas"),
        ("variables[CUDA_VISIBLE_DEVICES]", "CUDA_VISIBLE_DEVICES"),
        ("variables.LD_PRELOAD", "LD_PRELOAD"),
        ("system.free_bytes[/tmp]", "free disk space (/tmp)"),
        ("pci_gpus link 0000:00:01.0", "PCIe link 0000:00:01.0"),
        ("driver.kernel_module", "NVIDIA kernel module"),
        ("system.platform_model", "platform model"),
    ],
)
def test_a_fact_has_words(fact: str, words: str) -> None:
    assert fact_label(fact) == words


def test_no_recorded_machine_shows_a_path() -> None:
    for name in machine_names():
        findings = run_checks(load_machine(name), matrix(), all_checks().values())
        for item in (item for finding in findings for item in finding.evidence):
            words = fact_label(item.fact)
            assert "[" not in words and (words.isupper() or "_" not in words), item.fact


def test_the_highest_target_is_not_cut_away() -> None:
    lists = " ".join(f"{major}.{minor}" for major in (5, 6, 7, 8) for minor in range(10))
    seen = Evidence("pythons.frameworks[pytorch].sm_arch_list", lists, start=lists.rfind(" ") + 1)
    text = doctor_text(Environment(), [Finding("arch-newer-than-build", Status.FAIL, "It fails", evidence=(seen,))])
    shown = text.partition("  Evidence")[2].partition("  See also")[0]
    assert shown.strip().endswith(" 8.9") and max(map(len, text.splitlines())) <= 80
