"""The versions of a project's framework that its requirement takes and that go with the packages next to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from envkit._startup.records import replace
from envkit._startup.regex import regex
from envkit.base.errors import RequestError
from envkit.base.names import normalized
from envkit.base.versions import Version
from envkit.compat.numpy_bound import numpy_meets
from envkit.compat.package_breaks import There, package_breaks
from envkit.compat.packages import requirement_of
from envkit.compat.pairs import pairs_by_package, required
from envkit.dockerfile.clashes import TIED_TO_TORCH, releases_of
from envkit.dockerfile.specifiers import Release, Wish
from envkit.project.companion_bounds import companion_rows
from envkit.project.model import Item
from envkit.project.planned import is_for_cpu
from envkit.tables.program_stops import NewerCompanion
from envkit.tables.rows import Framework, FrameworkBuild

if TYPE_CHECKING:
    from envkit.tables import Matrix

_TORCH = "torch"
_SUFFIX = regex(r"\+[\w.]+")


def versions_asked(framework: Framework, item: Item, matrix: Matrix) -> list[Version]:
    """The versions that a requirement allows, oldest first. Raises RequestError where none is known."""
    every = _every(framework, matrix)
    if not item.package.spec:
        return every
    try:
        wish = Wish.parse(_SUFFIX.sub("", item.package.spec), item.package.tool)
        known = [version for version in every if wish.holds(Release.parse(str(version)))]
    except ValueError:
        known = []
    if not known and is_for_cpu(item):  # the builds for GPUs may be of another release of the line
        line = Version.find(item.package.spec)
        known = [version for version in every if line is not None and version.release(2) == line.release(2)]
    if not known:
        raise RequestError(
            f"--project: line {item.package.line} asks for {item.written}, which is not a version that envkit knows.",
            f"envkit matrix {framework.name} lists the known ones; --framework {framework.name}==VERSION chooses one.",
        )
    return known


def in_words(framework: Framework, item: Item | None, beside: Sequence[Item], matrix: Matrix) -> str:
    """`pytorch==2.6.0`, or the versions from the oldest to the newest that all of the project's packages take."""
    every, known = _every(framework, matrix), _fitting(framework, item, beside, matrix)
    if len(known) == 1:
        return f"{framework.name}=={known[0]}"
    if (item is None or not item.package.spec) and known == every:
        return framework.name
    return f"{framework.name}>={known[0]},<={known[-1]}"


def cuda_beside(framework: Framework, item: Item | None, beside: Sequence[Item], matrix: Matrix) -> str | None:
    """The CUDA of the newest such version that the packages next to it take, where they do not take each of them."""
    newest = _fitting(framework, item, beside, matrix)[-1]
    builds = [build for build in matrix.builds(framework.name) if build.version == newest and build.cuda is not None]
    fitting = [build for build in builds if _fits(build, beside, matrix)]
    if not fitting or len(fitting) == len(builds):
        return None
    return str(max(build.cuda for build in fitting if build.cuda is not None).release(2))


def release_beside(item: Item, framework: Framework, asked: Item | None, matrix: Matrix) -> Item:
    """A package that is made for one release of a framework, in the newest release for one that the project takes."""
    own = {normalized(name) for name in framework.packages}
    versions = versions_asked(framework, asked, matrix) if asked is not None else _every(framework, matrix)
    for row in reversed(pairs_by_package().get(normalized(item.package.name), ())):
        lines = [line for line in required(row) if line.package in own]
        if lines and any(all(line.spec.holds(version) for line in lines) for version in versions):
            return replace(item, package=replace(item.package, spec=f"=={row.version}"))
    return item


def _every(framework: Framework, matrix: Matrix) -> list[Version]:
    return sorted({build.version for build in matrix.builds(framework.name)})


def _fitting(framework: Framework, item: Item | None, beside: Sequence[Item], matrix: Matrix) -> list[Version]:
    """The newest versions that the requirement and the packages next to it take; the requirement's where none is."""
    known = versions_asked(framework, item, matrix) if item is not None else _every(framework, matrix)
    fitting = [version for version in known if _goes_with(framework, version, beside, matrix)]
    return _newest_run(fitting, known) or known


def _newest_run(fitting: list[Version], known: list[Version]) -> list[Version]:
    """The newest versions that no other one interrupts: an option can say such a range alone."""
    run: list[Version] = []
    for version in reversed(known):
        if version in fitting:
            run.append(version)
        elif run:
            break
    return run[::-1]


def _goes_with(framework: Framework, version: Version, beside: Sequence[Item], matrix: Matrix) -> bool:
    builds = [build for build in matrix.builds(framework.name) if build.version == version and not build.cpu_only]
    return _is_taken(framework, version, beside) and any(_fits(build, beside, matrix) for build in builds)


def _is_taken(framework: Framework, version: Version, beside: Iterable[Item]) -> bool:
    """Whether each package next to it has a release that takes the version, as their metadata say."""
    own = {normalized(name) for name in framework.packages}
    for item in beside:
        rows = releases_of(item.package) if item.package.tool == "pip" and item.package.spec else ()
        lines = [[line for line in required(row) if line.package in own] for row in rows]
        if lines and not any(all(line.spec.holds(version) for line in ones) for ones in lines):
            return False
    return True


def _fits(build: FrameworkBuild, beside: Iterable[Item], matrix: Matrix) -> bool:
    """Whether nothing next to a build is known to break, and its NumPy is one that the project takes."""
    there = dict(_there(build))
    for item in beside:
        name, spec = normalized(item.package.name), _SUFFIX.sub("", item.package.spec)
        if item.package.tool != "pip" or not spec:
            continue
        if name == "numpy":
            verdict = numpy_meets(build, spec, None, (matrix.source(key).title for key in build.sources))
            if verdict is not None and verdict.status == "fail":
                return False
        elif next(package_breaks(name, spec, there), None) is not None:
            return False
    return not any(_is_outgrown(row, there) for item in beside for row in companion_rows(item))


def _is_outgrown(row: NewerCompanion, there: Mapping[str, There]) -> bool:
    """Whether a build brings a release of a companion that does not suit a package."""
    release = there[row.companion][1] if row.companion in there else None
    if not isinstance(release, Version):  # pip takes the release of that torch, which is not on record
        return row.companion in TIED_TO_TORCH and _TORCH in there
    return (row.since is not None and release >= row.since) or (row.below is not None and release < row.below)


def _there(build: FrameworkBuild) -> Iterator[tuple[str, There]]:
    """What a build puts into an environment: itself, its companions, and its CUDA."""
    for line in (build.package or "", *build.companions):
        found = requirement_of(line)
        exact = found.spec.exact if found is not None else None
        if found is not None and exact is not None:
            yield found.package, (line, exact)
    if build.cuda is not None:
        yield "cuda", (f"CUDA {build.cuda}", build.cuda)
