"""A text passes a check only by what it shows: no sentence, excerpt or silence is proof that something works."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Status
from tests.checks.software import findings_of

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


def test_what_a_program_printed_passes() -> None:
    text = "$ nvidia-smi -L\nGPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-1b0c7f4e-0000-0000-0000-5d0e3a2f9a11)\n"
    findings = findings_of(text)
    assert "no-gpu-on-pci" in {finding.id for finding in findings if finding.status is Status.OK}
