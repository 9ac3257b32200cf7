"""Which companions of torch, named without a version, bring a newer torch than the one that the file has pinned."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from envkit._startup.records import replace
from envkit.base.names import normalized
from envkit.base.versions import Version
from envkit.checks.containers import image_faults as faults
from envkit.checks.engine.findings import Finding, Remedy, Status
from envkit.compat.pairs import pairs_by_package, required
from envkit.dockerfile.check_parts import finding, subject_of
from envkit.dockerfile.contents import Contents
from envkit.dockerfile.framework_packages import wanted_of
from envkit.dockerfile.ground import Ground, Step
from envkit.dockerfile.packages import Package
from envkit.dockerfile.specifiers import pinned_release
from envkit.dockerfile.wanted import Problem, chosen_build
from envkit.tables.codes import limit
from envkit.tables.pairs import PackagePair

if TYPE_CHECKING:
    from envkit.tables import Matrix

_TORCH = "torch"
_COMPANIONS = ("torchvision", "xformers")  # each release is for one of torch
_LOOSE = "torchaudio"  # from 2.11 on it names no torch
_APART = frozenset({"--no-deps"})


def companions_newest(made: Iterable[Ground], found: Contents, matrix: Matrix) -> Iterator[Finding]:
    """The first such companion of each stage that pip installs after the pin, in another command."""
    for ground in made:
        if ground.base.own is None:
            yield from _first(ground, found, matrix)


def _first(ground: Ground, found: Contents, matrix: Matrix) -> Iterator[Finding]:
    pinned: Package | None = None
    there: set[str] = set()
    for step in ground.steps:
        names = {normalized(one.name): one for one in step.packages if one.tool == "pip"}
        for name in _COMPANIONS:
            one = names.get(name)
            if one is None or pinned is None or _TORCH in names or one.spec or one.held or one.wheel is not None:
                continue
            if (name in there and not one.places.upgrades) or not _APART.isdisjoint(step.command.words):
                continue
            newer = _newer(one, pinned, step, ground, found, matrix)
            if newer is not None:
                yield _told(one, pinned, newer)
                return
        torch = names.get(_TORCH)
        if torch is not None:
            pinned = torch if pinned_release(torch.spec) and torch.marker == "" else None
        loose = names.get(_LOOSE)
        if loose is not None and pinned is not None and _LOOSE not in there:
            yield from _beside(loose, pinned, ground.pythons.of(loose.caller, step.place))
        there.update(names)


def _beside(one: Package, pinned: Package, python: Version | None) -> Iterator[Finding]:
    """A companion whose newest release asks pip for no torch: it comes beside a torch that it is not for."""
    pin = pinned_release(pinned.spec)
    found = loose_release(one, pin, python) if pin is not None and python is not None and not one.marker else None
    if found is None:
        return
    newest, fitting, sources = found
    yield finding(
        faults.REQUIREMENTS_CLASH,
        Status.WARN,
        f"the newest {one.name}, {newest}, is for a newer torch than {pin}, but its metadata does not say so",
        subject_of(one.line, one.name),
        impact=f"pip installs it alongside torch {pin}, where its compiled part does not load.",
        remedy=Remedy(f"Pin the release for this torch: {one.name}=={fitting}."),
        sources=sources,
    )


def loose_release(one: Package, pin: str, python: Version | None) -> tuple[str, str, tuple[str, ...]] | None:
    """What pip takes of a companion that asks for no torch, the release for a pinned torch, and where that is from.

    None where they are the same, or where something else decides which release is taken.
    """
    places = one.places
    if normalized(one.name) != _LOOSE or one.tool != "pip" or one.spec or one.held or one.wheel is not None:
        return None
    if (places.index and not places.more) or (places.more and "uv" in one.caller):  # the index of a CUDA alone
        return None
    rows, torch = pairs_by_package()[_LOOSE], Version.parse(pin)
    newest, fitting = rows[-1], [row for row in rows if _is_for(row, torch)]
    too_old = python is not None and python.release(2) < limit("torchaudio-alone-python")
    if _is_for(newest, torch) or not fitting or too_old:
        return None
    return newest.version, fitting[-1].version, newest.sources


def _newer(
    one: Package, pinned: Package, step: Step, ground: Ground, found: Contents, matrix: Matrix
) -> PackagePair | None:
    """The newest release of a companion that pip takes there, where the pinned torch is not the one that it is for."""
    python = ground.pythons.of(one.caller, step.place)
    torch = replace(one, name=_TORCH, spec="", extras=())
    wanted = next(wanted_of(torch, python, "", matrix), None)
    if python is None or wanted is None or found.index_set:
        return None
    build = chosen_build(wanted, found, matrix)
    pin = pinned_release(pinned.spec)
    if isinstance(build, Problem) or pin is None:
        return None
    rows = [row for row in pairs_by_package().get(normalized(one.name), ()) if _is_for(row, build.version)]
    mine = Version.parse(pin)
    newest = rows[-1] if rows else None
    return newest if newest is not None and mine < build.version and not _is_for(newest, mine) else None


def _is_for(row: PackagePair, torch: Version) -> bool:
    return any(line.package == _TORCH and line.spec.holds(torch) for line in required(row))


def _told(one: Package, pinned: Package, newer: PackagePair) -> Finding:
    torch = next(line.line for line in required(newer) if line.package == _TORCH)
    return finding(
        faults.REQUIREMENTS_CLASH,
        Status.WARN,
        f"the newest {one.name}, {newer.version}, requires {torch} and replaces {pinned.name}{pinned.spec}",
        subject_of(one.line, one.name),
        impact="pip replaces the torch that was installed before with one that needs a newer CUDA and driver.",
        remedy=Remedy(f"Install {one.name} in the same command as torch, or pin the release that matches it."),
        sources=newer.sources,
    )
