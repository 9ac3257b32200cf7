"""The operating system: nvcc's host compiler, the installer's list of distributions, and images."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntEnum

from envkit._startup.records import replace
from envkit.base.platforms import WSL
from envkit.base.versions import Version
from envkit.compat.verdict import Verdict
from envkit.tables.rows import ImageTag, OperatingSystem, Toolkit, os_title

_TITLES = {"gcc": "GCC", "clang": "Clang"}


def compiler_fits_nvcc(name: str, version: Version, toolkit: Toolkit) -> Verdict:
    """Whether nvcc of this toolkit accepts a host compiler (`gcc` or `clang`); it refuses newer majors."""
    what = f"nvcc {toolkit.release}"
    if _bounds(name, toolkit)[1] is None:
        return Verdict(
            "compiler-fits-nvcc",
            "unknown",
            f"the newest {_TITLES.get(name, name)} for {what} is not known",
            toolkit.sources,
        )
    bound = _crossed(name, version, toolkit)
    if bound:
        return Verdict("compiler-fits-nvcc", "fail", f"{what} {bound}, not {version}", toolkit.sources)
    return Verdict("compiler-fits-nvcc", "ok", f"{what} supports {_TITLES.get(name, name)} {version}", toolkit.sources)


def _bounds(name: str, toolkit: Toolkit) -> tuple[Version | None, Version | None]:
    return (toolkit.gcc_min, toolkit.gcc_max) if name == "gcc" else (None, toolkit.clang_max)


def _crossed(name: str, version: Version, toolkit: Toolkit) -> str:
    """The bound of nvcc's that a host compiler crosses, in words; empty where it crosses none that is recorded."""
    low, high = _bounds(name, toolkit)
    if high is not None and version > high and not version.starts_with(high):
        return f"supports {_TITLES.get(name, name)} up to {high}"
    if low is not None and version < low:
        return f"needs {_TITLES.get(name, name)} {low} or newer"
    return ""


class CompilerEffort(IntEnum):
    """What compiling with nvcc takes on a system, least first."""

    NONE = 0  # nvcc takes the system's own GCC, or that is not recorded
    INSTALL = 1  # the system packages another
    UNKNOWN = 2  # which others it packages is not recorded
    IMPOSSIBLE = 3  # none that it packages is taken


def compiling_effort(system: OperatingSystem, toolkit: Toolkit) -> CompilerEffort:
    """What it takes to have a GCC that nvcc of this toolkit accepts."""
    if system.default_gcc is None or not _crossed("gcc", system.default_gcc, toolkit):
        return CompilerEffort.NONE
    if not system.installable_gcc:
        return CompilerEffort.UNKNOWN
    return CompilerEffort.INSTALL if other_gcc(system, toolkit) else CompilerEffort.IMPOSSIBLE


def other_gcc(system: OperatingSystem, toolkit: Toolkit) -> Version | None:
    """The newest GCC that the system packages and nvcc takes, where nvcc does not take the system's own."""
    if system.default_gcc is None or not _crossed("gcc", system.default_gcc, toolkit):
        return None
    return max((gcc for gcc in system.installable_gcc if not _crossed("gcc", gcc, toolkit)), default=None)


def os_compiler_fits_nvcc(system: OperatingSystem, toolkit: Toolkit) -> Verdict:
    """Whether the distribution has a GCC that nvcc accepts: its default one, or another that can be installed."""
    if system.default_gcc is None:
        detail = f"the GCC version of {system.title} is not known"
        return Verdict("compiler-fits-nvcc", "unknown", detail, system.sources)
    default = compiler_fits_nvcc("gcc", system.default_gcc, toolkit)
    whose = f"{default.detail} (the {system.title} default)"
    if default.status != "fail":
        return replace(default, detail=whose) if default.status == "ok" else default
    hints = {
        CompilerEffort.INSTALL: (
            f"gcc-{other_gcc(system, toolkit)} is needed (the install script installs it); pass it to nvcc with -ccbin"
        ),
        CompilerEffort.UNKNOWN: (
            f"it is not known which other GCC releases {system.title} has: frameworks run, but nvcc needs "
            "a different GCC"
        ),
        CompilerEffort.IMPOSSIBLE: (
            f"{system.title} has no package for a supported GCC: frameworks run, but nvcc cannot compile"
        ),
    }
    detail = f"{whose}; {hints[compiling_effort(system, toolkit)]}"
    return Verdict("compiler-fits-nvcc", "warn", detail, default.sources)


def runfile_on_os(system: OperatingSystem, toolkit: Toolkit, toolkits: Sequence[Toolkit] = ()) -> Verdict:
    """Whether the toolkit's installation guide lists this distribution.

    A release that came out after the toolkit is in no list of its time. `toolkits` are all in the data, oldest first,
    of which a refusal names one that is known to support the system.
    """
    if system.os_id == WSL:
        return _in_wsl(system, toolkit)
    listed = toolkit.os_ids
    if listed is not None and system.os_id in listed:
        return Verdict(
            "runfile-on-os", "ok", f"CUDA {toolkit.version} officially supports {system.title}", toolkit.sources
        )
    if came_later(system, toolkit):
        detail = (
            f"CUDA {toolkit.version} ({toolkit.release_date}) is older than {system.title} ({system.released}): "
            "NVIDIA does not support this combination and has no packages for it; the only option is the runfile, "
            f"which is also unsupported{_instead(system, toolkit, toolkits)}"
        )
        return Verdict("runfile-on-os", "warn", detail, tuple(dict.fromkeys((*toolkit.sources, *system.sources))))
    from envkit.compat.cuda_ends import cuda_end

    end = cuda_end(system.os_id, toolkit.version)
    if end is not None:
        detail = (
            f"NVIDIA does not support CUDA {toolkit.version} on {system.title}, where CUDA {end.last_cuda} is the "
            "last supported release. The only option is the runfile, which is also "
            f"unsupported{_instead(system, toolkit, toolkits)}"
        )
        return Verdict("runfile-on-os", "warn", detail, tuple(dict.fromkeys((*end.sources, *toolkit.sources))))
    if listed is None or not toolkit.os_ids_complete:
        detail = f"it is not known whether CUDA {toolkit.version} supports {system.title}; the runfile may still work"
        return Verdict("runfile-on-os", "unknown", detail, toolkit.sources)
    detail = (
        f"CUDA {toolkit.version} does not officially support {system.title} (only "
        f"{', '.join(map(os_title, listed[:6]))}{', and others' if len(listed) > 6 else ''}): the runfile usually "
        f"installs with --override, but the vendor did not test it{_instead(system, toolkit, toolkits)}"
    )
    return Verdict("runfile-on-os", "warn", detail, toolkit.sources)


def _in_wsl(system: OperatingSystem, toolkit: Toolkit) -> Verdict:
    """Whatever distribution is inside WSL takes the toolkit, without a driver; NVIDIA's guide begins with CUDA 11."""
    sources = tuple(dict.fromkeys((*toolkit.sources, *system.sources)))
    if toolkit.minor_compatibility_driver is None:
        detail = f"it is not known whether CUDA {toolkit.version} runs in WSL: NVIDIA's guide covers later releases"
        return Verdict("runfile-on-os", "unknown", detail, sources)
    where = f"NVIDIA's repository {system.repository_id}, or from the repository for the distribution inside WSL"
    detail = f"CUDA {toolkit.version} runs in WSL 2: install only the toolkit, without a driver, from {where}"
    return Verdict("runfile-on-os", "ok", detail, sources)


def came_later(system: OperatingSystem, toolkit: Toolkit) -> bool:
    """Whether a system with packages of its own came out in a later month than the toolkit.

    Clones of RHEL take its packages, so their own date says nothing.
    """
    own = (system.repository_id or "") == system.os_id.replace(".", "")
    dates = toolkit.release_date, system.released
    return own and dates[0] is not None and dates[1] is not None and dates[0] < dates[1]


def _instead(system: OperatingSystem, toolkit: Toolkit, toolkits: Sequence[Toolkit]) -> str:
    known = list(_known_to_fit(system, toolkit, toolkits))
    what = "combination" if len(known) == 1 else "combinations"
    return f". Supported {what}: {'; '.join(known)}" if known else ""


def _known_to_fit(system: OperatingSystem, toolkit: Toolkit, toolkits: Sequence[Toolkit]) -> Iterator[str]:
    """The nearest toolkit that lists the system, a later one first, and the releases of its distribution known here."""
    listing = [row for row in toolkits if system.os_id in (row.os_ids or ())]
    earlier = (row for row in reversed(listing) if row.version < toolkit.version)
    later = (row for row in listing if row.version > toolkit.version and not came_later(system, row))
    nearest = next(later, None) or next(earlier, None)
    if nearest is not None:
        yield f"CUDA {nearest.version} on {system.title}"
    name = system.os_id.rstrip("0123456789.")
    alike = [os_id for os_id in toolkit.os_ids or () if os_id.rstrip("0123456789.") == name]
    if alike:
        releases = sorted(alike, key=lambda os_id: Version.find(os_id) or Version.of(0))
        yield f"CUDA {toolkit.version} on {', '.join(map(os_title, releases))}"


def image_fits(tag: ImageTag) -> Verdict:
    """Whether an image tag can be built on: supported, or there but past its end, or gone."""
    name = f"{tag.repository}:{tag.tag}"
    if tag.state == "supported":
        return Verdict("image-on-os", "ok", f"{name} exists and is supported", tag.sources)
    if tag.state in ("deleted", "never"):
        fate = "was deleted" if tag.state == "deleted" else "never existed"
        return Verdict("image-on-os", "fail", f"{name} {fate}", tag.sources)
    if tag.state == "unsupported":
        return Verdict("image-on-os", "warn", f"{name} is no longer supported and may be deleted", tag.sources)
    return Verdict("image-on-os", "unknown", f"{name} exists, but its support status is not known", tag.sources)
