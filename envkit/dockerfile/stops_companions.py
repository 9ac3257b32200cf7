"""Where a package is installed with a companion beside which it cannot be imported: one of today, or one too old."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.base.versions import Version, VersionSpec
from envkit.checks.containers import image_faults as faults
from envkit.checks.engine.findings import Finding
from envkit.compat.pairs import pairs_by_package, required
from envkit.compat.software import some_version_meets
from envkit.dockerfile.check_parts import package_subject, stop
from envkit.dockerfile.framework_refused import end_of_index
from envkit.dockerfile.ground import Ground, Step
from envkit.dockerfile.least_python import least_python, python_for
from envkit.dockerfile.packages import Package, Places
from envkit.dockerfile.specifiers import is_bounded, pinned_release
from envkit.dockerfile.stops_packages import asks_only
from envkit.tables.codes import limit
from envkit.tables.known_images import PYTORCH_REPOSITORY
from envkit.tables.loader import read
from envkit.tables.program_stops import NewerCompanion

# Images whose own packages of Python bound none of the companions, but may have some of them.
_IN_CONDA = frozenset({"jinja2", "markupsafe", "numpy", "pillow"})
_TORCH = "torch"
_SETUPTOOLS = "setuptools"
_OF_TORCH = frozenset({"torchaudio", "torchvision"})  # each release is for one of torch
_OPENMMLAB = "github.com/open-mmlab/"
_NO_PLACES = Places("", "", (), "", False)
_BY_NAME = frozenset({"mmcv-full"})  # nothing brings it, and it ended before the bound
_MENDED = regex(r"\bsed\b[^\n]{0,400}(?:site|dist)-packages|functional_tensor|basicsr[-_]fixed")
WHEN_INSTALLED = "It installs, and stops when it is imported or first used."
_WITH_IT = "which pip installs with it"
_IN_BASE = "which is in the base image"


@record
class _Beside:
    """What is known of the companion of a row: its release, if it is one, and where it comes from."""

    release: Version | None
    why: str
    asked: str = ""  # as the file itself asks for it


def companion_outgrown(ground: Ground) -> Iterator[Finding]:
    """The first package of a release that does not go with the companion that is certainly there."""
    if not ground.first:
        return
    bare = ground.stock or ground.base.repository == PYTORCH_REPOSITORY
    upgraded = {normalized(one.name) for step in ground.steps for one in step.packages if one.places.upgrades}
    if any(_MENDED.search(text) for text in ground.written):
        return
    rows: dict[str, list[NewerCompanion]] = {}
    for known in read(NewerCompanion):
        rows.setdefault(known.package, []).append(known)
    for step in ground.steps:
        for package in (*step.packages, *_cloned(step, rows)):
            for row in rows.get(normalized(package.name), ()):
                if not bare and not (_is_of_nvidia(ground) and row.companion in upgraded):
                    continue
                if ground.reads_unseen and not _is_certain(row, package, ground):
                    continue
                beside = _beside(row, ground) if _meets(package, row, step, ground) else None
                if beside is not None:
                    yield _told(package, row, beside)
                    return


def _is_of_nvidia(ground: Ground) -> bool:
    return ground.base.own is not None and ground.base.repository.startswith("nvcr.io/")


def _cloned(step: Step, rows: Mapping[str, list[NewerCompanion]]) -> Iterator[Package]:
    """The packages that a step installs from clones of what their projects have today, where a row is on such."""
    for address in step.clones:
        name = posixpath.basename(address.rstrip("/")).removesuffix(".git")
        if address.lower().rstrip("/").removesuffix(".git").endswith(_OPENMMLAB + name.lower()) and name in rows:
            yield Package(address.line, step.place, "pip", "pip", name, (), "", _NO_PLACES, "", None)


def _is_certain(row: NewerCompanion, package: Package, ground: Ground) -> bool:
    """True where no list that is read later changes what a row is on."""
    return row.companion in _BY_NAME and all(one.line > package.line for one in ground.unread)


def _remedy(package: Package, row: NewerCompanion, bound: str, asked: str) -> str:
    """The bound that helps: that of the companion, or of the package where no release of the companion would do."""
    first = row.versions.removeprefix(">=")
    if row.below is not None:
        return f"Use '{bound}'."
    none = row.since == limit("mmcv-full-oldest")
    if none and row.newest and not package.spec and first != row.versions:
        before = f"Use a release of {package.name} before {first} that works with {asked}"
        older = before if asked else f"Add '{package.name}<{first}'"
        return f"{older}, or what the newest {package.name} wants in place of {row.companion}."
    older = f"Use '{bound}' in place of {asked}" if asked else f"Add '{bound}'"
    return f"{older}, or use a newer {package.name}."


def _told(package: Package, row: NewerCompanion, beside: _Beside) -> Finding:
    if row.below is not None:
        companion, bound = f"{row.companion} before {row.below}", f"{row.companion}>={row.below}"
    else:
        companion, bound = f"{row.companion} {row.since} or newer", f"{row.companion}<{row.since}"
    return stop(
        faults.REQUIREMENTS_CLASH,
        f"{package.asked} does not work with {companion}, {beside.why}: {row.because}",
        package_subject(package),
        impact=WHEN_INSTALLED,
        fix=_remedy(package, row, bound, beside.asked),
        sources=row.sources,
    )


def _meets(package: Package, row: NewerCompanion, step: Step, ground: Ground) -> bool:
    """Whether pip certainly installs such a release on a Python for which the companion has newer ones."""
    if package.tool != "pip" or package.held or package.marker or (package.places.index and row.versions):
        return False
    python = python_for(package, step, ground)
    if python is None or python.release(2) < row.python:
        return False
    newest = row.newest and not is_bounded(package.spec)
    return newest or asks_only(package, row.versions)


def _beside(row: NewerCompanion, ground: Ground) -> _Beside | None:
    """What tells that the companion is one of those of a row; None where it may be another."""
    named = ground.specs
    for held in row.held_by:
        name, release, version = held.partition("==")
        spec = named.get(name, "")
        if spec and (not release or spec.removeprefix("==").startswith(version)):
            return None
    spec = named.get(row.companion, "")
    if spec:
        asked = f"{row.companion}{spec}"
        found = _Beside(None, f"as {asked} asks", asked) if _is_outside(spec, row) else None
        return found if ground.stock or row.companion not in _IN_CONDA else None
    if row.companion in _BY_NAME:
        return _Beside(None, "which is installed as well") if row.companion in named else None
    if row.companion in _OF_TORCH:
        return _of_torch(row, ground)
    if row.companion == _SETUPTOOLS:
        return _Beside(None, "and no older one is there") if _is_newest(ground) else None
    if row.companion == _TORCH and row.since is not None and _ends_before(row.since, ground):
        return None
    if row.companion == _TORCH and not ground.stock:
        own = ground.base.own
        inside = own is not None and own.version is not None and own.version >= (row.since or own.version)
        return _Beside(None, _IN_BASE) if inside and row.since is not None else None
    if row.since is None or (not ground.stock and row.companion in _IN_CONDA):
        return None
    return _Beside(None, _WITH_IT)


def _ends_before(since: Version, ground: Ground) -> bool:
    """True where torch comes from an index that may have none of these releases."""
    asked = [one for step in ground.steps for one in step.packages if normalized(one.name) == _TORCH]
    ends = [end_of_index(one) for one in asked if one.places.index]
    return any(end is None or end < since for end in ends)


def _is_newest(ground: Ground) -> bool:
    """Whether the setuptools of the image is certainly that of today, or none."""
    named = [one for step in ground.steps for one in step.packages if normalized(one.name) == _SETUPTOOLS]
    if any(is_bounded(one.spec) or one.held for one in named):
        return False
    python = least_python(ground) if ground.of_python else None
    bare = ground.of_python and (ground.pythons.default or python or Version.of(0)) >= limit(
        "python-images-without-setuptools"
    )
    return bare or any(one.places.upgrades and one.tool == "pip" for one in named)


def _is_outside(spec: str, row: NewerCompanion) -> bool:
    """Whether all releases that a requirement takes are beyond the bound of a row."""
    pin = pinned_release(spec)
    try:
        asked = VersionSpec.parse(f"=={pin}" if pin is not None else spec)
    except ValueError:
        return False
    within = f">={row.below}" if row.below is not None else f"<{row.since}"
    if asked.exact is not None:
        return not VersionSpec.parse(within).holds(asked.exact)
    return not some_version_meets((asked, VersionSpec.parse(within)))


def _of_torch(row: NewerCompanion, ground: Ground) -> _Beside | None:
    """The same for a companion that comes in the release for the torch that is there."""
    torches = {one.spec for step in ground.steps for one in step.packages if normalized(one.name) == _TORCH}
    indexes = [one for step in ground.steps for one in step.packages if normalized(one.name) in (*_OF_TORCH, _TORCH)]
    if not torches and ground.stock:
        newest = row.since is not None and not any(one.places.index or one.places.more for one in indexes)
        return _Beside(None, _WITH_IT) if newest else None
    own = ground.base.own
    if torches:
        pin, why = pinned_release(next(iter(torches))) if len(torches) == 1 else None, "which is for that torch"
        torch = Version.parse(pin) if pin is not None else None
    else:
        torch, why = (own.version if own is not None and own.framework == "pytorch" else None), _IN_BASE
    rows = pairs_by_package().get(row.companion, ())
    fitting = [
        one.version
        for one in rows
        if torch is not None and any(line.package == _TORCH and line.spec.holds(torch) for line in required(one))
    ]
    release = Version.find(str(fitting[-1])) if fitting else None
    if release is None or row.since is None or release < row.since:
        return None
    return _Beside(release, why)
