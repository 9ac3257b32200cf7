"""A text that states a failure is never called healthy, however it says so."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Status
from envkit.checks.engine.registry import all_checks
from envkit.checks.engine.runner import run_checks
from envkit.documents.verdict import verdict
from envkit.ingest import parse_text
from envkit.model import COMPLAINT
from tests.checks.software import matrix

FAILS = (
    "RuntimeError: the flux capacitor is empty",
    "mytool: error: cannot start",
    "the training crashes after an hour",
    "my program gets cuda out of memory",
    "No available memory for the cache blocks",
    "torch.cuda.is_available() False",
    "torch.cuda.is_available() returns False",
    ">>> torch.cuda.is_available()\nFalse",
    "the GPU is not detected by my program",
    "no GPU detected by my program",
    "it doesn't work",
    "torch 2.4.1 doesnt work with my card",
    "CUDA_ERROR_SOMETHING_NEW",
    "它报错了",
)
WELL = (
    "It works, no error: none at all.",
    "Nothing fails.",
    "It never crashed.",
    "0 errors, it has not failed yet",
    "[    4.440120] nvidia: module verification failed: signature and/or required key missing - tainting kernel",
    "INFO:jax._src.xla_bridge:Unable to initialize backend 'tpu': module has no attribute",
    "Double Bit Error: 0",
)


@pytest.mark.parametrize("words", FAILS)
@pytest.mark.parametrize("machine", ["", "RTX 3090, Ubuntu 22.04, Python 3.11.\n\n"])
def test_a_stated_failure_without_a_finding_is_unknown_and_asks(words: str, machine: str) -> None:
    environment = parse_text(machine + words)
    answer = verdict(environment, run_checks(environment, matrix(), all_checks().values()))
    assert answer.status is not Status.OK
    assert answer.ask or answer.status is not Status.UNKNOWN


@pytest.mark.parametrize("words", WELL)
def test_a_denial_and_what_healthy_programs_log_are_no_failure(words: str) -> None:
    assert COMPLAINT not in {message.signature for message in parse_text(words).messages.get()}
