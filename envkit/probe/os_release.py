"""The distribution, its C and C++ libraries and the architecture, also of a root that does not run."""

from __future__ import annotations

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.host.base import Host
from envkit.model import Observed, OsRelease, Problem, found, missing
from envkit.probe.release_files import DEBIAN_VERSION, OS_RELEASE, OTHERS, described
from envkit.probe.text import Facts, derived, first_known

PATHS = (
    "system.os",
    "system.architecture",
    "system.kernel",
    "system.glibc",
    "system.glibcxx",
)
_MOST_FILES = 20
_MACHINES = {0x3E: "x86_64", 0xB7: "aarch64", 0x15: "ppc64le", 0x03: "i686", 0x28: "armv7l", 0xF3: "riscv64"}
LIBC = ("/lib/*/libc.so.6", "/lib64/libc.so.6", "/lib/libc.so.6", "/usr/lib/libc.so.6")
LIBSTDCXX = ("/usr/lib/*/libstdc++.so.6", "/usr/lib64/libstdc++.so.6", "/usr/lib/libstdc++.so.6")
_GLIBC_BANNER = regex(rb"GNU C Library [^\n]{0,80}?version (\d+\.\d+)")
_GLIBCXX_NAME = regex(rb"GLIBCXX_(\d+(?:\.\d+)+)\0")


def probe(host: Host) -> Facts:
    """`system.os`, `system.architecture`, `system.glibc`, `system.glibcxx`, `system.kernel`."""
    return {
        "system.os": distribution(host),
        "system.architecture": architecture(host),
        "system.kernel": identity(host, "kernel"),
        "system.glibc": glibc(host),
        "system.glibcxx": _glibcxx(host),
    }


def identity(host: Host, name: str) -> Observed[str]:
    """One thing that the process knows about itself."""
    value = host.identity().get(name)
    return found(value, name) if value else missing(Problem.NOT_LOOKED, name)


def distribution(host: Host) -> Observed[OsRelease]:
    """The distribution by its release files; ABSENT where there are none."""
    paths = (*OS_RELEASE, DEBIAN_VERSION, *host.glob(OTHERS)[:_MOST_FILES])
    read = {path: host.read_text(path, 65536) for path in paths}
    texts = {path: answer.value for path, answer in read.items() if answer.value is not None}
    if not texts:
        return derived(first_known(read.values()), lambda text: None)
    release = described(texts)
    if release is None:
        return missing(Problem.UNPARSABLE, next(iter(texts)), "the release files do not specify a distribution")
    return found(release, next(iter(texts)))


def architecture(host: Host) -> Observed[str]:
    """The kernel's word, or the machine type in the header of a program of the root."""
    running = identity(host, "architecture")
    if running.known:
        return running
    return first_known(
        derived(host.read_bytes(path, 64), lambda header: _elf_machine(header))
        for path in ("/bin/sh", "/usr/bin/env", "/usr/bin/bash", "/sbin/ldconfig")
    )


def _elf_machine(header: bytes) -> str | None:
    if header[:4] != b"\x7fELF" or len(header) < 20:
        return None
    order = "little" if header[5] == 1 else "big"
    return _MACHINES.get(int.from_bytes(header[18:20], "little" if order == "little" else "big"))


def glibc(host: Host) -> Observed[Version]:
    """The running C library's version, or that of the root's libc.so.6."""
    running = identity(host, "glibc")
    if running.known:
        return derived(running, Version.find)
    for pattern in LIBC:
        for path in host.glob(pattern):
            match = _GLIBC_BANNER.search(host.read_bytes(path, 8_000_000).value or b"")
            version = Version.find(match.group(1).decode()) if match else None
            if version is not None:
                return found(version, path)
    return missing(Problem.NOT_LOOKED if host.identity() else Problem.ABSENT, "libc.so.6")


def _glibcxx(host: Host) -> Observed[Version]:
    """The highest GLIBCXX version of the system's libstdc++.so.6."""
    for pattern in LIBSTDCXX:
        for path in host.glob(pattern):
            content = host.read_bytes(path, 8_000_000)
            if content.value is None:
                return missing(content.problem or Problem.ABSENT, path, content.detail)
            names = map(Version.find, {name.decode() for name in _GLIBCXX_NAME.findall(content.value)})
            highest = max((name for name in names if name is not None), default=None)
            return found(highest, path) if highest else missing(Problem.UNPARSABLE, path, "no GLIBCXX names")
    return missing(Problem.ABSENT, "libstdc++.so.6")
