"""Lines of a Dockerfile as repairs see and change them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from envkit._startup.regex import regex

Changes = Iterator[tuple[Sequence[str], str]]  # the lines after each change to try, and what it did

CONTINUED = regex(r"\\\s*$")  # a line that goes on in the next
_NVIDIA = regex(
    r"(?<![\w./-])(?:cuda-(?!keyring|repo)[a-z]|lib(?:cudnn|nvinfer|nvparsers|nvonnxparsers)\d?|libnccl|tensorrt(?==|\s|$)"
    r"|lib(?:cublas|cufft|curand|cusolver|cusparse|npp)(?:-dev)?-?\d)"
)
PIP_INSTALL = regex(r"\bpip[\d.]*\s+install\b")


def start_of(lines: Sequence[str], index: int) -> int:
    """The first line of the instruction that a line belongs to."""
    while index > 0 and CONTINUED.search(lines[index - 1]):
        index -= 1
    return index


def end_of(lines: Sequence[str], index: int) -> int:
    """The last line of the instruction that a line belongs to."""
    while index + 1 < len(lines) and (CONTINUED.search(lines[index]) or lines[index].lstrip().startswith("#")):
        index += 1
    return index


def other_line(lines: Sequence[str], index: int, line: str) -> Sequence[str]:
    """The lines with another one in place of that with this number."""
    return [*lines[:index], line, *lines[index + 1 :]]


def of_nvidia(lines: Sequence[str]) -> bool:
    """Whether the file installs packages of NVIDIA's repository, which an image of nvidia/cuda has set up."""
    return any(_NVIDIA.search(line) is not None and not line.lstrip().startswith("#") for line in lines)
