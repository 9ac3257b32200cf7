"""NVIDIA's compilers on disk: the program behind links and wrapper scripts, and its release; nothing is started."""

from __future__ import annotations

import posixpath
import re

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.host.base import Host

_BANNER = r"Cuda compilation tools, release (?P<release>\d{1,9}\.\d{1,9})(?:, V(?P<full>\d{1,9}(?:\.\d{1,9}){2}))?"
BANNER = regex(_BANNER)
_CARRIED = regex(_BANNER.encode())
_BLOCK = 4 << 20
_OVERLAP = 64  # bytes: more than a banner has
_MOST = 128 << 20  # ptxas of CUDA 13 has 38 MB
_SCRIPT_LIMIT = 8192
_BETWEEN = regex(r"[\s\"']+")
_GOES_ON = regex(r"[\w.-]")


def banner(text: str) -> Version | None:
    """The release in `Cuda compilation tools, release 9.0, V9.0.176`, which each tool prints and carries."""
    match = BANNER.search(text)
    return release_in(match) if match else None


def release_in(match: re.Match[str]) -> Version:
    """The release that a match of BANNER names."""
    release, full = match["release"], match["full"] or ""
    return Version.parse(full if full.startswith(f"{release}.") else release)  # before CUDA 5: release 4.2, V0.2.1221


def carried(content: bytes) -> Version | None:
    """The release in the first banner that a program's bytes hold."""
    match = _CARRIED.search(content)
    return banner(match.group().decode()) if match else None


def carried_release(host: Host, path: str) -> Version | None:
    """The release that the file's own bytes name, read block by block up to the first banner."""
    for start in range(0, _MOST, _BLOCK):
        block = host.read_range(path, start, _BLOCK + _OVERLAP).value
        if not block:
            return None
        match = _CARRIED.search(block)
        if match and match.start() < _BLOCK:  # one that begins later may be cut, and is whole in the next block
            return banner(match.group().decode())
    return None


def behind(host: Host, path: str, program: str) -> tuple[str, bool]:
    """The real file of a `program`, and whether a script or a compiler cache stood in between."""
    wrapper = False
    real = host.real_path(path).value or path
    for _ in range(5):  # wrappers of wrappers end somewhere
        if posixpath.basename(real) in ("ccache", "sccache"):
            return real, True
        head = host.read_bytes(real, _SCRIPT_LIMIT).value or b""
        if not head.startswith(b"#!"):
            return real, wrapper
        wrapper = True
        inner = _started(head.decode("utf-8", "replace"), program)
        target = host.real_path(inner).value if inner else None
        if target is None or target == real:
            return real, True
        real = target
    return real, wrapper


def kept_program(content: bytes) -> bytes:
    """What is read of a program, for a recording: a script's call of nvcc, or the kind of file and its banner."""
    if content.startswith(b"#!"):
        return f"#!\n{_started(content[:_SCRIPT_LIMIT].decode('utf-8', 'replace'), 'nvcc')}\n".encode()
    match = _CARRIED.search(content)
    kind = content[:4] if content.startswith(b"\x7fELF") else b""
    return kind + (b"\0" + match.group() if match else b"")


def _started(script: str, program: str) -> str:
    """The first absolute path to `program` that a shell script names, comments aside; '' when it names none."""
    for line in script.splitlines()[1:]:
        for word in _BETWEEN.split(line.partition("#")[0]):
            folder, name, rest = word.partition(f"/{program}")
            if name and not _GOES_ON.match(rest):
                return folder[folder.find("/") :] + name if "/" in folder else name
    return ""
