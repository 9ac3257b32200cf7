"""Lines of a Dockerfile as repairs see and change them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from envkit._startup.regex import regex

Changes = Iterator[tuple[Sequence[str], str]]  # the lines after each change to try, and what it did

CONTINUED = regex(r"\\\s*$")  # a line that goes on in the next
_NVIDIA = regex(
    r"(?<![\w./-])(?:cuda-(?!keyring|repo)[a-z]|lib(?:cudnn\d|nvinfer|nvparsers|nvonnxparsers)|libnccl|tensorrt(?==|\s|$)"
    r"|lib(?:cublas|cufft|curand|cusolver|cusparse|npp)(?:-dev)?-?\d)"
)
_WHOLE = regex(r"\bapt(?:-get)?\b[^&|;]{0,80}\binstall\b[^&|;]{0,200}\scuda(?=\s|$)|\s(?:cuda|libcudnn)\*")
PIP_INSTALL = regex(r"\bpip[\d.]*\s+install\b")


def start_of(lines: Sequence[str], index: int) -> int:
    """The first line of the instruction that a line belongs to."""
    before = said_before(lines, index)
    while before is not None and CONTINUED.search(lines[before]):
        index, before = before, said_before(lines, before)
    return index


def end_of(lines: Sequence[str], index: int) -> int:
    """The last line of the instruction that a line belongs to."""
    while CONTINUED.search(lines[index]):
        after = next((at for at in range(index + 1, len(lines)) if not _is_unread(lines[at])), None)
        if after is None:
            break
        index = after
    return index


def said_before(lines: Sequence[str], index: int) -> int | None:
    """The line before, without blank ones and comments, which a builder leaves out wherever they stand."""
    return next((at for at in range(index - 1, -1, -1) if not _is_unread(lines[at])), None)


def _is_unread(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


def other_line(lines: Sequence[str], index: int, line: str) -> Sequence[str]:
    """The lines with another one in place of that with this number."""
    return [*lines[:index], line, *lines[index + 1 :]]


def without_word(lines: Sequence[str], index: int, word: str) -> Sequence[str] | None:
    """The lines without a package's name in one; a continued line that held nothing else goes with it."""
    rest = re.sub(rf"(?<![\w.+=-]){re.escape(word)}(?:=\S+)?(?![\w.+-])\s?", "", lines[index], count=1)
    if not word or rest == lines[index]:
        return None
    before, after = list(lines[:index]), lines[index + 1 :]
    if rest.strip(" \t\\"):
        return [*before, rest if CONTINUED.search(rest) else rest.rstrip(), *after]
    if not CONTINUED.search(rest) and before:
        before[-1] = CONTINUED.sub("", before[-1]).rstrip()
    return [*before, *after]


def named_for_pip(name: str, lines: Sequence[str], index: int) -> bool:
    """Whether a line of a command of pip names a package."""
    start = start_of(lines, index)
    of_pip = any(PIP_INSTALL.search(line) for line in lines[start : index + 1])
    return of_pip and re.search(rf"(?<=[\s'\"]){re.escape(name)}(?![\w.-])", lines[index]) is not None


def of_nvidia(lines: Sequence[str]) -> bool:
    """Whether the file installs packages of NVIDIA's repository, which an image of nvidia/cuda has set up."""
    told = (line for line in lines if not line.lstrip().startswith("#"))
    return any(_NVIDIA.search(line) is not None or _WHOLE.search(line) is not None for line in told)
