"""Whether the NumPy that is installed next to a framework is one that its build takes."""

from __future__ import annotations

from collections.abc import Iterable

from envkit._startup.regex import regex
from envkit.base.versions import Version, VersionSpec
from envkit.compat.packages import pip_spec
from envkit.compat.software import range_of_row, some_version_meets
from envkit.compat.verdict import Verdict
from envkit.tables.images import numpy_needs_python
from envkit.tables.rows import FrameworkBuild

RELATION = "numpy-meets-build"
_ISSUE = regex(r"#\d+")
_FIRST_OF_A_MAJOR = regex(r"<\d+$")
_WRITTEN_OUT = regex(r"<=?\d+\.\d+\.\d+$")
_BEYOND = {"<": ">=", "<=": ">"}


def numpy_meets(
    build: FrameworkBuild, asked: str | None, python: Version | None, source_titles: Iterable[str]
) -> Verdict | None:
    """What a requirement of NumPy (`==2.0.0`, blank for any, None where nothing names it) is to a build.

    It fails where no release meets both; it is a warning where pip provides one that the build does not take, which is
    the newest one, where nothing holds it back. None where nothing is to say. `source_titles` are those of the build.
    """
    spec = range_of_row(build.numpy) if build.numpy else None
    wish = _readable(asked or "")
    if spec is None or wish is None:
        return None
    title = f"{build.named} requires numpy{build.numpy}"
    if not some_version_meets((spec, wish)):
        return Verdict(RELATION, "fail", f"{title}, but numpy{asked} is also requested", build.sources)
    beyond = _first_beyond(spec, wish)
    if beyond is None or _bounds_itself(build, source_titles):
        return None
    limit = f"numpy{asked} allows a newer one" if asked else "nothing here limits the NumPy version"
    floor = numpy_needs_python(beyond)
    pythons = build.pythons if python is None else (python,)  # one that nothing names is one that has a package
    if floor is not None and pythons and pythons[-1] < floor:
        return None
    if floor is not None and pythons and pythons[0] < floor:
        detail = f"{title}, and {limit}; whether pip installs it depends on the Python version, which is not known"
        return Verdict(RELATION, "unknown", detail, build.sources)
    return Verdict(RELATION, "warn", f"{title}, and {limit}", build.sources)


def is_bounded_apart(build: FrameworkBuild, asked: str, python: Version | None, source_titles: Iterable[str]) -> bool:
    """Whether a build's own metadata takes none of the NumPy releases that are asked for."""
    verdict = numpy_meets(build, asked, python, ())
    return verdict is not None and verdict.status == "fail" and _bounds_itself(build, source_titles)


def _bounds_itself(build: FrameworkBuild, source_titles: Iterable[str]) -> bool:
    """True when the bound of a row is the one in the package's own metadata.

    A bound that people found out cites the issue where they did, and names a major or a line of releases alone, while
    metadata may write the release out (`<1.19.0`). A source of the row that is an issue may be on something else.
    """
    bound = build.numpy or ""
    if _WRITTEN_OUT.search(bound):
        return True
    return not any(map(_ISSUE.search, source_titles)) and not _FIRST_OF_A_MAJOR.search(bound)


def _readable(asked: str) -> VersionSpec | None:
    try:
        return pip_spec(asked)
    except ValueError:
        return None


def _first_beyond(spec: VersionSpec, wish: VersionSpec) -> Version | None:
    """The upper bound of a build that a requirement lets pip pass; None where it lets none."""
    for operator, bound in spec.clauses:
        if operator in _BEYOND and some_version_meets((wish, VersionSpec(((_BEYOND[operator], bound),)))):
            return bound
    return None
