"""Where a build stops at a package of pip: its name is retired, its metadata refused, its index has no such package."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.base.versions import Version, VersionSpec
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding
from envkit.compat.software import some_version_meets
from envkit.dockerfile.check_parts import command_subject, stop, subject_of
from envkit.dockerfile.clones import is_of_repository
from envkit.dockerfile.ground import Ground, Step, is_pip
from envkit.dockerfile.newest_pip import discards, with_new_pip_of_conda, with_newest_pip
from envkit.dockerfile.packages import Package
from envkit.dockerfile.shell import called
from envkit.dockerfile.specifiers import is_bounded, pinned_release
from envkit.tables.build_stops import (
    DistributionPip,
    IndexLacks,
    MovingPython,
    RefusedMetadata,
    RefusedOption,
    UnbuildablePackage,
)
from envkit.tables.loader import read
from envkit.tables.source_stops import RetiredPackage

_APT_PIP = regex(r"(?:/usr/bin/)?pip[23]?|(?:/usr/bin/)?python[23]?")
_APT_PIP_THREE = regex(r"(?:/usr/bin/)?(?:pip|python)3")
_OF_PYTHON_THREE, _PLAIN_PIP = "3", ""  # the first of which replaces the other as well
_MAKES_ENVIRONMENT = ("python3", "-m", "venv")
_EASY_INSTALL = regex(r"(?:/usr/(?:local/)?bin/)?easy_install(?:[-\d.]{1,4})?")
_THIRD = regex(r"python3|pip3|rh-python")
_MINICONDA = "repo.anaconda.com/miniconda"
_NOTHING_LEFT = frozenset({"--no-deps", "--extra-index-url", "--index"})


def retired(ground: Ground) -> Iterator[Finding]:
    """The first package whose name was retired."""
    rows = {row.package: row for row in read(RetiredPackage)}
    for step, newest in with_newest_pip(ground):
        for package in step.packages:
            row = rows.get(normalized(package.name))
            if row is None or not _is_retired(package, row):
                continue
            if not (row.older and discards(step, ground, newest=newest)):
                yield stop(
                    faults.PACKAGE_REFUSES,
                    f"the package {package.name} {row.because}",
                    subject_of(package.line, package.name),
                    impact=_STOPS[row.stops],
                    fix=f"Install {_instead(package, row)}." if row.instead else "Remove it, or install Miniforge.",
                    sources=row.sources,
                )
                return


def _instead(package: Package, row: RetiredPackage) -> str:
    """The package to install; in the release that was asked for, where the two have the same numbers."""
    return f"{row.instead}{package.spec}" if row.every and pinned_release(package.spec) else str(row.instead)


_STOPS = {
    "build": "The build stops in pip install.",
    "import": "It installs, and stops when it is imported.",
}


def _is_retired(package: Package, row: RetiredPackage) -> bool:
    """True where pip certainly takes such a release from the default index."""
    if package.tool != "pip" or package.places.index or package.wheel is not None or package.held:
        return False
    if row.since is None:
        return row.every or not package.spec
    return not is_bounded(package.spec) or asks_only(package, f">={row.since}")


def option_refused(ground: Ground) -> Iterator[Finding]:
    """The first package that is built with an option at which its build stops; an older release may take it."""
    rows = {row.package: row for row in read(RefusedOption)}
    for step in ground.steps:
        words = (*step.command.words, ground.environment.get("CMAKE_ARGS", ""))
        for package in step.packages:
            row = rows.get(normalized(package.name))
            if row is not None and not package.spec and any(row.option in word for word in words):
                yield stop(
                    faults.PACKAGE_REFUSES,
                    f"the build of {package.name} stops at the option {row.option}",
                    subject_of(package.line, package.name),
                    impact="The build stops: CMake reports an error.",
                    fix=f"Write {row.instead}.",
                    sources=row.sources,
                )
                return


def unbuildable(ground: Ground) -> Iterator[Finding]:
    """The first release without a wheel for its Python whose source cannot be built anymore."""
    names = {row.package for row in read(UnbuildablePackage)}
    for step in ground.steps:
        for package in step.packages:
            if package.tool != "pip" or normalized(package.name) not in names:
                continue
            python = ground.pythons.of(package.caller, step.place) or _of_newest_conda(package, ground)
            rows = [row for row in read(UnbuildablePackage) if row.package == normalized(package.name)]
            row = next((row for row in rows if asks_only(package, row.versions)), None)
            if row is not None and row.versions and not package.spec.startswith("=="):
                continue
            if row is not None and python is not None and python >= row.python:
                yield stop(
                    faults.PACKAGE_REFUSES,
                    f"{package.name}{package.spec} has no wheel for Python {python.release(2)}, and its source can no "
                    "longer be built",
                    subject_of(package.line, f"{package.name}{package.spec}"),
                    impact="The build stops while pip builds it.",
                    fix=f"Use a newer release of {package.name}.",
                    sources=row.sources,
                )
                return


def _of_newest_conda(package: Package, ground: Ground) -> Version | None:
    """The Python that the newest Miniconda has at least, where a file calls its pip by its folder."""
    if "anaconda" not in ground.tells or "conda" not in package.caller or "/envs/" in package.caller:
        return None
    return next((row.python for row in read(MovingPython) if row.repository == _MINICONDA), None)


def system_sync(ground: Ground) -> Iterator[Finding]:
    """The first `uv sync` with an option that only `uv pip` has."""
    for step in ground.steps:
        words = called(step.command)
        if words[:2] == ("uv", "sync") and "--system" in words and step.command.decisive:
            yield stop(
                faults.TOOL_OPTION,
                "uv sync has no option --system",
                command_subject(step.command),
                impact="The build stops with: unexpected argument '--system'.",
                fix="Set UV_PROJECT_ENVIRONMENT to the target environment, or use uv pip install --system.",
            )
            return


def metadata_refused(ground: Ground) -> Iterator[Finding]:
    """The first package that the newest pip, which was just installed, leaves out."""
    for (step, newest), of_conda in zip(with_newest_pip(ground), with_new_pip_of_conda(ground), strict=True):
        row = _refused(step) if newest or of_conda else None
        if row is not None:
            needs = f"needs {row.requires}" if row.repositories else f"requires {row.requires}"
            yield stop(
                faults.PIP_REFUSES_METADATA,
                f"{row.package} {needs}, which pip has refused since {row.since}",
                command_subject(step.command),
                impact="The build stops: pip finds no version that it accepts.",
                sources=row.sources,
            )
            return


def _refused(step: Step) -> RefusedMetadata | None:
    rows = {row.package: row for row in read(RefusedMetadata)}
    for package in step.packages:
        row = rows.get(normalized(package.name)) if package.tool == "pip" else None
        if row is not None and asks_only(package, row.versions):
            return row
    if "install" not in step.command.words:
        return None
    for row in rows.values():
        words = step.command.words
        if any(is_of_repository(word, repository) for word in words for repository in row.repositories):
            return row
    return None


def asks_only(package: Package, versions: str) -> bool:
    """True where all that the requirement allows is among the versions; blank ones are all."""
    if not versions:
        return True
    try:
        asked, told = VersionSpec.parse(package.spec), VersionSpec.parse(versions)
    except ValueError:
        return False
    if asked.exact is not None:
        return told.holds(asked.exact)
    bounded = any(operator in ("<", "<=") for operator, _ in asked.clauses)
    beyond = VersionSpec(tuple((">=", bound) for operator, bound in told.clauses if operator == "<"))
    return bounded and not some_version_meets((asked, beyond))


def index_lacks(ground: Ground) -> Iterator[Finding]:
    """The first package that the index in place of the default one does not have."""
    if not ground.stock or ground.reads_unseen or _has_more_places(ground):
        return
    there: set[str] = set()
    rows = {row.package: row for row in read(IndexLacks)}
    for step in ground.steps:
        whole = not _NOTHING_LEFT.isdisjoint(step.command.words)
        for package in step.packages:
            if package.tool != "pip" or not package.places.index or package.places.more or whole:
                continue
            name = normalized(package.name)
            row = rows.get(name)
            if row is not None and row.index in package.places.index and name not in there:
                yield stop(
                    faults.INDEX_WITHOUT_PACKAGE,
                    f"{package.places.index} has no {package.name}, and --index-url applies to the whole command",
                    subject_of(package.line, f"{package.name}{package.spec}"),
                    impact="The build stops with 'No matching distribution found'.",
                    sources=row.sources,
                )
                return
        there.update(normalized(package.name) for package in step.packages)


def _has_more_places(ground: Ground) -> bool:
    return any(name in ground.environment for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"))


def pip_outdates_itself(ground: Ground) -> Iterator[Finding]:
    """The first call of each pip of the distribution after it has replaced itself by one for newer Pythons."""
    system = ground.base.system
    row = next(iter(ground.of_system(DistributionPip)), None)
    if row is None or not ground.plain or ground.tells & {"deadsnakes", "get-pip"}:
        return
    of_apt = system is not None and system.package_manager == "apt"
    if not of_apt and any(_THIRD.search(text) for text in ground.texts):  # whose pip is a newer one
        return
    replaced: set[str] = set()
    told: set[str] = set()
    for step, pip in _with_pips(ground):
        if pip in replaced - told:
            told.add(pip)
            yield stop(
                faults.PIP_OUTDATES_ITSELF,
                f"pip {row.pip} in {system.title if system else ''} has replaced itself with the newest pip, which "
                "does not run on its Python",
                command_subject(step.command),
                impact="The build stops with: SyntaxError.",
                sources=row.sources,
            )
        if any(one.name == "pip" and one.places.upgrades and not one.spec for one in step.packages):
            replaced |= {pip, _PLAIN_PIP} if pip == _OF_PYTHON_THREE else {pip}


def pip_by_easy_install(ground: Ground) -> Iterator[Finding]:
    """The first easy_install that takes the newest pip for a Python which that no longer runs on."""
    row = next(iter(ground.of_system(DistributionPip)), None)
    if row is None or not ground.plain or ground.tells & {"deadsnakes", "get-pip", "environment"}:
        return
    for step in ground.steps:
        words = called(step.command)
        if words and _EASY_INSTALL.fullmatch(words[0]) and "pip" in words[1:] and step.command.decisive:
            yield stop(
                faults.PIP_OUTDATES_ITSELF,
                "easy_install takes the newest pip, whichever Python that requires",
                command_subject(step.command),
                impact="The build stops: that pip does not install on its Python.",
                fix="Install the distribution's package python-pip instead.",
                sources=row.sources,
            )
            return


def _with_pips(ground: Ground) -> Iterator[tuple[Step, str]]:
    """The steps that install with a pip of the distribution's release, and its environment or which of apt's it is."""
    system = ground.base.system
    environments: set[str] = set()
    for step in ground.steps:
        words = called(step.command)
        if words[:3] == _MAKES_ENVIRONMENT:
            environments.add(words[-1].rstrip("/"))
        caller = next(iter(words), "")
        if not step.packages and not (is_pip(caller) and "install" in words):
            continue
        if _APT_PIP.fullmatch(caller) and "python" not in ground.tells:
            yield step, _OF_PYTHON_THREE if _APT_PIP_THREE.fullmatch(caller) else _PLAIN_PIP
        folder = posixpath.dirname(posixpath.dirname(caller))
        python = ground.pythons.of(caller, step.place)
        same = system is not None and python is not None and python == system.default_python
        if folder in environments and same:
            yield step, folder
