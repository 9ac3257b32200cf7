"""Before which commands of a stage pip has been replaced by its newest release, and what that release is at least."""

from __future__ import annotations

from collections.abc import Iterator

from envkit.base.versions import Version, VersionSpec
from envkit.dockerfile.ground import Ground, Step
from envkit.dockerfile.shell import called
from envkit.tables.codes import limit
from envkit.tables.installer import last_pip
from envkit.tables.program_stops import SystemPip

# What makes an environment with a pip of its own.
_ENVIRONMENTS = frozenset({"venv", "virtualenv"})
_CONDA = frozenset({"conda", "mamba", "micromamba"})


def with_newest_pip(ground: Ground) -> Iterator[tuple[Step, bool]]:
    """Each step, and whether pip is the newest release that its Python takes right before it."""
    newest = False
    for step in ground.steps:
        yield step, newest
        words = called(step.command)
        if not _ENVIRONMENTS.isdisjoint(words) or (words[:1] and words[0] in _CONDA and "create" in words):
            newest = "--upgrade-deps" in words
        pip = next((one for one in step.packages if one.name == "pip"), None)
        if pip is not None:
            newest = pip.places.upgrades and not pip.spec
        newest = newest or brings_newest_pip(step)


def with_new_pip_of_conda(ground: Ground) -> Iterator[bool]:
    """Whether each step has the pip of an environment of conda that the stage itself made, and whose pip is of today.

    It is active for the rest of the RUN that activates it.
    """
    made: set[str] = set()
    active = 0
    for step in ground.steps:
        words = called(step.command)
        of_conda = bool(words) and words[0] in _CONDA
        named = [after for word, after in zip(words, words[1:], strict=False) if word in ("-n", "--name")]
        if of_conda and "create" in words and _is_for_a_new_pip(step):
            made.update(named)
        if any(one.name == "pip" for one in step.packages):
            made.clear()
        if of_conda and words[1:2] == ("activate",):
            active = step.place[1] if words[-1] in made else 0
        yield bool(made) and step.place[1] == active


def _is_for_a_new_pip(step: Step) -> bool:
    """Whether conda has a recent pip for the Python of an environment that it makes."""
    specs = {one.name: one.spec for one in step.packages}
    told = Version.find(specs.get("python", ""))
    return told is not None and told.release(2) >= limit("python-of-recent-conda-pip") and not specs.get("pip")


def brings_newest_pip(step: Step) -> bool:
    """True for a get-pip.py, which installs the newest pip."""
    words = called(step.command)
    return len(words) > 1 and "python" in words[0] and words[1].rpartition("/")[2] in ("get-pip.py", "-")


def reaches(python: Version | None, since: Version) -> bool:
    """Whether the newest pip for a Python is certainly that release or a later one."""
    if python is None:
        return False
    bounds = _bounds(python)
    return any(bound > since for bound in bounds) if bounds else python.major > 2


def _bounds(python: Version | None) -> tuple[Version, ...]:
    """What the last pip for an old Python is bounded by; empty where the newest one runs on it."""
    requirement = last_pip(python) or ""
    return tuple(bound for _, bound in VersionSpec.parse(requirement.removeprefix("pip")).clauses)


def discards(step: Step, ground: Ground, *, newest: bool) -> bool:
    """Whether the pip of a step certainly goes on to an older release where it cannot make the metadata of one."""
    since, until = limit("pip-discarding-since"), limit("pip-discarding-until")
    python = ground.pythons.of(next(iter(called(step.command)), ""), step.place)
    if newest:
        return python is not None and python.major > 2 and any(since < bound <= until for bound in _bounds(python))
    own = ground.plain and not ground.tells & {"deadsnakes", "get-pip", "environment"}
    return own and any(since <= row.pip < until for row in ground.of_system(SystemPip))


def isolates_always(python: Version | None) -> bool:
    """Whether the newest pip for a Python builds every package in an environment of its own, as later releases do."""
    return reaches(python, limit("pip-isolating-always"))


def builds_apart(caller: str, ground: Ground, python: Version | None, *, newest: bool) -> bool:
    """Whether a package is certainly built in an environment of its own, with the setuptools of today.

    Every pip does where there is no setuptools, as in images of Python's own project.
    """
    if python is not None and python.release(2) < limit("python-of-setuptools-without-pkg-resources"):
        return False
    if caller.startswith("uv"):
        return True
    bare = ground.of_python and ground.first and python is not None
    if bare and python is not None and python.release(2) >= limit("python-images-without-setuptools"):
        return not any(one.name == "setuptools" for step in ground.steps for one in step.packages)
    return newest and "pip" in caller and isolates_always(python)
