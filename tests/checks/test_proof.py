"""A text passes a check only by what it shows: no sentence, excerpt or silence is proof that something works."""

from __future__ import annotations

import pytest

from envkit.checks.engine.evidence import unseen
from envkit.checks.engine.findings import Status
from envkit.checks.engine.registry import all_checks
from envkit.checks.engine.runner import run_checks
from envkit.ingest import parse_text
from envkit.model import Environment
from tests.checks.software import findings_of, matrix

SAY_LITTLE = {
    "prose": "My laptop with an RTX 4060 runs Windows, and torch.cuda.is_available() returns False.",
    "prose of a healthy machine": "All is well on my Ubuntu 22.04 with an RTX 3090.",
    "two lines of a log": "[ 1.0] usb 1-1: new device\n[ 2.0] nvidia: loading out-of-tree module taints kernel.",
    "the compiler's version": "nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 12.4, V12.4.131",
}
OF_ONE_PROGRAM = {"toolkit-missing"}  # that there is a compiler is what its own answer shows


@pytest.mark.parametrize("text", SAY_LITTLE.values(), ids=SAY_LITTLE)
def test_a_text_that_shows_nothing_passes_nothing(text: str) -> None:
    findings = findings_of(text)
    assert {finding.id for finding in findings if finding.status is Status.OK} <= OF_ONE_PROGRAM


@pytest.mark.parametrize("text", SAY_LITTLE.values(), ids=SAY_LITTLE)
def test_nothing_is_probed_in_a_text(text: str) -> None:
    assert [finding for finding in findings_of(text) if "probe" in finding.title or "queried" in finding.title] == []


def test_what_nobody_looked_at_is_said_by_where_the_facts_come_from() -> None:
    assert unseen(Environment(), "the device files") == "envkit did not probe the device files"
    assert unseen(parse_text("x"), "the device files") == "the input does not show the device files"
    findings = run_checks(Environment(), matrix(), all_checks().values())
    titles = {finding.title for finding in findings if finding.id == "xid-other"}
    assert titles == {"envkit did not probe the kernel log"}


def test_what_a_program_printed_passes() -> None:
    text = "$ nvidia-smi -L\nGPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-1b0c7f4e-0000-0000-0000-5d0e3a2f9a11)\n"
    findings = findings_of(text)
    assert "no-gpu-on-pci" in {finding.id for finding in findings if finding.status is Status.OK}
