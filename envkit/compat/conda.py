"""What conda has of a framework: the builds of its project's channel, and those that conda-forge compiles."""

from __future__ import annotations

from envkit._startup.records import replace
from envkit.base.versions import Version
from envkit.tables.loader import read
from envkit.tables.pairs import CondaBuild, CondaCode
from envkit.tables.rows import FrameworkBuild


def compiled_by_conda_forge(framework: str, release: Version) -> list[CondaCode]:
    """The CUDA versions for which conda-forge is known to compile a release, oldest first."""
    rows = (row for row in read(CondaCode) if row.framework == framework)
    return [row for row in rows if row.first <= release and (row.last is None or release <= row.last)]


def channel_build(framework: str, release: Version, cuda: Version | None) -> CondaBuild | None:
    """The build of the project's own channel for a release and the CUDA that is wanted; None where none is known.

    Where the release is not known, it is the newest before it of its line.
    """
    rows = [row for row in read(CondaBuild) if row.framework == framework and row.version <= release]
    line = [row for row in rows if row.version.release(2) == release.release(2)]
    fitting = [row for row in line if cuda is not None and cuda.starts_with(row.cuda)]
    return max(fitting, key=lambda row: row.version, default=None)


def only_channels(framework: str, release: Version, cuda: Version | None) -> CondaBuild | None:
    """The build for a CUDA, of whichever release, that names as few channels as any; None where none is known."""
    rows = [row for row in read(CondaBuild) if row.framework == framework and cuda is not None]
    fitting = [row for row in rows if cuda is not None and cuda.starts_with(row.cuda)]
    return min(fitting, key=lambda row: (len(row.channels), abs(row.version.minor - release.minor)), default=None)


def last_of_channel(framework: str) -> Version | None:
    """The last release that the project's own channel has."""
    return max((row.version for row in read(CondaBuild) if row.framework == framework), default=None)


def of_conda_forge(build: FrameworkBuild) -> FrameworkBuild:
    """The build with the code that conda-forge's has, where that is known."""
    row = next((row for row in read(CondaCode) if (row.framework, row.cuda) == (build.framework, build.cuda)), None)
    if row is None:
        return build
    sources = tuple(dict.fromkeys((*build.sources, *row.sources)))
    return replace(build, sass=row.sass, ptx=row.ptx, min_compute_capability=None, sources=sources)
