"""Which releases pip (PEP 440) and conda take for a requirement: `==2.12` is 2.12.0 to pip, `=2.12` a line to conda."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from posixpath import commonprefix

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.base.versions import Version
from envkit.tables.rows import FrameworkBuild

_RELEASE = regex(r"(?P<numbers>\d+(?:\.\d+)*)(?:\.?post(?P<post>\d+))?(?:\+(?P<local>[\w.]+))?")
_CLAUSE = regex(r"(?P<operator>===|[<>=!~]=|[<>=])?(?P<release>[\w.+]+?)(?P<line>\.?\*)?")
_PACKAGE = regex(r"(?P<name>[A-Za-z0-9][\w.-]*?)(?:\[(?P<extras>[^\]]*)\])?(?:==(?P<release>.+))?")

_STAGE = regex(r"(?<=\d)\.?(?:rc|dev|a|b)\d{1,9}$")
_BOUNDS_OF_FINALS = (">=", "<")
_BOUNDED = regex(r"==|<|~=")
_PIN = regex(r"={2,3}(\d{1,2}(?:\.\d{1,3}){1,2})(?:\+[\w.]{1,20})?")


def is_bounded(spec: str) -> bool:
    """True where pip does not take the newest release."""
    return _BOUNDED.search(spec) is not None


def pinned_release(spec: str) -> str | None:
    """The one release that is taken, without the build's suffix; None for several."""
    found = _PIN.fullmatch(spec)
    return found[1] if found is not None else None


@record
class Release:
    """A release as an index writes it; `post` is -1 where there is none."""

    numbers: Version
    post: int = -1
    local: str = ""

    @classmethod
    def parse(cls, text: str) -> Release:
        """The release that `text` names. Raises ValueError for anything else, pre-releases too."""
        found = _RELEASE.fullmatch(text)
        if found is None:
            raise ValueError(f"not a release: {text!r}")
        post = found["post"]
        return cls(Version.parse(found["numbers"]), -1 if post is None else int(post), found["local"] or "")

    @property
    def order(self) -> tuple[Version, int]:
        """What releases are compared by, the build's suffix left out."""
        return self.numbers, self.post


@record
class Clause:
    """One comparison of a requirement; `line` applies to `2.12.*`, and to conda's single `=`."""

    operator: str
    release: Release
    line: bool


@record
class Wish:
    """A requirement's versions, as its tool reads them."""

    clauses: tuple[Clause, ...]
    excluded: frozenset[tuple[Version, int]] = frozenset()  # releases that `!=` names

    @classmethod
    def parse(cls, spec: str, tool: str) -> Wish:
        """The wish that `spec` writes. Raises ValueError when a part cannot be read."""
        clauses, excluded = [], []
        for part in dict.fromkeys(filter(None, (part.strip() for part in spec.split(",")))):
            found = _CLAUSE.fullmatch(_without_build(part) if tool == "conda" else part)
            if found is None:
                raise ValueError(f"not a version: {part!r}")
            operator, line = found["operator"] or "=", bool(found["line"])
            if operator == "=":
                operator, line = "==", line or tool == "conda"
            written = found["release"]
            if operator in _BOUNDS_OF_FINALS:  # of a release that is not a pre-release, both say the same
                written = _STAGE.sub("", written)
            clause = Clause(operator, Release.parse(written), line)
            if operator == "!=" and not line and not clause.release.local:
                excluded.append(clause.release.order)
            else:
                clauses.append(clause)
        return cls(tuple(clauses), frozenset(excluded))

    def holds(self, release: Release) -> bool:
        """True when the tool would take that release."""
        return release.order not in self.excluded and all(_meets(release, clause) for clause in self.clauses)

    @property
    def exact(self) -> Release | None:
        """The one release that is named, None for a line or a range."""
        named = [clause.release for clause in self.clauses if clause.operator in ("==", "===") and not clause.line]
        return named[0] if named else None


def _without_build(part: str) -> str:
    """A conda version without the build string after it: `=2.1.0=py3.10_cuda12.1_cudnn8.9.2_0`."""
    operator = part[: len(part) - len(part.lstrip("<>=!~"))]
    version, _, build = part[len(operator) :].partition("=")
    return f"{'==' if build else operator}{version}"


def _meets(release: Release, clause: Clause) -> bool:
    bound, operator = clause.release, clause.operator
    if operator in ("==", "===", "!="):
        if clause.line:
            same = release.numbers.starts_with(bound.numbers)
        else:
            same = release.order == bound.order and bound.local in ("", release.local)
        return same is not (operator == "!=")
    if operator == "~=":
        line = Version.of(*bound.numbers.parts[:-1] or bound.numbers.parts)
        return release.order >= bound.order and release.numbers.starts_with(line)
    if operator == ">=":
        return release.order >= bound.order
    if operator == "<=":
        return release.order <= bound.order
    # A post-release is neither above nor below its own release, unless the bound is one.
    if release.numbers == bound.numbers and bound.post < 0:
        return False
    return release.order > bound.order if operator == ">" else release.order < bound.order


@record
class Named:
    """What a package's name on its index says: `torch==2.1.0+cu118`, `jax[cuda12]==0.4.30`."""

    name: str
    extras: frozenset[str]
    release: Release | None


@cache  # tables name a few thousand
def _named(package: str) -> Named:
    found = _PACKAGE.fullmatch(package)
    if found is None:
        return Named("", frozenset(), None)
    try:
        release = Release.parse(found["release"]) if found["release"] else None
    except ValueError:
        release = None
    return Named(
        normalized(found["name"]), frozenset(map(normalized, filter(None, (found["extras"] or "").split(",")))), release
    )


def package_name(build: FrameworkBuild) -> str:
    """The name of a build's package in its comparable form; '' for a source build."""
    return _named(build.package or "").name


def package_extras(build: FrameworkBuild) -> frozenset[str]:
    """The extras that a build's package is named with."""
    return _named(build.package or "").extras


def package_release(build: FrameworkBuild) -> Release:
    """The release of a build's package: 2.7.post2 for CNTK 2.7's second one."""
    return _named(build.package or "").release or Release(build.version)


def taken(wish: Wish, builds: Iterable[FrameworkBuild]) -> list[FrameworkBuild]:
    """The builds whose package the wish applies to; each release is asked once."""
    held: dict[object, bool] = {}
    found = []
    for build in builds:
        key = build.package or build.version
        if key not in held:
            held[key] = wish.holds(package_release(build))
        if held[key]:
            found.append(build)
    return found


def likeness(build: FrameworkBuild, package: str) -> tuple[object, ...]:
    """How near a build comes to a package: by its release, its name, its index, its CUDA."""
    alike = len(commonprefix((package_name(build), package)))
    return package_release(build).order, alike, build.on_pypi, build.cuda or Version.of(0)
