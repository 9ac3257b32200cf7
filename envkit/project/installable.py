"""Judges whether the packages next to a framework can be installed on the target, and what breaks next to another."""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.records import replace
from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.base.platforms import WINDOWS
from envkit.base.sentences import series
from envkit.base.versions import VersionSpec
from envkit.checks.containers import project_faults as faults
from envkit.checks.engine.findings import Finding, Remedy, Status
from envkit.compat.package_breaks import There, package_breaks, plain_name
from envkit.compat.package_wheels import (
    EVERY,
    has_wheel,
    package_has_wheel,
    place_of,
    pythons_at,
    pythons_listed,
    wheels_of,
)
from envkit.compat.packages import lies_in, pip_spec, requirement_of
from envkit.compat.pairs import newest_beside, pairs_by_package
from envkit.compat.prebuilt_wheels import prebuilt_sources
from envkit.compat.pythons import has_python
from envkit.compat.software import some_version_meets
from envkit.compat.verdict import Verdict
from envkit.dockerfile.check_parts import finding
from envkit.dockerfile.clashes import specs_of
from envkit.dockerfile.framework_packages import Wanted
from envkit.dockerfile.packages import Places
from envkit.project.choose import Chosen
from envkit.project.framework import of_relation
from envkit.project.model import Item
from envkit.project.places import is_pytorch
from envkit.project.prebuilt import (
    comes_prebuilt,
    compiling_remedy,
    list_findings,
    listed_wheels,
    no_list_findings,
    prebuilt_findings,
    prebuilt_remedy,
    torch_of,
)
from envkit.project.subject import subject_of
from envkit.solver.companion_facts import wheel_facts
from envkit.solver.not_covered import is_compiled
from envkit.solver.query import Query
from envkit.solver.software_notes import beside_of, notes_of
from envkit.tables.loader import read
from envkit.tables.pairs import MisleadingPackage, PackageEnd, PackageWheels
from envkit.tables.rows import FrameworkBuild

_CUDA_OF = "pytorch"  # the packages load the CUDA of its build
_ALIKE = ("torchvision", "torchaudio", "torchtext")  # PyTorch's index has them for the Pythons of the default index
_STAGE = regex(r"\+|\d(?:a|b|rc|\.?dev)\d")  # of what the rows leave out: builds of other indexes, pre-releases
_AT_PYTORCH = ("torch", "triton", "xformers", "vllm", "flashinfer")


def installable_findings(have: Chosen, query: Query) -> Iterator[Finding]:
    """The packages that the default index has no wheel of for the target, and those that break next to others."""
    for one in have.items:
        if one.package.tool == "pip" and one.package.wheel is None:
            yield from _wheel(one, have, query)
            yield from _name(one, have, query)
            yield from _end(one)
            yield from _absent(one, query)
    yield from prebuilt_findings(have, query)
    yield from list_findings(have)
    yield from no_list_findings(have)
    for one, verdict, instead in _breaks(have, _beside(have) | _on_windows(have, query)):
        yield finding(
            faults.KNOWN_TO_BREAK,
            Status.FAIL,
            verdict.detail,
            subject_of(one),
            impact="The installer accepts them, but the build, the import, or the first use fails.",
            remedy=Remedy(instead),
            sources=verdict.sources,
        )


def goes_with_the_rest(wanted: Wanted, build: FrameworkBuild, have: Chosen) -> bool:
    """Whether nothing in the file is known to break next to another build of one of its frameworks."""
    beside = _beside(have) | {plain_name(wanted.package): (wanted.package, build.version)}
    if build.cuda is not None and build.framework == _CUDA_OF:
        beside["cuda"] = f"CUDA {build.cuda}", build.cuda
    return next(_breaks(have, beside), None) is None


def _breaks(have: Chosen, beside: dict[str, There]) -> Iterator[tuple[Item, Verdict, str]]:
    for one in have.items:
        if one.package.tool == "pip":
            spec = one.package.spec.partition("+")[0]
            name = normalized(one.package.name)
            # what an extra lacks for a Python is said of the framework's build, which has none for it
            elsewhere = name in _without_python(have) or _is_elsewhere(one.package.places, name)
            extras = () if elsewhere else one.package.extras
            for wanted in (name, *(f"{name}[{extra}]" for extra in extras)):
                for verdict, instead in package_breaks(wanted, spec, beside):
                    yield one, verdict, instead


def _without_python(have: Chosen) -> set[str]:
    """The packages whose builds have none for the Python of the file."""
    python = have.python
    return {wanted.package for wanted, build in have.meant if python is not None and has_python(build, python) is False}


def _name(one: Item, have: Chosen, query: Query) -> Iterator[Finding]:
    """That the default index has something else under a name, where no other place is named for it."""
    name = normalized(one.package.name)
    row = next((row for row in read(MisleadingPackage) if row.package == name), None)
    if row is not None and not _is_elsewhere(one.package.places, name):
        impact = "The installer fails, or installs something else."
        remedy = prebuilt_remedy(name, one.package.spec.partition("+")[0], have, query) or Remedy(row.instead)
        yield finding(
            faults.NOT_ON_INDEX,
            Status.FAIL,
            row.because,
            subject_of(one),
            impact=impact,
            remedy=remedy,
            sources=row.sources,
        )


def _end(one: Item) -> Iterator[Finding]:
    """That every release that is asked for would be after the last one of its name."""
    name, wanted = normalized(one.package.name), requirement_of(one.package.name + one.package.spec)
    row = next((row for row in read(PackageEnd) if row.package == name), None)
    later = VersionSpec.parse(f">={row.last.major}.{row.last.minor + 1}") if row is not None else None
    if row is None or wanted is None or later is None or not lies_in(wanted.spec, later):
        return
    yield finding(
        faults.NOT_ON_INDEX,
        Status.FAIL,
        f"there is no {name}{one.package.spec}: {row.because}",
        subject_of(one),
        impact="The installer finds no matching distribution.",
        remedy=Remedy(row.instead),
        sources=row.sources,
    )


def _absent(one: Item, query: Query) -> Iterator[Finding]:
    """That every release which is asked for would lie between two of the index: its releases are known one by one."""
    name, wanted = normalized(one.package.name), requirement_of(one.package.name + one.package.spec)
    rows = wheels_of(name) if wanted is not None else ()
    known = pip_spec(f">{_first(rows[0])},<{_last(rows[-1])}") if len(rows) > 1 else None
    if wanted is None or known is None or not lies_in(wanted.spec, known) or _is_elsewhere(one.package.places, name):
        return
    if not some_version_meets((wanted.spec,)):  # another finding tells that
        return
    if _STAGE.search(one.package.spec) or wheels_of(name, one.package.spec):
        return
    before = [row for row in rows if some_version_meets((wanted.spec, pip_spec(f">{_last(row)}")))][-1]
    after = rows[rows.index(before) + 1]
    place = place_of(query.packages, query.request.architecture)
    near = [(_last(before), before), (_first(after), after)]
    yield finding(
        faults.NOT_ON_INDEX,
        Status.FAIL,
        f"the default index has no {name} {one.package.spec.removeprefix('==')}",
        subject_of(one),
        impact="The installer finds no matching distribution.",
        remedy=Remedy(f"Use {series((f'{name}=={release}{_for(row, place)}' for release, row in near), 'or')}."),
        sources=before.sources,
    )


def _for(row: PackageWheels, place: str) -> str:
    """The Pythons that a release has wheels for, in parentheses; '' where that is not told."""
    pythons = [one.replace("+", " and newer") for one in pythons_at(row, place)]
    return f" (Python {series(pythons)})" if pythons and pythons != [EVERY] else ""


def _is_elsewhere(places: Places, name: str, none_here: bool = False) -> bool:
    """Whether another place than the default index may have a package; PyTorch's own has what goes with PyTorch.

    `none_here`: no release of it on the default index is for the system, so PyTorch's own index has none either.
    """
    if places.index and not (none_here and is_pytorch(places.index)):
        return True
    others = [place for place in places.more.split() if not is_pytorch(place)]
    at_pytorch = name.startswith(_AT_PYTORCH) and not prebuilt_sources(name, "")  # those have lists of their own
    return bool(others) or (bool(places.more) and at_pytorch and not none_here)


def _wheel(one: Item, have: Chosen, query: Query) -> Iterator[Finding]:
    package, request = one.package, query.request
    name, spec = normalized(package.name), package.spec.partition("+")[0]
    place = place_of(query.packages, request.architecture)
    none_here = bool(wheels_of(name)) and not any(pythons_at(row, place) or row.source for row in wheels_of(name))
    listed = listed_wheels(one) and not comes_prebuilt(one, have)
    elsewhere = _is_elsewhere(package.places, name, none_here) and not listed
    if elsewhere and not (name in _ALIKE and is_pytorch(f"{package.places.index} {package.places.more}")):
        return
    verdict = package_has_wheel(name, spec, query.packages, request.architecture, have.python)
    if verdict is None or (elsewhere and verdict.relation != "python-has-wheel"):
        return
    told = of_relation(verdict, subject_of(one))
    if verdict.relation == "package-compiled":
        known = prebuilt_remedy(name, spec, have, query) or compiling_remedy(name, spec, have, query)
        places = prebuilt_sources(name, spec) if known is not None else ()
        known = known or _wheels_elsewhere(name, have, query)
        title = f"Not checked: {told.title}{' and nvcc' if is_compiled(name) else ''}"
        told = replace(told, title=title, remedy=known or told.remedy, sources=(*told.sources, *places))
    if verdict.status != "fail" and verdict.relation != "platform":
        yield told
        return
    remedy = prebuilt_remedy(name, spec, have, query) if verdict.relation == "platform" else None
    yield replace(told, remedy=remedy or _remedy(name, spec, verdict, have, query))


def _wheels_elsewhere(name: str, have: Chosen, query: Query) -> Remedy | None:
    """The releases with a wheel for the target, where the one that is asked for has none; None where none has."""
    facts = wheel_facts(name, query.packages, query.request.architecture, have.python)
    return next((Remedy(f"There are others: {told}.") for told in facts if " in these releases: " in told), None)


def _remedy(name: str, spec: str, verdict: Verdict, have: Chosen, query: Query) -> Remedy:
    """The newest releases that have a wheel for the target, the Pythons of the one asked for, or another system."""
    architecture = query.request.architecture
    place = place_of(query.packages, architecture)
    fitting = [row for row in wheels_of(name) if has_wheel(row, query.packages, architecture, have.python)]
    ways = []
    if verdict.relation == "python-has-wheel":
        pythons = pythons_listed(wheels_of(name, spec), place)
        ways += [f"use Python {pythons}"] if pythons else []
    if fitting:
        ways.append(
            f"use {name} {_last(fitting[-1])}, the newest with a wheel for the target, and matching releases of the "
            "rest"
        )
    else:
        last = next((row for row in reversed(wheels_of(name)) if pythons_at(row, place)), None)
        ways += [*_port(name, have), "use WSL"] if query.packages == WINDOWS else []
        if last is not None and verdict.relation == "platform":
            pythons = ", ".join(pythons_at(last, place))
            what = f"the last with wheels for it (Python {pythons}), and matching releases of the rest"
            ways.append(f"use {name} {_last(last)}, {what}")
    if not fitting and query.packages == WINDOWS:
        ways.append(f"leave it out on Windows ({name}{spec}; sys_platform != 'win32')")
    if not ways and verdict.relation == "platform":
        notes = notes_of(name, spec, beside_of(query.request, torch_of(have)[0]))
        ways += [next(notes, f"no release of {name} has packages for that system: compile it there")]
    return Remedy(_sentence(", or ".join(ways))) if ways else Remedy(faults.SYSTEM_TOO_OLD.fix)


def _port(name: str, have: Chosen) -> Iterator[str]:
    """The release of a package for Windows alone that is made for the file's PyTorch."""
    port, (torch, _) = f"{name}-windows", torch_of(have)
    beside = {"torch": (f"torch=={torch}", VersionSpec.parse(f"=={torch}"))} if torch is not None else {}
    found = newest_beside(pairs_by_package().get(port, ()), beside)
    if found:
        yield f"use {port}=={found}"


def _last(row: PackageWheels) -> str:
    """The last release of a span such as >=0.21,<=0.23."""
    return row.versions.rpartition(",")[2].lstrip("<=")


def _first(row: PackageWheels) -> str:
    """The first release of a span."""
    return row.versions.partition(",")[0].lstrip(">=")


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _on_windows(have: Chosen, query: Query) -> dict[str, There]:
    """The file's PyTorch and its CUDA under the names that rows have for what Windows alone lacks."""
    here = have.meant if query.packages == WINDOWS else ()
    build = next((build for _, build in here if build.framework == _CUDA_OF and not build.cpu_only), None)
    found = {"torch": build.version, "cuda": build.cuda} if build is not None else {}
    titles = {"torch": "torch", "cuda": "CUDA"}
    return {
        f"{name}-on-windows": (f"{titles[name]} {version} on Windows", version)
        for name, version in found.items()
        if version is not None
    }


def _beside(have: Chosen) -> dict[str, There]:
    """What the file installs: by its build where that is known, otherwise as it is asked for."""
    found: dict[str, There] = dict(specs_of(one.package for one in have.items))
    for wanted, build in have.meant:
        found[plain_name(wanted.package)] = f"{wanted.package} {build.version}", build.version
        if build.framework == _CUDA_OF and build.cuda is not None and not build.cpu_only:
            found["cuda"] = f"CUDA {build.cuda}", build.cuda
    if have.python is not None:
        found["python"] = f"Python {have.python}", have.python
    return found
