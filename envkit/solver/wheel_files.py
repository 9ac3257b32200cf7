"""Builds that pip has to be given by their file, because indexes hold other builds of the very same version."""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.base.platforms import WINDOWS
from envkit.base.settings import Mirrors
from envkit.base.versions import Version, VersionSpec
from envkit.tables.images import MissingCompanions, WheelFile, WheelTag
from envkit.tables.loader import read
from envkit.tables.rows import FrameworkBuild

_PINNED = regex(r"([A-Za-z0-9._-]+)==([0-9][0-9.]*)")


def wheel_tag(python: Version | None) -> str | None:
    """The tag in the name of a wheel for that Python, or None where it is not known to envkit."""
    return next((row.tag for row in read(WheelTag) if python is not None and row.python == python.release(2)), None)


def by_file(build: FrameworkBuild, python: Version | None) -> bool:
    """True for a build that is on a page of its own CUDA under a version that the default index has as well.

    pip takes the index's build of two with one version: its platform, manylinux, ranks before the page's.
    """
    return bool(_files(build)) and wheel_tag(python) is not None


def requirement_lines(
    build: FrameworkBuild, python: Version | None, architecture: str, mirrors: Mirrors
) -> Iterator[str]:
    """The build's requirement and those of its companions, with the file's address where pip must not choose."""
    names = _files(build) if by_file(build, python) else {}
    for line in (build.package or "", *companions_for(build, python)):
        pinned = _PINNED.fullmatch(line)
        if pinned is None or build.find_links is None or not _listed(pinned.group(1), pinned.group(2), names):
            yield line
            continue
        name, version = pinned.groups()
        folder = mirrors.rewrite(build.find_links).rpartition("/")[0]
        yield f"{name} @ {folder}/{name}-{version}-{wheel_tag(python)}-{_platform_of(build, architecture)}.whl"


def _platform_of(build: FrameworkBuild, architecture: str) -> str:
    """The platform in the name of a build's wheel; wheels for Windows are rows of their own."""
    return "win_amd64" if build.platforms == (WINDOWS,) else f"linux_{architecture}"


def companions_for(build: FrameworkBuild, python: Version | None) -> tuple[str, ...]:
    """The companions that there are for that Python: the build's own index may lack those of a new one."""
    lacking = python is not None and any(
        row.framework == build.framework and row.version == build.version and python.release(2) in row.pythons
        for row in read(MissingCompanions)
    )
    return () if lacking and build.on_pypi else build.companions


def _files(build: FrameworkBuild) -> dict[str, str]:
    """The distributions that are as files next to the build's page, each with its versions; {} for other builds."""
    rows = {
        row.distribution: row.versions
        for row in read(WheelFile)
        if row.framework == build.framework and (build.find_links or "").endswith(f"/{row.page}")
    }
    pinned = _PINNED.fullmatch(build.package or "")
    return rows if pinned and _listed(pinned.group(1), pinned.group(2), rows) else {}


def _listed(name: str, version: str, names: dict[str, str]) -> bool:
    return name in names and VersionSpec.parse(names[name]).holds(Version.parse(version))
