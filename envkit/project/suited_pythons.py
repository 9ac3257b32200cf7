"""The Pythons that every requirement next to the frameworks has a package for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from envkit._startup.records import record
from envkit.base.markers import holds
from envkit.base.versions import Version, VersionSpec
from envkit.compat.package_breaks import package_breaks
from envkit.compat.package_wheels import has_wheel, place_of, pythons_at, wheels_of
from envkit.compat.packages import lies_in, requirement_of
from envkit.compat.release_pythons import is_left_out, least_row, pinned_row, rows_of
from envkit.project.choose import python_allowed
from envkit.tables.build_stops import UnbuildablePackage
from envkit.tables.loader import read
from envkit.tables.source_stops import StoppingSource

_PLATFORM = "linux"


@record
class Asked:
    """A requirement of pip: its name as indexes compare it, the versions, and the environment that it is for."""

    name: str
    spec: str
    marker: str = ""

    def __str__(self) -> str:
        return f"{self.name}{self.spec}"


@record
class Suited:
    """The Pythons that suit all requirements, oldest first, and the requirements that rule out the other ones.

    `pythons` is empty where no Python suits all of them. `because` is empty where only older ones are ruled out.
    """

    pythons: tuple[Version, ...]
    because: tuple[str, ...] = ()

    @property
    def spec(self) -> str:
        """The newest run of them as an option says it; '' where there is none."""
        low, high = (self.pythons[0], self.pythons[-1]) if self.pythons else ("", "")
        return ",".join(([f">={low}"] if low else []) + ([f"<={high}"] if low and self.because else []))


def suited_pythons(
    asked: Iterable[Asked], requires: str, candidates: Sequence[Version], architecture: str
) -> Suited | None:
    """Which of the candidates suit; None where all do that the project itself takes."""
    requirements = tuple(asked)
    taken = [python for python in candidates if not requires or python_allowed(requires, python)]
    against = {python: [str(one) for one in requirements if _excludes(one, python, architecture)] for python in taken}
    left = [python for python in taken if not against[python]]
    if len(left) == len(taken):
        return None
    newest = _run(left, taken)
    newer = [python for python in taken if not newest or python > newest[-1]]
    because = dict.fromkeys(name for python in newer for name in against[python])
    return Suited(newest, tuple(because))


def _run(left: list[Version], taken: list[Version]) -> tuple[Version, ...]:
    """Those up to the newest that no unsuited one interrupts: an option can say such a range alone."""
    found: list[Version] = []
    for python in reversed(taken):
        if python in left:
            found.append(python)
        elif found:
            break
    return tuple(reversed(found))


def _excludes(one: Asked, python: Version, architecture: str) -> bool:
    if not holds(one.marker, python, architecture, _PLATFORM):
        return False
    return (
        _has_no_wheel(one, python, architecture)
        or _is_for_others(one, python)
        or any(package_breaks(one.name, one.spec, {"python": (f"Python {python}", python)}))
        or _cannot_be_built(one, python)
    )


def _has_no_wheel(one: Asked, python: Version, architecture: str) -> bool:
    """True where pip would have to compile for this Python what it has as a wheel for another one."""
    rows = wheels_of(one.name, one.spec)
    if any(has_wheel(row, _PLATFORM, architecture, python) for row in rows):
        return False
    return any(pythons_at(row, place_of(_PLATFORM, architecture)) for row in rows)


def _is_for_others(one: Asked, python: Version) -> bool:
    rows = rows_of(one.name)
    row = pinned_row(rows, one.spec) or least_row(rows, one.spec, python)
    return row is not None and is_left_out(row, python, certain=True)


def _cannot_be_built(one: Asked, python: Version) -> bool:
    """True for a release whose source no longer builds with a Python that it has no wheel for."""
    built = [(row.versions, row.python) for row in read(UnbuildablePackage) if row.package == one.name]
    built += [
        (row.versions, row.since)
        for row in read(StoppingSource)
        if row.package == one.name and row.since is not None and not row.tool and not row.option
    ]
    wanted = requirement_of(f"{one.name}{one.spec}") if built else None
    return wanted is not None and any(
        python >= since and (not versions or lies_in(wanted.spec, VersionSpec.parse(versions)))
        for versions, since in built
    )
