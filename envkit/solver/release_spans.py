"""Releases of a framework in words: `2.12.0 to 2.14.1`, `2.2.0 and newer`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from envkit.base.platforms import WINDOWS, WSL
from envkit.base.sentences import series
from envkit.base.versions import Version
from envkit.compat.tables import Tables
from envkit.solver.knowledge import gpu_builds
from envkit.solver.request import Request
from envkit.tables.rows import FrameworkBuild, os_title

Holds = Callable[[FrameworkBuild], bool]
MOST = 4  # stretches of releases that a sentence names


def builds_here(framework: str, request: Request, tables: Tables) -> list[FrameworkBuild]:
    """The GPU builds of a framework for the request's system and processor, without withdrawn ones."""
    platform = "linux" if request.platform == WSL else request.platform
    return [
        build
        for build in gpu_builds(tables.builds(framework))
        if not (build.yanked or build.cpu_only)
        if platform in build.platforms and request.architecture in build.architectures
    ]


def releases_of(builds: Iterable[FrameworkBuild]) -> list[Version]:
    """The releases of builds, which are oldest first as in their table."""
    return list(dict.fromkeys(build.version for build in builds))


def first_and_last(among: Sequence[FrameworkBuild], holds: Holds) -> tuple[Version, Version] | None:
    """The first and the last release of which a build holds, which does not judge those in between; None for none."""
    first = next((build.version for build in among if holds(build)), None)
    return (first, next(build.version for build in reversed(among) if holds(build))) if first is not None else None


def spans(among: Sequence[FrameworkBuild], holds: Holds) -> list[tuple[Version, Version]]:
    """The stretches of releases of which a build holds: the first and last of each."""
    held = {build.version for build in among if holds(build)}
    found: list[tuple[Version, Version]] = []
    before: Version | None = None
    for version in releases_of(among):
        if version in held:
            joined = found and found[-1][1] == before
            found[-1:] = [(found[-1][0], version)] if joined else [*found[-1:], (version, version)]
        before = version
    return found


def spans_in_words(among: Sequence[FrameworkBuild], holds: Holds, newest: Version) -> str:
    """Those stretches in words, with `newest`, the framework's newest release; '' where there is none."""
    found = spans(among, holds)
    if len(found) > MOST:  # releases of several lines take turns
        return f"{_words(found[0][0], found[-1][1], newest)}, though not each of them"
    return ", ".join(_words(first, last, newest) for first, last in found)


def _words(first: Version, last: Version, newest: Version) -> str:
    if last == newest and first != last:
        return f"{first} and newer"
    return str(first) if first == last else f"{first} to {last}"


def listed(versions: Iterable[Version | None], most: int = 12) -> str:
    """Versions in words, each once: `11.8, 12.4, and 12.6`; '' for none."""
    known = sorted({one for one in versions if one is not None})[-most:]
    return series(known) if known else ""


def place_in_words(request: Request) -> str:
    """The system and processor where they are not the usual ones: ` on Windows`, ` on aarch64`; '' for others."""
    if request.platform == WINDOWS:
        return f" on {os_title(WINDOWS)}"
    return "" if request.architecture == Request().architecture else f" on {request.architecture}"
