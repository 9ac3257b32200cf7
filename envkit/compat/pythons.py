"""Which Pythons a build has packages for, and what other releases tell where its own row does not."""

from __future__ import annotations

from collections.abc import Iterable

from envkit._startup.records import record
from envkit.base.sentences import series
from envkit.base.versions import Version, VersionSpec
from envkit.compat.software import some_version_meets, title_of
from envkit.compat.verdict import Verdict
from envkit.tables.rows import FrameworkBuild


def python_meets(wanted: Version | VersionSpec | None, python: Version) -> bool:
    """Whether a Python line such as 3.10 is what is wanted; `3.10.4` asks for the line 3.10, None for any."""
    if wanted is None or isinstance(wanted, Version):
        return wanted is None or wanted.starts_with(python)
    if wanted.exact is not None:
        line = wanted.exact.parts[:2]
        return python.parts[: len(line)] == line
    return wanted.holds(python)


@record
class PythonSpan:
    """The oldest and the newest Python line that a build may run on; None where nothing tells."""

    low: Version | None = None
    high: Version | None = None

    def may_hold(self, wanted: Version | VersionSpec) -> bool:
        """False where every Python that is wanted (3.10, 3.10.4, or a range) lies outside."""
        exact = wanted.exact if isinstance(wanted, VersionSpec) else wanted
        if exact is None and isinstance(wanted, VersionSpec):
            ends = ((">=", self.low), ("<=", self.high))
            return some_version_meets((wanted, VersionSpec(tuple((sign, end) for sign, end in ends if end))))
        line = exact.parts[:2] if exact else ()
        below = self.low is not None and line < self.low.parts[: len(line)]
        above = self.high is not None and line > self.high.parts[: len(line)]
        return not below and not above

    def __str__(self) -> str:
        if self.low == self.high:
            return str(self.low)
        if self.low and self.high:
            return f"{self.low} to {self.high}"
        return f"{self.low} or newer" if self.low else f"{self.high} or older"


ANY_PYTHON = PythonSpan()


def python_span(build: FrameworkBuild, builds: Iterable[FrameworkBuild]) -> PythonSpan:
    """What the releases in the data say about a build whose row names no Python.

    A release runs on no older Python than the nearest one before it, and on no newer one than the nearest one after it;
    the other builds of the same release count as both.
    """
    known = [other for other in builds if other.pythons]
    earlier = max((other.version for other in known if other.version <= build.version), default=None)
    later = min((other.version for other in known if other.version >= build.version), default=None)
    lows = (python for other in known if other.version == earlier for python in other.pythons)
    highs = (python for other in known if other.version == later for python in other.pythons)
    return PythonSpan(min(lows, default=None), max(highs, default=None))


def has_python(build: FrameworkBuild, wanted: Version | VersionSpec, span: PythonSpan = ANY_PYTHON) -> bool | None:
    """Whether the build has a package for one of the wanted Pythons; None where that is not recorded.

    `span` is what other releases say about a build without Pythons.
    """
    if build.pythons:
        return any(python_meets(wanted, python) for python in build.pythons)
    return None if span.may_hold(wanted) else False


def python_has_wheel(build: FrameworkBuild, python: Version | VersionSpec, span: PythonSpan = ANY_PYTHON) -> Verdict:
    """The verdict on a build and the wanted Pythons (3.10, not 3.10.4)."""
    has, relation = has_python(build, python, span), "python-has-wheel"
    if has is None:
        detail = f"it is not known which Python versions {title_of(build)} supports"
        return Verdict(relation, "unknown", detail, build.sources)
    if has:
        how = "has a wheel for" if build.package is not None else "works with"
        return Verdict(relation, "ok", f"{title_of(build)} {how} Python {python}", build.sources)
    if not build.pythons:
        detail = f"{title_of(build)} does not run on Python {python}: the nearest known releases run on {span}"
        return Verdict(relation, "fail", detail, build.sources)
    from envkit.compat.package_breaks import extra_against  # only where one is refused

    extra = extra_against(build.package or "", python)
    if extra is not None and _release_is_for(build.package or "", python):
        detail = f"{title_of(build)} cannot be installed for Python {python}: {extra[0]}"
        return Verdict(relation, "fail", detail, tuple(dict.fromkeys((*build.sources, *extra[2]))))
    detail = f"{title_of(build)} has no wheel for Python {python}, only for {series(build.pythons)}"
    return Verdict(relation, "fail", detail, build.sources)


def _release_is_for(package: str, python: Version | VersionSpec) -> bool:
    """Whether a pinned release has a wheel for the Python without its extra; true where that is not known."""
    from envkit.compat.package_wheels import pythons_named

    name, pin, release = package.partition("==")
    known = pythons_named(name.partition("[")[0], pin + release)
    return not known or any(python_meets(python, one) for one in known)
