"""`nvidia-smi --version`: the versions alone.

NVIDIA-SMI version  : 550.90.07
NVML version        : 550.90
DRIVER version      : 550.90.07
CUDA Version        : 12.4
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.ingest.clues import Clue, Fact, reader
from envkit.ingest.text import Text

_LINE = regex(
    r"^(?P<key>DRIVER version|KMD version|CUDA Version|CUDA UMD version) {1,12}: "
    r"(?P<version>\d{1,4}(?:\.\d{1,4}){1,3})$",
    re.MULTILINE | re.IGNORECASE,
)


@reader("nvidia-smi --version")
def read(text: Text) -> Iterator[Clue]:
    """The driver's version and the CUDA it supports."""
    if not text.holds("NVIDIA-SMI version"):
        return
    for match in text.matches(_LINE, "version", "Version"):
        path = "driver.driver_cuda_version" if match["key"].startswith("CUDA") else "driver.kernel_module"
        yield Fact(path, Version.parse(match["version"]), match.start())
