"""The builds of a framework that run on a target, nearest first to what a file asks for."""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.records import replace
from envkit.base.platforms import JETSON
from envkit.base.versions import Version
from envkit.dockerfile.framework_packages import Wanted
from envkit.dockerfile.specifiers import Wish, package_release
from envkit.dockerfile.wanted import Problem
from envkit.solver.candidates import LEVEL_ORDER, passing
from envkit.solver.jetson import as_server
from envkit.solver.query import Query
from envkit.solver.request import FrameworkRequest
from envkit.tables.rows import FrameworkBuild

Order = tuple[Version, int]


def fitting(wanted: Wanted, build: FrameworkBuild | Problem, query: Query) -> list[FrameworkBuild]:
    """The builds of pip that keep every constraint: those that the requirement takes first, then by release.

    Of one release those come first whose CUDA the file names, then those of the index that it looks at (PyTorch's own,
    or the default one), then those that the driver runs natively, the newest CUDA first.
    """
    usable = list(_usable(wanted, query))
    wish = _wish(wanted)
    asked = _asked(wanted, build, wish, usable)
    releases = sorted({package_release(one).order[0] for one in usable} | ({asked[0]} if asked else set()))
    places = {release: place for place, release in enumerate(releases)}
    start = places[asked[0]] if asked else len(releases)

    def order(one: FrameworkBuild) -> tuple[object, ...]:
        place = places[package_release(one).order[0]]
        taken = wish is not None and wish.holds(package_release(one))
        other_place = one.on_pypi if wanted.variant else not one.on_pypi
        named = _named_by(wanted, one)
        level = LEVEL_ORDER[query.level(one.cuda) if one.cuda is not None else None]
        newest = tuple(-part for part in one.cuda.parts) if one.cuda is not None else ()
        return (not taken, abs(place - start), place < start, not named, other_place, level, newest)

    return sorted(usable, key=order)


def _named_by(wanted: Wanted, build: FrameworkBuild) -> bool:
    """Whether a requirement names the CUDA of a build, as torch==2.6.0+cu124 does."""
    place, package = build.index_url or "", build.package or ""
    return bool(wanted.variant) and (place.endswith(f"/{wanted.variant}") or package.endswith(f"+{wanted.variant}"))


def _usable(wanted: Wanted, query: Query) -> Iterator[FrameworkBuild]:
    """The builds that may take the place of the wanted one; one that is named by a suffix, from the index that has it.

    The tables hold a build that the default index has too as that one's. A Jetson takes none of them: the wheels for
    Arm are made for servers.
    """
    if query.request.platform == JETSON and as_server(query.request) is None:
        return
    rows = query.knowledge.tables.builds(wanted.framework) if wanted.suffix else ()
    places = {row.cuda: row.index_url for row in rows if row.index_url}
    for build in passing(query, FrameworkRequest(wanted.framework)):
        if build.package and build.cuda is not None and not (build.cpu_only or build.yanked):
            yield build
            place = places.get(build.cuda)
            if place and build.on_pypi:
                yield replace(build, index_url=place, on_pypi=False)


def _wish(wanted: Wanted) -> Wish | None:
    try:
        return Wish.parse(wanted.spec, wanted.tool)
    except ValueError:
        return None


def _asked(
    wanted: Wanted, build: FrameworkBuild | Problem, wish: Wish | None, usable: list[FrameworkBuild]
) -> Order | None:
    """The release that the file gets, or would get if it were there."""
    if isinstance(build, FrameworkBuild):
        return package_release(build).order
    return wish.exact.order if wish is not None and wish.exact is not None else None
