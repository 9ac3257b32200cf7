"""What is known to stop the build of an image, as tables: Pythons without a package, old keys, archived systems."""

from __future__ import annotations

from functools import cache

from envkit._startup.records import record
from envkit.base.versions import Version, VersionSpec
from envkit.tables.loader import read, table


@table("image/managed_pythons.csv", "os_id")
@record
class ManagedPython:
    """A distribution that marks its Python as externally managed: pip refuses to install into it."""

    os_id: str
    sources: tuple[str, ...]


@table("image/compiled_packages.csv", "package")
@record
class CompiledPackage:
    """A package that pip builds with torch and the CUDA compiler, for want of a wheel on the default index."""

    package: str
    sources: tuple[str, ...]


@cache
def compiled_packages() -> dict[str, CompiledPackage]:
    """Such packages by their comparable names."""
    return {row.package: row for row in read(CompiledPackage)}


@table("image/apt_pythons.csv", "os_id", "repository")
@record
class AptPythons:
    """All Pythons that apt has of a distribution, or of a `repository` beside it that was emptied."""

    os_id: str
    repository: str | None
    pythons: tuple[Version, ...]
    sources: tuple[str, ...]


@table("image/rotated_keys.csv", "repository", "word", "versions")
@record
class RotatedKey:
    """Images with `word` in their tag that know only the key with which NVIDIA signed its packages until 2022-04-27."""

    repository: str
    word: str
    versions: str
    sources: tuple[str, ...]

    def holds(self, repository: str, tag: str) -> bool:
        """True for an image of these."""
        version = Version.find(tag)
        if version is None or repository != self.repository or self.word not in tag.split("-"):
            return False
        return VersionSpec.parse(self.versions).holds(version)


@table("image/archived_systems.csv", "word", "repositories")
@record
class ArchivedSystem:
    """A distribution whose packages have left its mirrors, by a word of a tag in these repositories (none: in any)."""

    word: str
    repositories: tuple[str, ...]
    title: str
    sources: tuple[str, ...]


@table("image/gone_downloads.csv", "address")
@record
class GoneDownload:
    """A part of the address of a file that is no longer there."""

    address: str
    title: str
    fix: str
    sources: tuple[str, ...]


@table("image/fault_lines.csv", "fault", place=("before", "after-from"))
@record
class FaultLine:
    """A line of a Dockerfile that takes a fault away: before its instruction, or below the FROM of its stage."""

    fault: str
    place: str
    line: str
    told: str
    sources: tuple[str, ...]


@table("image/fault_words.csv", "fault", "old")
@record
class FaultWords:
    """Words of a Dockerfile and those that take a fault away in their place."""

    fault: str
    old: str
    new: str
    told: str
    sources: tuple[str, ...]
