"""What installed packages ask of each other: requirement lines judged against what is installed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from envkit._startup.records import record
from envkit.model import Distribution, Environment, PythonEnvironment

if TYPE_CHECKING:
    from packaging.requirements import Requirement

_MOST_BUNDLES = 100  # packages that are asked for with extras
_MOST_EXTRAS = 100  # of one package; each is held against each of its lines


@record
class Broken:
    """A requirement that what is installed does not meet."""

    owner: Distribution
    installed: Distribution
    wanted: str  # the specifier, such as ==12.4.5.8


def machine(environment: Environment) -> str:
    """The architecture that requirement lines are judged for; x86_64 where it is not known."""
    return environment.system.architecture.value or "x86_64"


def broken(
    python: PythonEnvironment, owners: Iterable[str], prefixes: tuple[str, ...], architecture: str
) -> list[Broken]:
    """The requirements of `owners` on packages that begin with one of `prefixes` which are not met.

    A package that is not installed at all is not listed: its files may come from elsewhere. A line that cannot be
    read, or whose marker does not hold on this `architecture` (x86_64, aarch64), asks for nothing.
    """
    installed = {item.name: item for item in python.distributions if item.installer != "conda"}
    waiting = [(installed[name], frozenset[str]()) for name in sorted(installed.keys() & set(owners))]
    result: list[Broken] = []
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        owner, extras = waiting.pop(0)
        for wanted in _requirements(owner, prefixes, extras, python, architecture):
            name = _plain(wanted.name)
            item = installed.get(name)
            if item is None:
                continue
            if not wanted.specifier.contains(_version_text(item.version), prereleases=True):
                result.append(Broken(owner, item, str(wanted.specifier)))
            key = (name, frozenset(sorted(wanted.extras)[:_MOST_EXTRAS]))
            # a package that only bundles others, as cuda-toolkit[cublas]
            if wanted.extras and key not in seen and len(seen) < _MOST_BUNDLES:
                seen.add(key)
                waiting.append((item, key[1]))
    return result


def _requirements(
    owner: Distribution, prefixes: tuple[str, ...], extras: frozenset[str], python: PythonEnvironment, architecture: str
) -> Iterator[Requirement]:
    from envkit.base.requirements import holds, requirement

    environment = {
        "platform_system": "Linux",
        "sys_platform": "linux",
        "os_name": "posix",
        "platform_machine": architecture,
    }
    if python.version is not None:
        environment["python_version"] = str(python.version.release(2))
        environment["python_full_version"] = str(python.version.release(3))
    for line in owner.requires:
        if not _plain(line).startswith(prefixes):
            continue
        wanted = requirement(line)
        if wanted is not None and (
            wanted.marker is None
            or any(holds(wanted.marker, {**environment, "extra": extra}) for extra in (extras or {""}))
        ):
            yield wanted


def _plain(name: str) -> str:
    return name.strip().lower().replace("_", "-").replace(".", "-")


def _version_text(version: str) -> str:
    """The version as packaging reads it; text that is none counts as zero, which meets nothing exact."""
    from packaging.version import InvalidVersion, Version

    try:
        return str(Version(version))
    except InvalidVersion:
        return "0"
