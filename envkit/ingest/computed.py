"""Where a text shows that a program computed on an NVIDIA GPU: there the driver, its libraries and a build work."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.ingest.text import Text
from envkit.ingest.typed import programs

_PRINTED = regex(
    r"(?<![\w.])tensor\((?:\[{1,4} {0,8})?-?(?:\d|True|False|nan|inf)[^\n]{0,300}?device='cuda:\d"
    r"|^(?:Result = PASS|Test PASSED|# Avg bus bandwidth {1,8}: {1,4}\d)"
    r"|\boffloaded [1-9]\d{0,3}/\d{1,4} layers to GPU\b|\[(?:Cuda|Gpu)Device\(id=\d"
    r"| {2}100% GPU {2}|/device:GPU:0 with \d{2,7} MB memory|msg=\"inference compute\"[^\n]{0,200}\blibrary=cuda"
    r"|\bLoading model weights took \d|^SUCCESS!$",
    re.MULTILINE,
)
_WORDS = (
    *("device='cuda:", "Result = PASS", "Test PASSED", "# Avg bus bandwidth", "layers to GPU", "CudaDevice(id="),
    *("GpuDevice(id=", "100% GPU", "/device:GPU:0 with ", "inference compute", "Loading model weights", "SUCCESS!"),
)
_ON_GPU = regex(r"\.cuda\(|\bdevice ?= ?f?[\"']cuda|\.to\( ?f?[\"']cuda|\.device\([\"']cuda")
_FAILED = regex(
    r"Error\b|Traceback|Exception\b|\berror:|\bKilled\b|core dumped|Aborted|not found|\[CPU\]|^cpu$|\bnan\b"
)


def computed(text: Text) -> int:
    """The last place that shows a computation on a GPU, -1 where there is none."""
    return max(places(text), default=-1)


def places(text: Text) -> Iterator[int]:
    """Where programs print what they do only on a GPU, and where code that uses one is answered without an error."""
    for match in text.matches(_PRINTED, *_WORDS):
        yield match.start()
    for program in programs(text):
        answer = [line for line, _ in program.answer]
        if _ON_GPU.search(program.code) and any(map(str.strip, answer)) and not any(map(_FAILED.search, answer)):
            yield program.below
