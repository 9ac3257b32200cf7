"""C++ compilers that nvcc could call: those on PATH and those that a variable names."""

from __future__ import annotations

import posixpath

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.host.base import Host
from envkit.model import HostCompiler, Observed, Problem, found, missing
from envkit.probe.text import derived

VARIABLES = ("NVCC_CCBIN", "CUDAHOSTCXX", "CXX", "CC")
_NAMES = regex(r"(?:\w+-linux-gnu-)?(gcc|g\+\+|clang|clang\+\+)(?:-(\d+(?:\.\d+)*))?")
PROGRAM_FOLDERS = ("/usr/bin", "/usr/local/bin", "/opt/rh/*/root/usr/bin")
_NUMBERS = regex(r"\d+(?:\.\d+)*")


def host_compilers(host: Host) -> Observed[tuple[HostCompiler, ...]]:
    """Every gcc and clang once; `default` marks the one that nvcc calls by itself: `gcc` on PATH, or NVCC_CCBIN."""
    seen: dict[str, HostCompiler] = {}
    chosen = _chosen(host)
    for path in dict.fromkeys([*chosen, *_on_disk(host)]):
        real = host.real_path(path).value
        if real is None or real in seen:
            continue
        compiler = _compiler(host, path, real, default=path in chosen[:1])
        if compiler is not None:
            seen[real] = compiler
    if seen:
        return found(tuple(seen.values()), "PATH")
    folder = host.list_dir("/usr/bin")
    if folder.value is None and folder.problem is not Problem.ABSENT:
        return derived(folder, lambda names: None)
    return missing(Problem.ABSENT, "PATH", "no gcc and no clang")


def _chosen(host: Host) -> list[str]:
    """Compilers by preference: what variables name, then `gcc` and `clang` on PATH."""
    named = [host.variables().get(name, "").split(" ")[0] for name in VARIABLES]
    paths = []
    for program in [*named, "gcc", "clang"]:
        if program.startswith("/"):
            is_folder = (status := host.status(program).value) is not None and status.kind == "dir"
            paths.append(posixpath.join(program, "g++") if is_folder else program)
        elif program and (path := host.which(program).value):
            paths.append(path)
    return paths


def _on_disk(host: Host) -> list[str]:
    paths = []
    for folder in PROGRAM_FOLDERS:
        for pattern in ("gcc*", "clang*"):
            paths += [path for path in host.glob(f"{folder}/{pattern}") if _NAMES.fullmatch(posixpath.basename(path))]
    return paths


def _compiler(host: Host, path: str, real: str, default: bool) -> HostCompiler | None:
    match = _NAMES.fullmatch(posixpath.basename(real)) or _NAMES.fullmatch(posixpath.basename(path))
    if not match:
        return None
    kind = "clang" if "clang" in match.group(1) else "gcc"
    version = _version(host, path, kind, match.group(2))
    return HostCompiler(kind, version, path, default) if version else None


def _version(host: Host, path: str, kind: str, suffix: str | None) -> Version | None:
    """From the name when it holds one, from gcc's library folder when there is one only, otherwise from the program."""
    if suffix:
        return Version.find(suffix)
    if kind == "gcc":
        prefix = posixpath.dirname(posixpath.dirname(path))
        folders = host.glob(f"{prefix}/lib*/gcc/*/[0-9]*")
        installed = {name for folder in folders if _NUMBERS.fullmatch(name := posixpath.basename(folder))}
        if len(installed) == 1:
            return Version.find(installed.pop())
    result = host.run([path, "-dumpfullversion", "-dumpversion"] if kind == "gcc" else [path, "--version"], 3.0).value
    return Version.find(result.stdout) if result and result.exit_code == 0 else None
