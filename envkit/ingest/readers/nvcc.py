"""`nvcc --version`: the compiler's CUDA release, and the paths that `which nvcc` and `type nvcc` print.

Cuda compilation tools, release 12.2, V12.2.140
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.ingest.clues import Absent, Clue, Fact, Item, reader
from envkit.ingest.text import Text
from envkit.model import CudaToolkit, Nvcc
from envkit.probe.cuda_tools import BANNER, release_in

_PATH = regex(
    r"(?:^[^\n]{0,80}[$#] )?which (?:-a )?nvcc\n(?P<path>/\S{1,160}/nvcc)$|^nvcc is (?P<type>/\S{1,160}/nvcc)$",
    re.MULTILINE,
)
_MISSING = regex(
    r"(?:\bnvcc: (?:command )?not found|command not found: nvcc|Command 'nvcc' not found|'nvcc' is not recognized)"
)


@reader("nvcc")
def read(text: Text) -> Iterator[Clue]:
    """The first nvcc told of, with its path where `which` shows it."""
    shown = text.matches(_PATH, "which nvcc", "which -a nvcc", "nvcc is /", lines=2)
    path = next((match["path"] or match["type"] for match in shown), "")
    for match in text.matches(BANNER, "Cuda compilation tools"):
        version = release_in(match)
        yield Fact("nvcc", Nvcc(path or "nvcc", path, version), match.start())
        root = path.removesuffix("/bin/nvcc")
        if root != path:
            toolkit = CudaToolkit(version, root, "", "nvcc", has_nvcc=True)
            yield Item("cuda_toolkits", root, toolkit, match.start())
        return
    for match in text.matches(_MISSING, "nvcc"):
        yield Absent("nvcc", "not on PATH", match.start())
        return
