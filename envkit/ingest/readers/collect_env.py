"""The report of `python -m torch.utils.collect_env` in old and new layouts, and vLLM's longer one.

PyTorch version: 2.3.1+cu121
CUDA used to build PyTorch: 12.1
OS: Ubuntu 22.04.4 LTS (x86_64)
Nvidia driver version: 535.183.01
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.ingest.clues import Absent, Clue, Fact, Framework, Item, Package, PythonFact, reader
from envkit.ingest.releases import described
from envkit.ingest.text import Text
from envkit.model import Cudnn, HostCompiler, Nvcc

_LINE = regex(
    r"^[ ]{0,8}(?P<key>PyTorch version|CUDA used to build PyTorch|ROCM used to build PyTorch|OS|GCC version|"
    r"Libc version|Python version|Python platform|CUDA runtime version|Nvidia driver version)"
    r"[ ]{0,20}: ?(?P<value>[^\n]{0,300})$",
    re.MULTILINE,
)
_VERSION = regex(r"\d{1,9}(?:\.\d{1,9})+")
_MARKER = regex(r"^[ ]{0,8}(?:CUDA used to build PyTorch|Is CUDA available|Is debug build)[ ]{0,20}:", re.MULTILINE)
_LIBRARY = regex(
    r"^\[(?P<from>pip3?|conda)\] (?P<name>[A-Za-z0-9][\w.-]{0,80})(?:==| {1,40})(?P<version>\d[\w.+!-]{0,60})"
    r"(?: {1,40}(?P<build>\S{1,80}))?",
    re.MULTILINE,
)
_CUDNN_FILE = regex(r"(?<!\S)(?P<path>/\S{0,160}/libcudnn\.so\.(?P<version>\d{1,9}(?:\.\d{1,9}){1,3}))$", re.MULTILINE)
_PLATFORM = regex(
    r"Linux-(?P<kernel>\d[\w.+~-]{0,80}?)-(?P<arch>x86_64|aarch64|ppc64le)-with(?:-glibc(?P<glibc>\d{1,9}\.\d{1,9}))?"
)
_GCC = regex(r"^(?:\([^)\n]{1,80}\) )?(\d{1,2}\.\d{1,2}(?:\.\d{1,2})?)(?![\d.~-])")


@reader("collect_env")
def read(text: Text) -> Iterator[Clue]:
    """Versions, paths and packages of the report; lines that collected nothing tell nothing."""
    if not any(text.matches(_MARKER, "used to build PyTorch", "Is CUDA available", "Is debug build")):
        return
    for match in text.matches(_LINE, "ersion", "used to build PyTorch", "OS", "Python platform"):
        value = match["value"].strip()
        if value and "Could not collect" not in value and value != "N/A":
            yield from _KEYS.get(match["key"], _nothing)(value, match.start())
        elif match["key"] == "CUDA runtime version":
            yield Absent("nvcc", "collect_env found no nvcc", match.start())
    for match in text.matches(_LIBRARY, "[pip", "[conda] "):
        if not match["build"] and text.cut_off(match.start(), match["version"]):
            continue
        installer = "conda" if match["from"] == "conda" else "pip"
        yield Package(match["name"], match["version"], match.start(), installer, match["build"] or "")
    for match in text.matches(_CUDNN_FILE, "libcudnn.so."):
        found = Cudnn(Version.parse(match["version"]), match["path"], "system")
        yield Item("cudnns", match["path"], found, match.start())


def _nothing(value: str, offset: int) -> Iterator[Clue]:
    yield from ()


def _torch(value: str, offset: int) -> Iterator[Clue]:
    if re.match(r"\d{1,9}\.\d{1,9}", value):
        yield Package("torch", value.split()[0], offset)


def _cuda(value: str, offset: int) -> Iterator[Clue]:
    if value == "None":
        yield Framework("pytorch", {"cuda_known": True}, offset)
    elif _VERSION.fullmatch(value):
        yield Framework("pytorch", {"cuda": Version.parse(value).release(2), "cuda_known": True}, offset)


def _rocm(value: str, offset: int) -> Iterator[Clue]:
    if _VERSION.match(value):
        yield Framework("pytorch", {"rocm": True}, offset)


def _os(value: str, offset: int) -> Iterator[Clue]:
    release = described(value)
    if release is not None:
        yield Fact("system.os", release, offset)
    architecture = re.search(r"\((x86_64|aarch64|arm64|ppc64le)\)", value)
    if architecture:
        yield Fact("system.architecture", architecture.group(1).replace("arm64", "aarch64"), offset)


def _gcc(value: str, offset: int) -> Iterator[Clue]:
    match = _GCC.search(value)
    if match:
        compiler = HostCompiler("gcc", Version.parse(match.group(1)), "", True)
        yield Item("host_compilers", "gcc", compiler, offset)


def _libc(value: str, offset: int) -> Iterator[Clue]:
    match = re.match(r"glibc-(\d{1,9}\.\d{1,9})", value)
    if match:
        yield Fact("system.glibc", Version.parse(match.group(1)), offset)


def _python(value: str, offset: int) -> Iterator[Clue]:
    match = re.match(r"\d{1,9}\.\d{1,9}(?:\.\d{1,9})?", value)
    if match:
        yield PythonFact("version", Version.parse(match.group()), offset)


def _platform(value: str, offset: int) -> Iterator[Clue]:
    match = _PLATFORM.search(value)
    if match:
        yield Fact("system.kernel", match["kernel"], offset)
        yield Fact("system.architecture", match["arch"], offset)
        if match["glibc"]:
            yield Fact("system.glibc", Version.parse(match["glibc"]), offset)


def _nvcc(value: str, offset: int) -> Iterator[Clue]:
    """collect_env calls the release of nvcc the "runtime" version."""
    if _VERSION.fullmatch(value):
        yield Fact("nvcc", Nvcc("nvcc", "", Version.parse(value)), offset)


def _driver(value: str, offset: int) -> Iterator[Clue]:
    if _VERSION.fullmatch(value):
        yield Fact("driver.kernel_module", Version.parse(value), offset)


_KEYS: dict[str, Callable[[str, int], Iterator[Clue]]] = {
    "PyTorch version": _torch,
    "CUDA used to build PyTorch": _cuda,
    "ROCM used to build PyTorch": _rocm,
    "OS": _os,
    "GCC version": _gcc,
    "Libc version": _libc,
    "Python version": _python,
    "Python platform": _platform,
    "CUDA runtime version": _nvcc,
    "Nvidia driver version": _driver,
}
