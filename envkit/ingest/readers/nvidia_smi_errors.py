"""nvidia-smi and NVML that fail: their words stand for the return code that a program would have seen.

Failed to initialize NVML: Driver/library version mismatch
NVML library version: 580.178
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.ingest.answers import acknowledged
from envkit.ingest.at_work import outweighed
from envkit.ingest.clues import Clue, Fact, reader
from envkit.ingest.documents import is_document
from envkit.ingest.ends import ended
from envkit.ingest.sentences import denied
from envkit.ingest.text import Text
from envkit.model import CallResult

_FAILED = regex(r"Failed to initialize NVML: (?P<words>[A-Z][\w/ ,'-]{3,60})")
_TALK = regex(r"NVIDIA-SMI has failed because it couldn't communicate with\s{1,4}the NVIDIA driver")
_LIBRARY = regex(r"^NVML library version: (?P<version>\d{3}(?:\.\d{1,9}){1,2})$", re.MULTILINE)
_CHECKS = ("driver-library-mismatch", "driver-module-not-loaded")  # whose messages these are
_WORDS = (
    ("Driver/library version mismatch", 18, "NVML_ERROR_LIB_RM_VERSION_MISMATCH"),
    ("Insufficient Permissions", 4, "NVML_ERROR_NO_PERMISSION"),
    ("Driver Not Loaded", 9, "NVML_ERROR_DRIVER_NOT_LOADED"),
    ("GPU access blocked by the operating system", 17, "NVML_ERROR_OPERATING_SYSTEM"),
    ("Unknown Error", 999, "NVML_ERROR_UNKNOWN"),
    ("No supported GPUs were found", 28, "NVML_ERROR_GPU_NOT_FOUND"),
)


@reader("nvidia-smi error")
def read(text: Text) -> Iterator[Clue]:
    """NVML's return code by its words, and the library version that newer releases add."""
    for match in _said(text, _FAILED, "Failed to initialize NVML"):
        for words, code, name in _WORDS:
            if match["words"].lower().startswith(words.lower()):
                result = CallResult(code, name, "nvmlInit", words)
                yield Fact("driver.nvml", result, match.start())
                yield Fact("driver.nvidia_smi", result, match.start())
    for match in _said(text, _TALK, "NVIDIA-SMI has failed", lines=5):
        result = CallResult(9, "NVML_ERROR_DRIVER_NOT_LOADED", "nvmlInit", "couldn't communicate with the driver")
        yield Fact("driver.nvml", result, match.start())
        yield Fact("driver.nvidia_smi", result, match.start())
    for match in _said(text, _LIBRARY, "NVML library version"):
        yield Fact("driver.user_space", Version.parse(match["version"]), match.start())


def _said(text: Text, pattern: re.Pattern[str], needle: str, lines: int = 1) -> Iterator[re.Match[str]]:
    """The errors that are there: `the "…" is gone` tells of none, nor does one before a restart that helped, or of a
    GPU that is off until a program wants it.
    """
    if is_document(text):
        return
    over = max(ended(text, id) for id in _CHECKS)
    for match in text.matches(pattern, needle, lines=lines):
        place = match.start()
        if place <= over or denied(text, place, match.end()):
            continue
        if not (acknowledged(text, place) or outweighed(text, _CHECKS[1], place)):
            yield match
