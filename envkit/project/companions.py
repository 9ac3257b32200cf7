"""Judges the packages next to a framework: the GPUs and systems that they are made for, and the CUDA that they load."""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.records import replace
from envkit.base.names import normalized
from envkit.base.versions import Version, VersionSpec
from envkit.checks.containers import project_faults as faults
from envkit.checks.engine.findings import Finding, Remedy, Status
from envkit.compat.companion_builds import (
    companion_builds,
    companion_on_glibc,
    companion_on_platform,
    is_for_usual_torch,
)
from envkit.compat.companion_gpus import companion_on_gpu, first_to_need, no_release_runs
from envkit.compat.package_breaks import plain_name
from envkit.compat.pairs import pair_agrees, pairs_by_package, required
from envkit.compat.verdict import Verdict
from envkit.dockerfile.check_parts import finding
from envkit.dockerfile.clashes import releases_of, specs_of
from envkit.dockerfile.specifiers import is_bounded, pinned_release
from envkit.project.choose import Chosen
from envkit.project.companion_releases import loose_in
from envkit.project.framework import of_relation
from envkit.project.model import Item
from envkit.project.subject import subject_of
from envkit.solver.candidates import passing
from envkit.solver.not_covered import where_to_look
from envkit.solver.query import Query
from envkit.solver.request import FrameworkRequest
from envkit.tables.loader import read
from envkit.tables.pairs import PackageEnd, PackagePair
from envkit.tables.rows import FrameworkBuild, os_title
from envkit.tables.ways import OtherWay

_FRAMEWORK, _TORCH = "pytorch", "torch"


def companion_findings(have: Chosen, query: Query) -> Iterator[Finding]:
    """What the target rules out of the packages next to a framework, and those that load another CUDA than it."""
    for one in have.items:
        yield from _on_target(one, query)
    for wanted, build in have.meant:
        if build.framework == _FRAMEWORK and wanted.tool == "pip":
            yield from _for_another_cuda(build, have, query)


def alone_findings(have: Chosen) -> Iterator[Finding]:
    """The companions that are installed without regard to the framework, and those that no index has."""
    yield from _loose(have)
    yield from _ended(have)
    yield from _suffixes(have)


def with_ways(findings: tuple[Finding, ...], have: Chosen, query: Query) -> tuple[Finding, ...]:
    """The findings, with what else is known to work for a package that driver or GPUs rule out."""
    ways = {subject_of(one): found for one in have.items if (found := _ways(one, query))}
    return tuple([_with(one, ways.get(one.subject, ())) for one in findings])


def _with(one: Finding, ways: tuple[str, ...]) -> Finding:
    ruled_out = one.status is Status.FAIL and one.id in (faults.DRIVER_TOO_OLD.id, faults.GPU_WITHOUT_CODE.id)
    if not ways or not ruled_out or one.remedy is None:
        return one
    told = "; ".join(ways)
    general = one.remedy.advice == faults.GPU_WITHOUT_CODE.fix
    advice = f"For this GPU: {told}." if general else f"{one.remedy.advice} Or: {told}."
    return replace(one, remedy=replace(one.remedy, advice=advice))


def _ways(one: Item, query: Query) -> tuple[str, ...]:
    request, name = query.request, plain_name(normalized(one.package.name))
    newest = _release(one)
    if newest is None and (pin := pinned_release(one.package.spec)) is not None:
        newest = Version.find(pin)
    return tuple(
        row.way
        for row in read(OtherWay)
        if row.framework == name
        and request.platform in row.platforms
        and request.architecture in row.architectures
        and (newest is None or VersionSpec.parse(row.versions).holds(newest))
        and all(row.is_for(gpu.compute_capability) for gpu in request.gpus)
    )


def _release(one: Item) -> Version | None:
    """The newest release in the data that a requirement allows."""
    rows = releases_of(one.package)
    return Version.find(rows[-1].version) if rows else None


# ---- the packages by themselves


def _loose(have: Chosen) -> Iterator[Finding]:
    """The companions that an installer takes the newest of, whatever the pinned torch is."""
    for one in have.items:
        found = loose_in(one, have)
        if found is not None:
            newest, fitting, sources = found
            name = one.package.name
            title = f"the newest {name}, {newest}, is for a newer torch than the pinned one, but its metadata does not"
            yield finding(
                faults.REQUIREMENTS_CLASH,
                Status.FAIL,
                f"{title} say so",
                subject_of(one),
                impact="The installer takes it all the same, and its compiled part does not load.",
                remedy=Remedy(f"Pin the release for this torch: {name}=={fitting}."),
                sources=sources,
            )


def _ended(have: Chosen) -> Iterator[Finding]:
    """The packages that get no more releases, named without a bound: their last one is for other neighbors."""
    specs = specs_of(one.package for one in have.items)
    for one in have.items:
        name = normalized(one.package.name)
        row = next((row for row in read(PackageEnd) if row.package == name), None)
        rows = pairs_by_package().get(name, ()) if row is not None and one.package.tool == "pip" else ()
        if row is None or not rows or is_bounded(one.package.spec):
            continue
        verdict = pair_agrees(rows[-1:], one.package.asked, {key: spec for key, spec in specs.items() if key != name})
        if verdict.status == "fail" and verdict.relation == "pair-agrees":
            yield finding(
                faults.REQUIREMENTS_CLASH,
                Status.WARN,
                verdict.detail,
                subject_of(one),
                impact=f"{row.because}: the installer takes it, or a far older one.",
                remedy=Remedy(row.instead),
                sources=tuple(dict.fromkeys((*verdict.sources, *row.sources))),
            )


def _suffixes(have: Chosen) -> Iterator[Finding]:
    """The companions of a framework that are asked of the default index with the suffix of a build."""
    for one in have.items:
        package, places = one.package, one.package.places
        if package.tool != "pip" or "+" not in package.spec or normalized(package.name) not in pairs_by_package():
            continue
        told = normalized(package.name) == "torch" and "+cu" in package.spec  # by the choice of its build
        if package.wheel is None and not (places.index or places.more or told):
            title = f"the default index has no {package.name} with {package.spec[package.spec.index('+') :]}"
            remedy = Remedy("Specify the index that has such builds, or drop the suffix.")
            impact = "The installer finds no matching distribution."
            yield finding(faults.NOT_ON_INDEX, Status.FAIL, title, subject_of(one), impact=impact, remedy=remedy)


# ---- GPUs and systems


def _on_target(one: Item, query: Query) -> Iterator[Finding]:
    name, spec = normalized(one.package.name), one.package.spec
    against = companion_on_platform(name, spec, query.packages) if one.package.tool == "pip" else None
    gpus = (companion_on_gpu(name, spec, gpu.compute_capability, name=str(gpu)) for gpu in query.request.gpus)
    for verdict in (against, _on_glibc(one, query), *gpus):
        if verdict is not None:
            told = of_relation(verdict, subject_of(one))
            own = _on_newer_system if verdict.relation == "glibc-meets-build" else _remedy
            yield replace(told, remedy=own(one, query) or told.remedy)


def _on_glibc(one: Item, query: Query) -> Verdict | None:
    """Why the default index has no wheel for the system's glibc, where it is taken from there as a wheel."""
    package, glibc = one.package, query.glibc
    if package.tool != "pip" or package.wheel is not None or package.places.index or glibc is None:
        return None
    where = query.system.title if query.system is not None else "the target"
    return companion_on_glibc(normalized(package.name), package.spec.partition("+")[0], glibc, where)


def _on_newer_system(one: Item, query: Query) -> Remedy:
    """The remedy where the system's glibc is too old: what is next to an older release may need more than it has."""
    name = normalized(one.package.name)
    older = [row.version for row in pairs_by_package().get(name, ()) if _fits(row, query)]
    last = f"; the last release for this system is {name} {older[-1]}" if older else ""
    return Remedy(f"Use a newer system, or a container with one{last}.")


def _remedy(one: Item, query: Query) -> Remedy | None:
    """The nearest release that the target takes; that none at all does; None where neither is known."""
    name = normalized(one.package.name)
    rows = pairs_by_package().get(name, ())
    asked = releases_of(one.package)
    start = rows.index(asked[-1]) if asked else len(rows)
    fitting = [place for place, row in enumerate(rows) if _fits(row, query)]
    nearest = min(fitting, key=lambda place: (abs(place - start), place < start), default=None)
    if nearest is not None:
        return Remedy(f"Use {name}=={rows[nearest].version}.")
    if companion_on_platform(name, "", query.packages) is not None:
        instead = "Use WSL" if query.packages == "windows" else "Use a container"
        return Remedy(f"{instead}: no release of {name} is built for {query.packages}.")
    older = [row.versions for row in companion_builds(name, "") if query.packages in row.platforms]
    if older and companion_on_platform(name, one.package.spec, query.packages) is not None:
        instead = "Use Linux, or WSL" if query.packages == "windows" else "Use a container"
        return Remedy(f"{instead}: for {os_title(query.packages)}, there are packages of {name}{older[-1]} alone.")
    first = first_to_need(name, one.package.spec)
    if first is not None and not _ways(one, query):  # where another way is known, it says which older ones do
        return Remedy(f"Use a release of {name} before {first}, the first that does not support the GPU.")
    return None


def _fits(row: PackagePair, query: Query) -> bool:
    """Whether the target takes a release, and the torch that it requires."""
    spec = f"=={row.version}"
    if companion_on_platform(row.package, spec, query.packages) is not None:
        return False
    if query.glibc is not None and companion_on_glibc(row.package, spec, query.glibc, "") is not None:
        return False
    if no_release_runs(row.package, spec, (gpu.compute_capability for gpu in query.request.gpus)):
        return False
    torch = [line.spec for line in required(row) if line.package == _TORCH]
    return all(_has_torch(spec, query) for spec in torch)


def _has_torch(spec: VersionSpec, query: Query) -> bool:
    return any(build.on_pypi for build in passing(query, FrameworkRequest(_FRAMEWORK, spec)))


# ---- the CUDA that they load


def _for_another_cuda(build: FrameworkBuild, have: Chosen, query: Query) -> Iterator[Finding]:
    """The packages of the default index that are compiled for its build of torch, where another one is installed.

    They load the CUDA libraries of that build's major version, which this one does not provide.
    """
    usual = _usual(build, query)
    if usual is None or usual.cuda is None or build.cuda is None or usual.cuda.major == build.cuda.major:
        return
    for one in have.items:
        package, rows = one.package, releases_of(one.package)
        elsewhere = package.places.index or _other_places(package.places.more) or "+" in package.spec or package.wheel
        tied = rows and any(line.package == _TORCH and line.spec.exact for line in required(rows[-1]))
        usual_only = is_for_usual_torch(normalized(package.name), package.spec)
        if package.tool != "pip" or elsewhere or not tied or not usual_only:
            continue
        title = (
            f"{package.name}{package.spec} from the default index is compiled for CUDA {usual.cuda}, but torch "
            f"{build.version} is for CUDA {build.cuda}"
        )
        yield finding(
            faults.KNOWN_TO_BREAK,
            Status.FAIL,
            title,
            subject_of(one),
            impact=f"The import fails: it loads libcudart.so.{usual.cuda.major}.",
            remedy=Remedy(
                f"Use a {package.name} build for CUDA {build.cuda.major}{_where(normalized(package.name))}, or torch "
                f"from the default index{_needs_driver(usual, query)}."
            ),
            sources=rows[-1].sources,
        )


def _needs_driver(build: FrameworkBuild, query: Query) -> str:
    """The driver that a build needs, in parentheses; '' where it is not known."""
    least = query.knowledge.floors(build.cuda, query.request.platform).lowest if build.cuda is not None else None
    return f" (driver {least} or newer)" if least is not None else ""


def _where(package: str) -> str:
    """Where a project has builds of its package for other CUDA versions, in parentheses; '' where none is known."""
    return f" ({told})" if (told := where_to_look(package).rstrip(".").partition(": ")[2]) else ""


def _usual(build: FrameworkBuild, query: Query) -> FrameworkBuild | None:
    """The default index's build of the same release."""
    return next(
        (
            row
            for row in query.knowledge.tables.builds(build.framework)
            if row.on_pypi
            and row.version == build.version
            and query.packages in row.platforms
            and query.request.architecture in row.architectures
        ),
        None,
    )


def _other_places(more: str) -> bool:
    """Whether an index next to the default one may have packages that PyTorch's own does not."""
    return any("download.pytorch.org" not in place for place in more.split())
