"""Where a build stops at a package of pip: its name is retired, its metadata refused, its index has no such package."""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.base.versions import VersionSpec
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding
from envkit.compat.software import some_version_meets
from envkit.dockerfile.check_parts import command_subject, stop, subject_of
from envkit.dockerfile.ground import Ground, Step, called
from envkit.dockerfile.packages import Package
from envkit.tables.build_stops import DistributionPip, IndexLacks, RefusedMetadata, RetiredPackage
from envkit.tables.loader import read

_APT_PIP = regex(r"(?:/usr/bin/)?pip[23]?|(?:/usr/bin/)?python[23]?")
_PYTHONS = "python"  # the images of Python's own project
_NOTHING_LEFT = frozenset({"--no-deps", "--extra-index-url", "--index"})


def retired(ground: Ground) -> Iterator[Finding]:
    """The first package whose name only raises an error."""
    rows = {row.package: row for row in read(RetiredPackage)}
    for step in ground.steps:
        for package in step.packages:
            row = rows.get(normalized(package.name))
            if row is not None and package.tool == "pip" and not package.places.index and not package.spec:
                yield stop(
                    faults.PACKAGE_REFUSES,
                    f"the package {package.name} only raises an error: its name was retired",
                    subject_of(package.line, package.name),
                    impact="The build stops while pip prepares its metadata.",
                    fix=f"Install {row.instead}.",
                    sources=row.sources,
                )
                return


def metadata_refused(ground: Ground) -> Iterator[Finding]:
    """The first package that the newest pip, which was just installed, leaves out."""
    newest = False
    for step in ground.steps:
        row = _refused(step) if newest else None
        if row is not None:
            needs = f"needs {row.requires}" if row.repository else f"requires {row.requires}"
            yield stop(
                faults.PIP_REFUSES_METADATA,
                f"{row.package} {needs}, which pip refuses since {row.since}",
                command_subject(step.command),
                impact="The build stops: pip finds no version that it accepts.",
                sources=row.sources,
            )
            return
        pip = next((one for one in step.packages if one.name == "pip"), None)
        if pip is not None:
            newest = pip.places.upgrades and not pip.spec
        newest = newest or brings_newest_pip(step)


def brings_newest_pip(step: Step) -> bool:
    """True for a get-pip.py, which installs the newest pip."""
    words = called(step.command)
    return len(words) > 1 and "python" in words[0] and words[1].rpartition("/")[2] in ("get-pip.py", "-")


def _refused(step: Step) -> RefusedMetadata | None:
    for row in read(RefusedMetadata):
        for package in step.packages:
            if normalized(package.name) == row.package and package.tool == "pip" and _asks(package, row.versions):
                return row
        words = step.command.words
        if row.repository and "install" in words and any(f"github.com/{row.repository}" in word for word in words):
            return row
    return None


def _asks(package: Package, versions: str) -> bool:
    """True where all that the requirement allows is among the versions; blank ones are all."""
    if not versions:
        return True
    try:
        asked, told = VersionSpec.parse(package.spec), VersionSpec.parse(versions)
    except ValueError:
        return False
    bounded = asked.exact is not None or any(operator in ("<", "<=") for operator, _ in asked.clauses)
    beyond = VersionSpec(tuple((">=", bound) for operator, bound in told.clauses if operator == "<"))
    return bounded and not some_version_meets((asked, beyond))


def index_lacks(ground: Ground) -> Iterator[Finding]:
    """The first package that the index in place of the default one does not have."""
    if not (ground.plain or ground.base.repository == _PYTHONS) or ground.reads_unseen or _has_more_places(ground):
        return
    there: set[str] = set()
    rows = {(row.index, row.package): row for row in read(IndexLacks)}
    for step in ground.steps:
        for package in step.packages:
            name = normalized(package.name)
            row = next((row for (index, lacks), row in rows.items() if lacks == name and index in package.places.index), None)
            alone = package.tool == "pip" and not package.places.more and _NOTHING_LEFT.isdisjoint(step.command.words)
            if row is not None and alone and name not in there:
                yield stop(
                    faults.INDEX_WITHOUT_PACKAGE,
                    f"{package.places.index} has no {package.name}, and --index-url holds for the whole command",
                    subject_of(package.line, f"{package.name}{package.spec}"),
                    impact="The build stops with: No matching distribution found.",
                    sources=row.sources,
                )
                return
        there.update(normalized(package.name) for package in step.packages)


def _has_more_places(ground: Ground) -> bool:
    return any(name in ground.environment for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"))


def pip_outdates_itself(ground: Ground) -> Iterator[Finding]:
    """The first call of apt's pip after it has replaced itself by a release for newer Pythons."""
    system = ground.base.system
    row = next((row for row in read(DistributionPip) if system is not None and row.os_id == system.os_id), None)
    if row is None or not ground.plain or ground.tells & {"python", "deadsnakes", "get-pip"}:
        return
    replaced = False
    for step in ground.steps:
        caller = step.command.words[0]
        if not _APT_PIP.fullmatch(caller) or not step.packages:
            continue
        if replaced:
            yield stop(
                faults.PIP_OUTDATES_ITSELF,
                f"pip {row.pip} of {system.title if system else ''} has replaced itself by the newest pip, which does"
                " not run on its Python",
                command_subject(step.command),
                impact="The build stops with: SyntaxError.",
                sources=row.sources,
            )
            return
        replaced = any(one.name == "pip" and one.places.upgrades and not one.spec for one in step.packages)
