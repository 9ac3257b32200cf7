"""What packages require of each other in one environment: frameworks of frameworks, and of shared CUDA libraries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TypeVar

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.base.sentences import series
from envkit.base.versions import VersionSpec
from envkit.compat.software import range_of_row, some_version_meets, title_of
from envkit.compat.tables import Tables
from envkit.compat.verdict import Verdict
from envkit.tables.rows import FrameworkBuild, PackageFile, PackageRequirements

Row = TypeVar("Row")

_LINE = regex(r"\s*([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*([^;]*)")
# What follows a release's numbers: 2.7.0rc0 and 1.8.1+cu111 bound the releases as 2.7.0 and 1.8.1 do.
_STAGE = regex(r"(?<=\d)\.?(?:rc|dev|post|a|b)\d*")
_LOCAL = regex(r"\+[\w.]+")
# A release of fewer than three numbers, which to an installer is that release and not its line.
_SHORT = regex(r"(={2,3}|[!<]=|>(?!=))\s*(\d+(?:\.\d+)?)(?=\s*(?:,|$))")
_COMPLEMENT = {"<": ">=", ">=": "<", "<=": ">", ">": "<=", "!=": "=="}


@record
class Requirement:
    """One requirement line: the package's name as indexes compare it, and the versions that will do."""

    package: str
    spec: VersionSpec
    line: str


@cache
def requirements_of(lines: tuple[str, ...]) -> tuple[Requirement, ...]:
    """The requirements that can be read; one that cannot bounds nothing."""
    return tuple(_readable(lines))


def requirement_of(line: str) -> Requirement | None:
    """The requirement in a line; None where it cannot be read."""
    return next(iter(requirements_of((line,))), None)


def pip_spec(text: str) -> VersionSpec:
    """What follows a package's name, as installers of Python packages read it: `==2.15` is 2.15.0, and no other.

    Raises ValueError for what cannot be read.
    """
    bare = _STAGE.sub("", _LOCAL.sub("", text))
    return VersionSpec.parse(_SHORT.sub(_whole, bare))


def _whole(match: re.Match[str]) -> str:
    operator, release = match[1][:2], match[2]
    return f"{operator}{release}{'.0' * (2 - release.count('.'))}"


def rows_allowed(package: str, spec: str, rows: Iterable[tuple[Row, VersionSpec]]) -> list[tuple[Row, VersionSpec]]:
    """The rows of a package, each with its releases, of which a requirement allows one or more.

    `package` is the name as indexes compare it, `spec` what follows it: `==0.6.3`.
    """
    wanted = requirement_of(package + spec)
    return [(row, span) for row, span in rows if wanted is not None and some_version_meets((wanted.spec, span))]


def _readable(lines: Iterable[str]) -> Iterator[Requirement]:
    for line in lines:
        match = _LINE.match(line)
        if match is None:
            continue
        try:
            spec = pip_spec(match[2])
        except ValueError:
            continue
        yield Requirement(match[1].lower().replace("_", "-"), spec, line)


def brings_cuda(build: FrameworkBuild) -> bool:
    """False for a build that certainly provides no CUDA libraries."""
    return build.package is not None and not build.cpu_only and build.bundles_cuda is not False


def libraries_of(
    build: FrameworkBuild, rows: Iterable[PackageRequirements], architecture: str, platform: str
) -> PackageRequirements | None:
    """What a build requires of packages of CUDA libraries; None where that is not recorded."""
    if not brings_cuda(build):
        return PackageRequirements(build.package or "", "", (), (), build.sources)
    place = build.index_url or build.find_links or ""
    for row in rows if platform != "windows" else ():
        if row.package == build.package and row.place == place and architecture in row.architectures:
            return row if row.requires is not None else None
    return None


def demands_on(build: FrameworkBuild, requires: tuple[str, ...], tables: Tables) -> Iterator[tuple[str, Requirement]]:
    """What a build and its package require of other frameworks, by the framework's name."""
    for requirement in (*requirements_of(build.companions), *requirements_of(requires)):
        framework = tables.framework(requirement.package)
        if framework is not None and framework.name != build.framework and requirement.package in framework.packages:
            yield framework.name, requirement


def requirement_met(build: FrameworkBuild, requirement: Requirement, other: FrameworkBuild) -> Verdict:
    """Whether another framework's version meets what a build requires of it."""
    wants = f"{build.named} requires {requirement.line}"
    if requirement.spec.holds(other.version):
        return Verdict("requirement-met", "ok", f"{wants}; {other.named} meets it", build.sources)
    return Verdict("requirement-met", "fail", f"{wants}, but {other.named} does not meet it", build.sources)


def clash_of(
    first: Sequence[Requirement], second: Sequence[Requirement], files: Iterable[PackageFile]
) -> tuple[Requirement, Requirement, str] | None:
    """Two requirements that one environment cannot meet, and the file that both packages write (or ``)."""
    for one in first:
        for other in second:
            if one.package == other.package and not some_version_meets((one.spec, other.spec)):
                return one, other, ""
    written = _written(first, files)
    for file, other in _written(second, files).items():
        if file in written and written[file].package != other.package:
            return written[file], other, file
    return None


def _written(requirements: Iterable[Requirement], files: Iterable[PackageFile]) -> dict[str, Requirement]:
    """The files that every version which meets a requirement writes."""
    return {
        row.file: requirement
        for requirement in requirements
        for row in files
        if row.package == requirement.package and lies_in(requirement.spec, range_of_row(row.versions))
    }


@cache
def lies_in(spec: VersionSpec, span: VersionSpec) -> bool:
    """Whether every version that meets `spec` lies in a span such as `>=9,<10`, or `==1.7`, which is that line."""
    if span.exact is not None:
        return spec.exact is not None and spec.exact.starts_with(span.exact)
    outside = (VersionSpec(((_COMPLEMENT[operator], bound),)) for operator, bound in span.clauses)
    return not any(some_version_meets((spec, beyond)) for beyond in outside)


def wheels_share_libraries(
    first: FrameworkBuild,
    second: FrameworkBuild,
    needs: tuple[PackageRequirements | None, PackageRequirements | None],
    tables: Tables,
) -> Verdict:
    """Whether the packages of CUDA libraries that two builds require go into one environment.

    `needs` are those of the two, None where not recorded. One environment holds one version of a package.
    """
    relation, names = "wheels-share-libraries", (title_of(first), title_of(second))
    known = [row for row in needs if row is not None]
    sources = tuple(dict.fromkeys(key for row in known for key in row.sources))
    if any(row.requires == () for row in known):
        return Verdict(relation, "ok", f"{names[0]} and {names[1]} do not both require CUDA library packages", sources)
    if len(known) < len(needs):
        missing = series(name for name, row in zip(names, needs, strict=True) if row is None)
        detail = (
            f"it is not known which CUDA library packages {missing} requires, so it is not known whether {names[0]} "
            f"and {names[1]} can share an environment; two environments are safe"
        )
        return Verdict(relation, "unknown", detail, sources)
    wanted, others = (requirements_of(row.requires or ()) for row in known)
    clash = clash_of(wanted, others, tables.package_files)
    if clash is None:
        detail = f"the CUDA library packages required by {names[0]} and {names[1]} are compatible"
        return Verdict(relation, "ok", detail, sources)
    one, other, file = clash
    why = f"both packages write {file}" if file else "an environment can contain only one version of a package"
    detail = f"{names[0]} requires {one.line}, but {names[1]} requires {other.line}; {why}"
    return Verdict(relation, "fail", detail, sources)


def _open_cudnn(build: FrameworkBuild) -> bool:
    """Whether pip chooses the newest cuDNN of its major for a build, whatever the build was compiled with."""
    return any(line.startswith("nvidia-cudnn-") and "==" not in line for line in build.companions)


def cudnn_too_old(first: FrameworkBuild, second: FrameworkBuild) -> Verdict | None:
    """That one of two builds brings an older cuDNN than the other was compiled with; None where neither does.

    A process has one cuDNN, that which is loaded first, and a framework refuses one of a lower minor version.
    """
    if first.cuda is None or second.cuda is None or first.cuda.major != second.cuda.major:
        return None
    for needing, giving in ((first, second), (second, first)):
        need, given = needing.cudnn, giving.cudnn
        if need is None or given is None or need.major != given.major or len(need.parts) < 2 or len(given.parts) < 2:
            continue
        if given.release(2) < need.release(2) and not _open_cudnn(giving):
            detail = (
                f"{title_of(needing)} needs cuDNN {need.release(2)} or newer, and {title_of(giving)} brings "
                f"{given.release(2)}: a process that imports {giving.framework} first has the older one, with which "
                f"{needing.framework} cannot use the GPU. Use two environments, or import {needing.framework} first"
            )
            sources = tuple(dict.fromkeys((*needing.sources, *giving.sources)))
            return Verdict("wheels-share-libraries", "warn", detail, sources)
    return None
