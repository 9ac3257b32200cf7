"""NVIDIA's compilers on disk: the program behind links and wrapper scripts, and its release; nothing is started."""

from __future__ import annotations

import posixpath

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.host.base import Host

_BANNER = regex(rb"release \d+\.\d+, V(\d+\.\d+\.\d+)")
_BLOCK = 4 << 20
_OVERLAP = 64  # bytes: more than a banner has
_MOST = 128 << 20  # ptxas of CUDA 13 has 38 MB
_SCRIPT_LIMIT = 8192
_BETWEEN = regex(r"[\s\"']+")
_GOES_ON = regex(r"[\w.-]")


def banner(text: bytes) -> Version | None:
    """The release in `Cuda compilation tools, release 9.0, V9.0.176`, which each tool prints and carries."""
    match = _BANNER.search(text)
    return Version.parse(match.group(1).decode()) if match else None


def carried_release(host: Host, path: str) -> Version | None:
    """The release that the file's own bytes name, read block by block up to the first banner."""
    for start in range(0, _MOST, _BLOCK):
        block = host.read_range(path, start, _BLOCK + _OVERLAP).value
        if not block:
            return None
        version = banner(block)
        if version is not None:
            return version
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
    match = _BANNER.search(content)
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
