"""The GPU that games, X, and OpenGL name when they draw with NVIDIA's driver.

OpenGL renderer string: NVIDIA GeForce GTX 1650/PCIe/SSE2
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.ingest.clues import Clue, GpuClue, GpusIncomplete, Listing, reader
from envkit.ingest.later_answers import answers_of_driver
from envkit.ingest.text import Text

_NAME = r"(?P<name>(?:NVIDIA |GeForce |Quadro |Tesla |TITAN )[\w +-]{2,60}?)"
_DRAWN = regex(
    rf"(?:\bOpenGL renderer string: |\bGL_RENDERER {{0,6}}[=:] {{1,4}}|\bNVIDIA GPU |\bon adapter NVIDIA Corporation )"
    rf"{_NAME}(?=/| \([A-Z]{{2}}\d{{3}}[\w-]{{0,4}}\) at PCI)"
    r"|\bFound device: (?P<of_dxvk>NVIDIA [\w +-]{2,60}) \(NVIDIA \d"
    r"|^[ \t]{0,16}deviceName {1,12}= (?P<of_vulkan>NVIDIA [\w +-]{2,60})$",
    re.MULTILINE,
)
_WORDS = ("renderer string: ", "GL_RENDERER", "NVIDIA GPU ", "on adapter ", "Found device: ", "deviceName")


@reader("programs that draw")
def read(text: Text) -> Iterator[Clue]:
    """One GPU per name, where nvidia-smi does not list them; others may be there that draw nothing."""
    if answers_of_driver(text):
        return
    names: dict[str, int] = {}
    for match in text.matches(_DRAWN, *_WORDS):
        names.setdefault(next(filter(None, match.groups())).strip(), match.start())
    for name, offset in names.items():
        yield GpuClue(Listing.DRIVER, None, {"name": name}, offset)
        yield GpusIncomplete(offset)
