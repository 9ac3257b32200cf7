"""`conda list`, `mamba list` and `micromamba list`: name, version, build string and channel.

# packages in environment at /opt/conda/envs/train:
# Name                    Version                   Build  Channel
pytorch                   2.1.2           py3.10_cuda11.8_cudnn8.7.0_0    pytorch
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.ingest.clues import Clue, Fact, Package, PythonFact, reader
from envkit.ingest.text import Text

_HEAD = regex(
    r"^(?:# packages in environment at (?P<prefix>\S[^\n]{0,200}):$"
    r"|List of packages in environment: \"?(?P<mamba>/[^\"\n]{1,200})\"?$"
    r"|(?:# | {0,2})Name {2,60}Version {2,60}Build\b)"
)
_ROW = regex(
    r"^ {0,4}(?P<name>[A-Za-z0-9_][\w.-]{0,80}) {1,60}(?P<version>\d[\w.!+]{0,50}) {1,40}"
    r"(?P<build><pip>|[A-Za-z0-9][\w.+]{0,100})(?: {1,40}(?P<channel>[\w./:-]{1,60}))?$"
)
_TYPED = regex(r"[^\n]{0,60}\b(?:conda|mamba|micromamba) list\b[^\n|]{0,40}\| ?(?:e?grep|findstr|Select-String)\b")
_SAID = ("conda list:", "mamba list:")  # how a sentence ends above the rows that somebody picked out
_PLANNED = regex(
    r"^ {0,4}[+~] {1,2}(?P<name>[A-Za-z0-9_][\w.-]{0,80}) {1,60}(?P<version>\d[\w.!+]{0,50}) {1,40}"
    r"(?P<build>[A-Za-z0-9][\w.+]{0,100}) {1,40}(?P<channel>[\w./:-]{1,60})/(?:linux-64|linux-aarch64|win-64|noarch)\b",
    re.MULTILINE,
)
_COLUMNS = regex(r" {0,4}[\w.-]{1,80} {2,60}\S|[ \u2500-]+$")  # a row in columns, or the rule below the header
_VIRTUAL = regex(r"^(?: {10,40}| {0,12}virtual packages : )__cuda=(?P<cuda>\d{1,9}\.\d{1,9})=\w+$", re.MULTILINE)


_BUILT_FOR = regex(r"py(?P<python>3\.\d{1,2})_")

_HEADS = ("#", "L", "N", " ")


@reader("conda")
def read(text: Text) -> Iterator[Clue]:
    """Every package below a header of conda's; the driver's CUDA from `conda info`."""
    if text.holds("packages in environment") or text.holds("Name  ") or text.holds("a list"):
        yield from _listed(text)
    for match in text.matches(_PLANNED, "/linux-64", "/linux-aarch64", "/win-64", "/noarch"):
        yield from _row(match, match.start())
    for match in text.matches(_VIRTUAL, "__cuda="):
        yield Fact("driver.driver_cuda_version", Version.parse(match["cuda"]), match.start())


def _listed(text: Text) -> Iterator[Clue]:
    position, inside = 0, False
    for line, below in zip(text.lines, (*text.lines[1:], None), strict=True):
        head = _HEAD.match(line) if line[:1] in _HEADS else None
        typed = "a list" in line and (_TYPED.match(line) or line.endswith(_SAID))
        if head:
            inside = True
            prefix = head["prefix"] or head["mamba"]
            if prefix:
                yield PythonFact("prefix", prefix, position)
                yield PythonFact("kind", "conda", position)
        elif typed:
            inside = True
        elif inside and line and not line.startswith("#"):
            match = _ROW.match(line)
            inside = match is not None or _COLUMNS.match(line) is not None
            if match and (match["channel"] or _ends(below) or not text.cut_off(position, "")):
                yield from _row(match, position)
        position += len(line) + 1


def _ends(below: str | None) -> bool:
    """Whether the line `below` a row shows that the row is whole: columns are flush, so many rows fill the width."""
    return below is not None and (not below or _COLUMNS.match(below) is not None)


def _row(match: re.Match[str], offset: int) -> Iterator[Clue]:
    by_pip = match["channel"] == "pypi" or match["build"] == "<pip>"
    build = "" if match["build"] == "<pip>" else match["build"]
    yield Package(match["name"], match["version"], offset, "pip" if by_pip else "conda", build)
    told = match["version"] if match["name"] == "python" else _of_build(build)
    version = Version.find(told) if told and not by_pip else None
    if version is not None:
        yield PythonFact("version", version, offset)


def _of_build(build: str) -> str:
    """The Python that a build string names: 3.8 of `py3.8_cuda10.2_cudnn7_0`, which PyTorch's channel writes."""
    found = _BUILT_FOR.match(build)
    return found["python"] if found else ""
