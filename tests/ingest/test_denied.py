"""A message that somebody quotes to say that it is not there, or no longer: it is no evidence."""

from __future__ import annotations

import pytest

from envkit.checks.engine.likened import is_likened
from envkit.ingest import parse_text
from envkit.model import COMPLAINT
from tests.checks.software import findings_of

_MISMATCH = "Failed to initialize NVML: Driver/library version mismatch"
_NO_CUDA = "Torch not compiled with CUDA enabled"
DENIED = (
    'We do NOT have "CUDA driver version is insufficient for CUDA runtime version" here, how do I pick a GPU?',
    "The error 'no kernel image is available for execution on the device' is gone now, thanks.",
    f'This is not the "{_NO_CUDA}" issue. My question is about seeds.',
    "I no longer get RuntimeError: Numpy is not available, the update helped.",
    f'Our log has no "{_MISMATCH}", all fine.',
    f'Nach dem Neustart ist "{_MISMATCH}" weg.',
    f'With 2.7.1 the "{_NO_CUDA}" message does not appear. Nice work',
    f'升级之后没有 "{_NO_CUDA}" 了,谢谢',
    "Lines of the parser's unit test:\nNVRM: Xid (PCI:0000:0a:00): 145, RLW_RXPIPE Nonfatal XC0 i0 Link 03",
    "  79    GPU has fallen off the bus   reboot\n  48    double bit ECC error         reboot",
    'fixed the "CUDA_HOME environment variable is not set" error by installing the toolkit',
)
THERE = (
    f'The error "{_MISMATCH}" is gone after a reboot but comes back the next day.',
    f'"{_MISMATCH}" is gone until the next update',
    f"I do not have any idea: {_NO_CUDA}",
    "It does not work. RuntimeError: Numpy is not available",
    "It is not my code: CUDA driver version is insufficient for CUDA runtime version",
    "Could not load library libcudnn_ops_infer.so.8. Error: libcudnn_ops_infer.so.8: cannot open shared object file",
    f"I didn't change a thing, {_MISMATCH} since the update",
)


@pytest.mark.parametrize("text", DENIED)
def test_a_message_that_is_denied_is_none(text: str) -> None:
    environment = parse_text(text)
    assert [message.signature for message in environment.messages.get() if message.signature != COMPLAINT] == []
    assert not environment.driver.nvml.known


@pytest.mark.parametrize("text", THERE)
def test_a_message_is_there_where_the_sentence_denies_something_else(text: str) -> None:
    assert [message for message in parse_text(text).messages.get() if message.signature != COMPLAINT]


_LISTS = "$ nvidia-smi -L\nGPU 0: NVIDIA RTX A4000 (UUID: GPU-11111111-2222-3333-4444-555555555555)\n"
_NOUVEAU = (
    "$ sudo sh NVIDIA-Linux-x86_64.run\nERROR: The Nouveau kernel driver is currently in use by your system.  "
    "This driver is incompatible with the NVIDIA driver\n"
)


@pytest.mark.parametrize(
    ("text", "hinted"),
    [
        (_NOUVEAU + _LISTS, False),  # a later answer settles it
        ("journalctl has Xid 13 and then 43 for the GTX 1080 Ti, python dies.", False),  # an error in a program
        ("After suspend the CUDA programs of my notebook do not come back, RTX 3050.", True),
    ],
)
def test_a_message_that_was_judged_is_no_ground_for_a_hint(text: str, hinted: bool) -> None:
    assert any(is_likened(finding) for finding in findings_of(text)) is hinted
