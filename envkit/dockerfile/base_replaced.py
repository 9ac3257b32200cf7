"""Which packages make pip replace the framework that an image of its project comes with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.base.versions import Version, VersionSpec
from envkit.checks.containers import image_faults as faults
from envkit.checks.engine.findings import Finding, Remedy, Status
from envkit.compat.pairs import is_bounded, pair_agrees, required
from envkit.dockerfile.check_parts import finding, subject_of
from envkit.dockerfile.clashes import releases_of
from envkit.dockerfile.contents import Contents
from envkit.dockerfile.ground import Ground, Step
from envkit.dockerfile.newest_floors import has_floors
from envkit.dockerfile.packages import Package
from envkit.dockerfile.specifiers import Release, Wish, pinned_release
from envkit.dockerfile.stops_python import ELSEWHERE
from envkit.tables.loader import read
from envkit.tables.pairs import PackagePair, PrebuiltWheels
from envkit.tables.rows import FrameworkImage, framework_title

if TYPE_CHECKING:
    from envkit.tables import Matrix

# A pip of the image's own Python: one with a folder or a number may be another's.
_OWN_PIP = regex(r"(?:.* )?(?:python3? -m )?pip3?")
_NUMBERED = regex(r"\bpython\d\.\d")
_CONFINED = regex(r"PIP_(?:CONSTRAINT|NO_DEPS|TARGET|PREFIX|PYTHON)|VIRTUAL_ENV")
_APART = frozenset({"--no-deps", *ELSEWHERE})
_ADDRESS = "git+"  # of a project, which says nothing of the framework on purpose
_OF_ONE_RELEASE = regex(r"={2,3}[^,*]+")
_NO_RELEASE = VersionSpec((("<", Version.of(0)),))
_LAST_PATCH = 99  # beyond every patch of a release line
IN_EVERY_BASE = frozenset({"torchvision", "torchaudio"})
_WITH_CONSTRAINTS = "nvcr.io/nvidia/pytorch"  # they set PIP_CONSTRAINT: pip stops there, or goes on if that is unset


def base_replaced(made: Iterable[Ground], found: Contents, matrix: Matrix) -> Iterator[Finding]:
    """The first package of each stage that no release of the base's framework goes with.

    Silent where the file asks for the framework itself, or installs from a list that was not read: what the base
    brought may then be replaced on purpose. Beside projects by their addresses, a pinned release is certain.
    """
    asked = {normalized(one.name) for one in (*found.packages, *found.elsewhere)}
    for ground in made:
        own = ground.base.own
        if own is None or is_confined(ground) or any(_ADDRESS not in one.name for one in found.lists):
            continue
        names = packages_of(own, matrix)
        if not names & asked:
            yield from _first(ground, own, names, pinned=bool(found.lists))


def own_build_replaced(made: Iterable[Ground], found: Contents, matrix: Matrix) -> Iterator[Finding]:
    """The first release of the framework itself that is pinned over NVIDIA's own build, which no release is."""
    for ground in made:
        own = ground.base.own
        if own is None or not own.repository.startswith(_WITH_CONSTRAINTS) or found.index_set or is_confined(ground):
            continue
        names = packages_of(own, matrix)
        pinned = (
            one
            for step in ground.steps
            if step.command.decisive and goes_into_the_base(step)
            for one in step.packages
            if normalized(one.name) in names and one.wheel is None and pinned_release(one.spec) is not None
        )
        for package in pinned:
            told = f"whether the extensions in {ground.base.image} work with {package.asked} is not known"
            why = "they were compiled for NVIDIA's own build of PyTorch, which this replaces, where pip may"
            subject = subject_of(package.line, package.asked)
            yield finding(faults.REQUIREMENTS_CLASH, Status.UNKNOWN, f"{told}: {why}", subject, sources=own.sources)
            break


def wheel_over_own_build(made: Iterable[Ground], found: Contents) -> Iterator[Finding]:
    """The pinned packages whose setup downloads a wheel for a release of PyTorch, beside NVIDIA's own build."""
    fetching = {row.package: row for row in read(PrebuiltWheels) if row.forced_by}
    for ground in made:
        own = ground.base.own
        if own is None or not own.repository.startswith(_WITH_CONSTRAINTS) or found.index_set or is_confined(ground):
            continue
        for step in ground.steps:
            for one in step.packages if step.command.decisive and goes_into_the_base(step) else ():
                row = fetching.get(normalized(one.name))
                told = row is not None and _is_told(row.forced_by.partition("=")[0], ground, step)
                if row is None or told or one.wheel is not None or pinned_release(one.spec) is None:
                    continue
                yield finding(
                    faults.REQUIREMENTS_CLASH,
                    Status.UNKNOWN,
                    f"whether {one.asked} fits the PyTorch in {ground.base.image} is not known: its setup downloads a "
                    "wheel for a release of PyTorch where it finds one, and the image has NVIDIA's own build",
                    subject_of(one.line, one.asked),
                    impact="The import fails with an undefined symbol if it does not.",
                    remedy=Remedy(
                        f"Omit it where the image includes {one.name}, as NVIDIA's newer ones do, or compile it: "
                        f"{row.forced_by} pip install --no-build-isolation {one.asked}"
                    ),
                    sources=row.sources,
                )


def _is_told(variable: str, ground: Ground, step: Step) -> bool:
    return variable in ground.environment or any(variable in word for word in step.command.words)


def packages_of(own: FrameworkImage, matrix: Matrix) -> set[str]:
    """The packages of the framework that an image comes with."""
    return {name for row in matrix.frameworks if row.name == own.framework for name in row.packages}


def is_confined(ground: Ground) -> bool:
    """True where pip may install into another Python than the base's, or is held to versions."""
    return "python" in ground.tells or any(map(_CONFINED.fullmatch, ground.environment))


def _first(ground: Ground, own: FrameworkImage, names: set[str], *, pinned: bool) -> Iterator[Finding]:
    """The first such package; `pinned`: of those of one release, which no other package changes."""
    of_nvidia = own.repository.startswith(_WITH_CONSTRAINTS)
    if own.version is None and not of_nvidia:
        return
    pinned = pinned or own.version is None  # a range may hold a build whose release is not known
    if of_nvidia:  # no release of the index is NVIDIA's own build
        spec = _NO_RELEASE if own.version is None else _before(own.version)
        there = {name: (f"NVIDIA's own build of {name}", spec) for name in names}
    else:
        there = {name: (f"{name} {own.version}", VersionSpec.parse(f"=={own.version}")) for name in names}
    for step in ground.steps:
        if not goes_into_the_base(step):
            continue
        for package in step.packages:
            wanted = package.asked
            if pinned and not _OF_ONE_RELEASE.fullmatch(package.spec):
                continue
            releases = releases_of(package) if package.tool == "pip" else ()
            if not package.spec:  # pip takes the newest, where the base has none of that name
                name = normalized(package.name)
                releases = releases[-1:] if name not in IN_EVERY_BASE and not has_floors(name) else ()
            verdict = pair_agrees(_chosen(releases, there), wanted, there, where="in the base image")
            if verdict.status == "fail":
                yield finding(
                    faults.REQUIREMENTS_CLASH,
                    Status.WARN,
                    verdict.detail,
                    subject_of(package.line, wanted),
                    impact=f"pip replaces the {framework_title(own.framework)} in {ground.base.image}; what was built "
                    "for it may break.",
                    remedy=Remedy(
                        f"Use the {package.name} release that matches the framework in the base image, or start from "
                        "a different tag."
                    ),
                    sources=verdict.sources,
                )
                return


def _before(version: Version) -> VersionSpec:
    """The candidates of a release, of which NVIDIA's build is one: after all earlier releases, and before it."""
    parts = [*version.release(2).parts]
    last = max((at for at, part in enumerate(parts) if part), default=0)
    below = Version.of(*parts[:last], parts[last] - 1, _LAST_PATCH)
    return VersionSpec(((">", below), ("<", version)))


def _chosen(releases: tuple[PackagePair, ...], there: Mapping[str, object]) -> tuple[PackagePair, ...]:
    """Of releases that pip may take those that hold what is there, if any do: they are newer than those that do not."""
    holding = (row for row in releases if any(is_bounded(one.spec) for one in required(row) if one.package in there))
    return tuple(holding) or releases


def goes_into_the_base(step: Step) -> bool:
    """True for a command that certainly installs next to what the base has, dependencies included."""
    words = step.command.words
    if any(word.partition("=")[0] in _APART for word in words):
        return False
    callers = {one.caller for one in step.packages}
    return all(_OWN_PIP.fullmatch(caller) and not _NUMBERED.search(caller) for caller in callers)


def stays_in_base(package: Package, own: FrameworkImage) -> bool:
    """True for a requirement that the framework of the base meets: pip leaves it as it is."""
    if own.version is None or package.tool != "pip" or package.wheel is not None or package.places.upgrades:
        return False
    try:
        return Wish.parse(package.spec, package.tool).holds(Release(own.version))
    except ValueError:
        return False
