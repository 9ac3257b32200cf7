"""A fault of which the newer text says nothing is not gone."""

from __future__ import annotations

from envkit.checks.engine.registry import all_checks
from envkit.checks.engine.runner import run_checks
from envkit.comparison.culprits import Difference, difference
from envkit.ingest import parse_text
from tests.checks.software import matrix

LINKS = """GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)
\t Link 0: 26.562 GB/s
\t Link 1: 26.562 GB/s
GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-2)
\t Link 0: 26.562 GB/s
\t Link 1: {state}
"""
NAMES = "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)\nGPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-2)\n"


def changed(old: str, new: str) -> Difference:
    checks = all_checks()
    before, after = parse_text(old), parse_text(new)
    found = [run_checks(one, matrix(), checks.values()) for one in (before, after)]
    return difference((before, found[0]), (after, found[1]), checks)


def test_links_that_the_newer_text_does_not_show_are_not_gone() -> None:
    down = "$ nvidia-smi nvlink --status\n" + LINKS.format(state="<inactive>")
    assert "nvlink-inactive" not in {finding.id for finding in changed(down, NAMES).gone}
    well = "$ nvidia-smi nvlink --status\n" + LINKS.format(state="26.562 GB/s")
    assert "nvlink-inactive" in {finding.id for finding in changed(down, well).gone}


def test_a_gpu_that_the_same_list_no_longer_has_is_gone() -> None:
    """nvidia-smi leaves no GPU out of its list, so the rest of the text does not matter."""
    listed = [f"GPU {number}: NVIDIA A100-SXM4-80GB (UUID: GPU-{number})\n" for number in range(3)]
    changes = changed("".join(listed), "".join(listed[:2])).others
    assert [(one.fact, one.old, one.new) for one in changes] == [("gpus", "NVIDIA A100-SXM4-80GB", None)]
    assert changed("".join(listed), "| RTX 3090 | driver 535.54.03\n").others == ()
