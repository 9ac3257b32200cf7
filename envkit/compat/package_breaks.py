"""Releases that are known not to work next to another package, a CUDA or a Python, though their metadata allow it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from envkit._startup.regex import regex
from envkit.base.versions import Version, VersionSpec
from envkit.compat.packages import Requirement, lies_in, requirement_of, requirements_of
from envkit.compat.software import some_version_meets
from envkit.compat.verdict import Verdict
from envkit.tables.loader import read
from envkit.tables.pairs import PackageBreak
from envkit.tables.rows import FrameworkBuild

_ALWAYS = "nothing>=0"  # a release that cannot be installed, whatever is next to it
_FOR_GPUS = regex(r"-(?:gpu|cpu|cuda\d{1,3}x?)$")  # tensorflow-gpu, cupy-cuda112, cupy-cuda12x
There = tuple[str, "Version | VersionSpec"]  # what is there in words, and its version or what is asked of it


@lru_cache(maxsize=1)
def _rows() -> dict[str, tuple[tuple[PackageBreak, VersionSpec, Requirement], ...]]:
    found: dict[str, list[tuple[PackageBreak, VersionSpec, Requirement]]] = {}
    for row in read(PackageBreak):
        own, other = requirements_of((row.package + row.versions, row.beside or _ALWAYS))
        found.setdefault(row.package, []).append((row, own.spec, other))
    return {name: tuple(rows) for name, rows in found.items()}


def package_breaks(package: str, spec: str, beside: Mapping[str, There]) -> Iterator[tuple[Verdict, str]]:
    """Each reason why every release that a requirement allows breaks next to what is there, with what helps.

    `package` is the name as indexes compare it, `spec` what follows it: `==0.28.1`.
    """
    for verdict, row in _against(package, spec, beside):
        yield verdict, row.instead


def _against(package: str, spec: str, beside: Mapping[str, There]) -> Iterator[tuple[Verdict, PackageBreak]]:
    amended = "[" in package and "post" in spec  # a post release has other extras
    rows = _rows().get(plain_name(package), ()) if not amended else ()
    wanted = requirement_of(package + spec) if rows else None
    for row, span, other in rows if wanted is not None else ():
        there = beside.get(other.package) if row.beside else ("", other.spec)
        if wanted is None or there is None or not lies_in(wanted.spec, span) or not _is_in(there[1], other.spec):
            continue
        fails = f"does not work with {there[0]}" if row.beside else "cannot be installed"
        detail = f"{package}{spec} {fails}: {row.because}"
        yield Verdict("package-breaks", "fail", detail, row.sources), row


def _is_in(there: Version | VersionSpec, span: VersionSpec) -> bool:
    if isinstance(there, Version):
        return span.holds(there)
    return some_version_meets((there, span)) and lies_in(there, span)


def first_unbroken(package: str, after: Version | None, beside: str, there: Version) -> Version | None:
    """The first release that is not known to break next to `there`, from one that does on; None where none does.

    `after` is the release that is there, None where that is not known: then a release that breaks is assumed.
    """
    spans = [span for _, span, other in _rows().get(package, ()) if other.package == beside and other.spec.holds(there)]
    if after is not None and not any(span.holds(after) for span in spans):
        return None
    ends = sorted(bound for span in spans for operator, bound in span.clauses if operator == "<")
    later = (end for end in ends if after is None or end > after)
    return next((end for end in later if not any(span.holds(end) for span in spans)), None)


def first_broken(package: str, build: FrameworkBuild) -> Version | None:
    """The first release of a package from which on every one breaks next to a build; None where none does."""
    name = package_of(build)
    spans = [span for _, span, other in _rows().get(package, ()) if _is_beside(other, name, build.version)]
    starts = [bound for span in spans for operator, bound in span.clauses if operator == ">="]
    is_open = any(not any(operator == "<" for operator, _ in span.clauses) for span in spans)
    return min(starts) if starts and is_open else None


def _is_beside(other: Requirement, name: str, version: Version) -> bool:
    return other.package == name and other.spec.holds(version)


def extra_against(package: str, python: Version | VersionSpec | None) -> tuple[str, str, tuple[str, ...]] | None:
    """Why the extra that a pinned package names cannot be had with a Python, what helps, and the sources.

    None where it can.
    """
    name, pin, release = package.partition("==")
    beside: dict[str, There] = {"python": (f"Python {python}", python)} if python is not None else {}
    for verdict, row in _against(name, pin + release, beside) if "[" in name else ():
        return row.because, row.instead, verdict.sources
    return None


def with_its_extra(build: FrameworkBuild, builds: Iterable[FrameworkBuild], python: Version | None) -> str:
    """The requirement that brings a build with its CUDA: that of its release whose extra can still be installed."""
    same = (
        other
        for other in builds
        if (other.version, other.cuda, other.bundles_cuda) == (build.version, build.cuda, True)
    )
    packages = (other.package for other in (build, *same) if other.package)
    return next((package for package in packages if extra_against(package, python) is None), build.package or "")


def break_marks(build: FrameworkBuild) -> tuple[int, ...]:
    """The sides of breaks that a build is on, by number: two alike break next to the same builds."""
    return _marks(package_of(build), build.version)


@lru_cache(maxsize=4096)
def _marks(package: str, version: Version) -> tuple[int, ...]:
    return tuple([number for number, span in _sides().get(package, ()) if span.holds(version)])


@lru_cache(maxsize=1)
def _sides() -> dict[str, list[tuple[int, VersionSpec]]]:
    """Both sides of every break by the package that is on it, each with a number of its own."""
    every = [
        side
        for package, rows in _rows().items()
        for _, span, other in rows
        for side in ((package, span), (other.package, other.spec))
    ]
    found: dict[str, list[tuple[int, VersionSpec]]] = {}
    for number, (package, span) in enumerate(every):
        found.setdefault(package, []).append((number, span))
    return found


def breaks_beside(build: FrameworkBuild, other: FrameworkBuild) -> Verdict | None:
    """Why one build is known to break next to another framework's; None where nothing is known."""
    name = package_of(build)
    for row, span, beside in _rows().get(name, ()):
        if beside.package == package_of(other) and span.holds(build.version) and beside.spec.holds(other.version):
            detail = f"{build.named} does not work with {other.named}: {row.because}"
            return Verdict("package-breaks", "fail", detail, row.sources)
    return None


@lru_cache(maxsize=4096)
def _package_of(package: str) -> str:
    named = requirement_of(package)
    return plain_name(named.package) if named is not None else ""


def plain_name(package: str) -> str:
    """The name that breaks have a framework under, whichever of its packages for GPUs or without it is."""
    return _FOR_GPUS.sub("", package)


def package_of(build: FrameworkBuild) -> str:
    """The name of a build's package as indexes compare it, whatever it is for; '' for one without."""
    return _package_of(build.package or "")
