"""What conda has of a framework: the builds of its project's channel, and those that conda-forge compiles."""

from __future__ import annotations

from envkit.base.versions import Version
from envkit.tables.loader import read
from envkit.tables.pairs import CondaBuild, CondaCode


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


def last_of_channel(framework: str) -> Version | None:
    """The last release that the project's own channel has."""
    return max((row.version for row in read(CondaBuild) if row.framework == framework), default=None)
