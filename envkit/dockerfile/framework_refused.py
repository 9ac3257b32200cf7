"""Which packages, in their newest release, do not use the framework that is there, though pip lets them stand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from envkit._startup.records import record, replace
from envkit.base.names import normalized
from envkit.base.versions import Version, VersionSpec
from envkit.checks.containers import image_faults as faults
from envkit.checks.engine.findings import Finding
from envkit.compat.pairs import pair_agrees, pairs_by_package, required
from envkit.dockerfile.base_replaced import IN_EVERY_BASE, goes_into_the_base, is_confined, stays_in_base
from envkit.dockerfile.check_parts import package_subject, stop
from envkit.dockerfile.clashes import releases_of
from envkit.dockerfile.ground import Ground, Step
from envkit.dockerfile.least_python import python_for
from envkit.dockerfile.newest_floors import newest_floor
from envkit.dockerfile.packages import Package
from envkit.dockerfile.specifiers import is_bounded, pinned_release
from envkit.dockerfile.stops_releases import elsewhere
from envkit.tables.known_images import PYTORCH_REPOSITORY
from envkit.tables.loader import read
from envkit.tables.pairs import PackagePair
from envkit.tables.rows import FrameworkBuild, FrameworkImage
from envkit.tables.source_stops import FrameworkRefusal

_TORCH = "torch"
_TENSORFLOW = "tensorflow"
_OF_NVIDIA = "nvcr.io/nvidia/pytorch"
_COMPANIONS = frozenset({"torchaudio", "torchvision", "xformers"})


@record
class _There:
    """The framework that is there: its release, and what tells it."""

    version: Version
    source: str
    candidate: bool = False  # of that release, as in NVIDIA's own images

    def is_before(self, floor: Version) -> bool:
        """Whether a package that wants this release or a later one refuses it."""
        return self.version < floor or (self.candidate and self.version.starts_with(floor))


def framework_refused(ground: Ground) -> Iterator[Finding]:
    """The first such package of a stage, where nothing may bring a newer framework before or after."""
    for framework, there in ((_TORCH, _there(ground)), (_TENSORFLOW, _tensorflow(ground))):
        if there is not None and not elsewhere(ground) and not _raised(ground, framework, there):
            yield from _first(ground, framework, there)


def _first(ground: Ground, framework: str, there: _There) -> Iterator[Finding]:
    bounded = ground.bounded
    for step in ground.steps:
        found = [(package, _row(package, framework, step, ground, bounded)) for package in step.packages]
        found.sort(key=lambda pair: pair[1] is not None and pair[1].through is not None)  # what is named itself first
        for package, row in found:
            if row is not None and there.is_before(row.floor):
                name = row.through or package.name
                yield stop(
                    faults.REQUIREMENTS_CLASH,
                    f"the newest {name} does not support {row.framework} before {row.floor}, and {there.source}",
                    package_subject(package),
                    impact=_IMPACTS[framework].format(name),
                    fix=_remedy(name, row, there),
                    sources=row.sources,
                )
                return


def _remedy(name: str, row: FrameworkRefusal, there: _There) -> str:
    """The bound below the release that wants more, where what is before that works with the framework that is there."""
    own = [one for one in read(FrameworkRefusal) if (one.package, one.framework) == (name, row.framework)]
    since = next((one.since for one in own if one.floor == row.floor), None)
    before = [one.floor for one in own if one.floor < row.floor]
    if since is not None and before and not there.is_before(max(before)):
        return f"Add '{name}<{since}', or use a newer {row.framework}."
    return f"Pin a {name} release from the time of that {row.framework} release, or use a newer {row.framework}."


_IMPACTS = {
    _TORCH: "{} continues as if torch were not installed: no model loads.",
    _TENSORFLOW: "It installs, and stops when it is imported.",
}


def _row(package: Package, framework: str, step: Step, ground: Ground, bounded: set[str]) -> FrameworkRefusal | None:
    """The last row on a package that takes its newest release, for the Python of a step."""
    name = normalized(package.name)
    if package.tool != "pip" or package.wheel is not None or package.held or package.marker:
        return None
    if is_bounded(package.spec):
        return None
    python = python_for(package, step, ground)
    rows = [row for row in read(FrameworkRefusal) if (row.package, row.framework) == (name, framework)]
    rows = [row for row in rows if python is not None and python.release(2) >= row.python]
    row = max(rows, key=lambda one: one.python, default=None)
    return None if row is None or not bounded.isdisjoint({row.through or name, *row.held_by}) else row


def _there(ground: Ground) -> _There | None:
    """The torch of the base where nothing asks for another one, or the only one that is pinned."""
    asked = [one for step in ground.steps for one in step.packages if normalized(one.name) == _TORCH]
    own = ground.base.own
    if own is not None and own.version is not None and _is_kept_by(ground, own, asked):
        candidate = own.repository == _OF_NVIDIA
        what = f"a candidate of torch {own.version}" if candidate else f"torch {own.version}"
        return _There(own.version, f"{what} is in the base image", candidate)
    if not asked:
        return None
    pin = pinned_release(asked[0].spec) if all(map(_is_kept, asked[1:])) else None
    if pin is not None:
        return _There(Version.parse(pin), f"torch{asked[0].spec} is pinned")
    by_companion = _by_companion(ground)
    if by_companion is not None and not any(one.spec for one in asked):
        return by_companion
    ended = end_of_index(asked[0]) if len(asked) == 1 and not ground.reads_unseen else None
    return None if ended is None else _There(ended, f"{asked[0].places.index} ends with torch {ended}")


def _tensorflow(ground: Ground) -> _There | None:
    """The TensorFlow of the base, where nothing names another one."""
    own = ground.base.own
    if own is None or own.version is None or own.framework != _TENSORFLOW or ground.reads_unseen or is_confined(ground):
        return None
    named = any(normalized(one.name).startswith(_TENSORFLOW) for step in ground.steps for one in step.packages)
    into_it = all(map(goes_into_the_base, ground.steps))
    return _There(own.version, f"TensorFlow {own.version} is in the base image") if into_it and not named else None


def _is_kept_by(ground: Ground, own: FrameworkImage, asked: Sequence[Package]) -> bool:
    """True where all goes into the base, and what is asked of its torch leaves it as it is."""
    if own.framework != "pytorch" or ground.reads_unseen or not all(stays_in_base(one, own) for one in asked):
        return False
    return not is_confined(ground) and all(map(goes_into_the_base, ground.steps))


def _is_kept(again: Package) -> bool:
    """True for a torch that is named again, and that pip leaves as it is."""
    places = again.places
    return not again.spec and not again.marker and not (places.upgrades or places.index or places.nightly)


def _by_companion(ground: Ground) -> _There | None:
    """The torch that a pinned companion requires in one release."""
    for step in ground.steps:
        for package in step.packages:
            pin = pinned_release(package.spec) if normalized(package.name) in _COMPANIONS else None
            row = (
                next((one for one in pairs_by_package()[normalized(package.name)] if one.version == pin), None)
                if pin
                else None
            )
            exact = next((line.spec.exact for line in required(row) if line.package == _TORCH), None) if row else None
            if exact is not None and package.tool == "pip":
                return _There(exact, f"{package.asked} requires torch {exact}")
    return None


def end_of_index(package: Package) -> Version | None:
    """The last torch that the index of one CUDA has, where pip looks at nothing else for it."""
    places = package.places
    if package.spec or places.more or places.nightly or package.held or package.tool != "pip":
        return None
    builds = [row for row in read(FrameworkBuild, "pytorch") if row.index_url and row.cuda is not None]
    return max((row.version for row in builds if _is_index(row.index_url, places.index)), default=None)


def _ends_with(package: Package, version: Version) -> bool:
    """True for a companion from an index that ends with this torch: pip takes the one for it."""
    torch = replace(package, name=_TORCH, spec="")
    return bool(package.places.index) and end_of_index(torch) == version


def _is_index(known: str | None, asked: str) -> bool:
    return known is not None and known.rstrip("/") == asked.rstrip("/")


def _raised(ground: Ground, framework: str, there: _There) -> bool:
    """True where another package takes a newer framework along."""
    for step in ground.steps:
        for package in step.packages:
            if (
                is_bounded(package.spec)
                or _ends_with(package, there.version)
                or _is_for_it(package, step, ground, there)
            ):
                continue
            row = newest_floor(package, python_for(package, step, ground), (framework,))
            newest = releases_of(package)[-1:]
            verdict = pair_agrees(newest, package.name, {framework: ("it", VersionSpec.parse(f"=={there.version}"))})
            if verdict.status == "fail" or (row is not None and there.version < row.floor):
                return True
    return False


def _is_for_it(package: Package, step: Step, ground: Ground, there: _There) -> bool:
    """True for a companion of that torch: one that the base has, or that pip chooses for a pin in the same command."""
    if normalized(package.name) not in _COMPANIONS or package.tool != "pip" or package.places.nightly:
        return False
    own = ground.base.own
    pinned = any(normalized(one.name) == _TORCH and pinned_release(one.spec) for one in step.packages)
    in_base = own is not None and own.repository == PYTORCH_REPOSITORY and own.version == there.version
    if not pinned and not (in_base and package.name in IN_EVERY_BASE and not package.places.upgrades):
        return False
    fitting = (row for row in releases_of(package) if _is_for(row, there.version))
    return any(True for _ in fitting)


def _is_for(row: PackagePair, torch: Version) -> bool:
    """True for a release that takes this torch."""
    return any(line.package == _TORCH and line.spec.holds(torch) for line in required(row))
