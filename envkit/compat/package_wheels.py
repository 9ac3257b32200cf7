"""Whether the default index holds a package next to a framework for a target, as a wheel or as sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from envkit.base.platforms import WINDOWS
from envkit.base.sentences import series
from envkit.base.versions import Version, VersionSpec
from envkit.compat.packages import lies_in, requirement_of, requirements_of, rows_allowed
from envkit.compat.software import some_version_meets
from envkit.compat.verdict import Verdict
from envkit.tables.codes import limit
from envkit.tables.loader import read
from envkit.tables.pairs import PackageWheels

EVERY = "*"
_FETCHED = ("flash-attn", "mamba-ssm", "causal-conv1d")
_FETCHES = (
    " on the default index: its setup downloads its project's own for this PyTorch, CUDA major version, and Python;"
    " where there is none, pip compiles it from source"
)


@lru_cache(maxsize=1)
def _rows() -> dict[str, tuple[tuple[PackageWheels, VersionSpec], ...]]:
    found: dict[str, list[tuple[PackageWheels, VersionSpec]]] = {}
    for row in read(PackageWheels):
        (span,) = requirements_of((row.package + row.versions,))
        found.setdefault(row.package, []).append((row, span.spec))
    return {name: tuple(rows) for name, rows in found.items()}


def wheels_of(package: str, spec: str = "") -> tuple[PackageWheels, ...]:
    """What is known of the releases that a requirement allows, oldest first.

    `package` is the name as indexes compare it, `spec` what follows it: `==0.6.3`.
    """
    return tuple(row for row, _ in rows_allowed(package, spec, _rows().get(package, ())))


def package_has_wheel(
    package: str, spec: str, platform: str, architecture: str, python: Version | None
) -> Verdict | None:
    """Why no wheel of these releases is for a target; None where one is, or where nothing is known.

    `unknown` where pip compiles it, and where a release that is not known may have one.
    """
    rows = wheels_of(package, spec)
    if not rows or any(has_wheel(row, platform, architecture, python) for row in rows):
        return None
    place = place_of(platform, architecture)
    asked, target = f"{package}{spec}", _title(place)
    pythons = pythons_listed(rows, place)
    sources = tuple(dict.fromkeys(key for row in rows for key in row.sources))
    if any(row.source and _allowed(row, python) for row in rows):
        what = f"for {target}" + (f" and Python {python}" if python is not None and pythons else "")
        how = _FETCHES if _fetches_its_wheel(package, spec) else ", so pip compiles it from source"
        detail = f"{asked} has no wheel {what}{how}, with the machine's compiler"
        return Verdict("package-compiled", "unknown", detail, sources)
    if pythons not in ("", EVERY) and python is not None:
        relation = "python-has-wheel"
        kind = f"{target} " if any(_serves(word, python) for word in _words(rows)) else ""  # another system has one
        detail = f"{asked} has no {kind}wheel for Python {python}, only for {series(pythons.split(', '))}"
    elif python is not None and (pythons or any(row.source for row in rows)):
        relation, detail = "python-has-wheel", f"{asked} requires Python {rows[-1].requires_python}, not {python}"
    else:
        others = ", ".join(dict.fromkeys(_title(part.split()[0]) for row in rows for part in row.wheels or ()))
        available = f"only for {others}" if others else "and no source distribution that pip could compile"
        relation, detail = "platform", f"the default index has no {asked} for {target}, {available}"
    wanted = requirement_of(package + spec)
    later = VersionSpec.parse(f">{_newest(package)}")
    bounded = not some_version_meets((wanted.spec if wanted is not None else VersionSpec(), later))
    never = relation == "platform" and not any(row.source or pythons_at(row, place) for row in wheels_of(package))
    return Verdict(relation, "fail" if bounded or never else "unknown", detail, sources)


def _fetches_its_wheel(package: str, spec: str) -> bool:
    """Whether the setup of all these releases first looks for a wheel among its project's own."""
    wanted = requirement_of(package + spec)
    if package not in _FETCHED or wanted is None:
        return False
    return lies_in(wanted.spec, VersionSpec.parse(f">={limit(f'{package}-fetches-its-wheel')}"))


def has_wheel(row: PackageWheels, platform: str, architecture: str, python: Version | None) -> bool:
    """Whether releases have a wheel that pip takes on a target; any Python does where none is named."""
    pythons = pythons_at(row, place_of(platform, architecture))
    if python is None or not pythons:
        return bool(pythons)
    return _allowed(row, python) and any(_serves(one, python) for one in pythons)


def pythons_at(row: PackageWheels, place: str) -> tuple[str, ...]:
    """The Pythons of the wheels for a place: 3.9, 3.8+ for it and later ones, * for all."""
    for part in row.wheels or ():
        name, *pythons = part.split()
        if name == place:
            return tuple(pythons)
    return ()


def pythons_named(package: str, spec: str) -> frozenset[Version]:
    """The Pythons that a wheel of these releases is for by its number, on any system; empty where nothing is known."""
    return frozenset(Version.parse(word) for word in _words(wheels_of(package, spec)) if word[-1].isdigit())


def _words(rows: Iterable[PackageWheels]) -> Iterator[str]:
    """How rows name the Pythons of their wheels, on any system."""
    return (word for row in rows for part in row.wheels or () for word in part.split()[1:])


def pythons_listed(rows: Iterable[PackageWheels], place: str) -> str:
    """The Pythons of the wheels of several releases for a place, in words; '' where it has none."""
    return ", ".join(dict.fromkeys(one for row in rows for one in pythons_at(row, place)))


def place_of(platform: str, architecture: str) -> str:
    """The word of the table for a system and processor."""
    return platform if architecture == "x86_64" else f"{platform}-{architecture}"


def _serves(word: str, python: Version) -> bool:
    if word == EVERY:
        return True
    known = Version.parse(word.rstrip("+"))
    return python.release(2) >= known if word.endswith("+") else python.release(2) == known


def _allowed(row: PackageWheels, python: Version | None) -> bool:
    """Whether a release allows a Python; a bound that cannot be read allows all."""
    if python is None or not row.requires_python:
        return True
    try:
        wanted = VersionSpec.parse(row.requires_python)
    except ValueError:
        return True
    return some_version_meets((wanted, VersionSpec.parse(str(python))))


def _title(place: str) -> str:
    """A system and processor in words: Windows, Linux aarch64."""
    platform, _, architecture = place.partition("-")
    return "Windows" if platform == WINDOWS else f"Linux {architecture or 'x86_64'}"


def _newest(package: str) -> Version:
    """The last release in the data."""
    return max(bound for _, span in _rows()[package] for _, bound in span.clauses)
