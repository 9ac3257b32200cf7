"""Which frameworks a project's image is planned for: those named, and the one that its other packages compute with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.base.versions import VersionSpec
from envkit.compat.packages import requirement_of
from envkit.project.model import Item
from envkit.tables.build_stops import TorchBringer
from envkit.tables.images import Backend, CpuPackage
from envkit.tables.loader import read
from envkit.tables.project_names import FrameworkUser
from envkit.tables.rows import Framework

if TYPE_CHECKING:
    from envkit.tables import Matrix

_PYTORCH = "pytorch"
_CONDA_BUILD = regex(r"-(?:gpu|cpu)$")
_FOR_CPU = regex(r"\+cpu\b|/whl/cpu/?(?:\s|\Z)")


@record
class Planned:
    """The frameworks with what asks for them, None for one that is not named itself, and what to say of them.

    `kept` are packages of frameworks for the CPU that stay as the project asks.
    """

    frameworks: tuple[tuple[Framework, Item | None], ...]
    kept: tuple[Item, ...] = ()
    notes: tuple[str, ...] = ()


def planned(items: Sequence[Item], matrix: Matrix) -> Planned:
    """What a project's packages, extras left out, ask for; the last of several lines of a framework counts."""
    named = {known: item for item in items if (known := framework_of(item, matrix)) is not None}
    for_cpu = {known: item for known, item in named.items() if is_for_cpu(item)}
    computing = [known for known in named if known not in for_cpu and _computes(known)]
    if not computing:
        notes = tuple(_turned(known, item) for known, item in for_cpu.items())
        return Planned(tuple(named.items()), (), notes) if named else _brought(items, matrix)
    notes = tuple(_stays(item) for item in for_cpu.values())
    left = tuple((known, item) for known, item in named.items() if known not in for_cpu)
    return Planned(left, tuple(for_cpu.values()), notes)


def framework_of(item: Item, matrix: Matrix) -> Framework | None:
    """The framework that a package is; conda has names of its own for its builds."""
    name = normalized(item.package.name)
    return matrix.framework(_CONDA_BUILD.sub("", name) if item.package.tool == "conda" else name)


def is_for_cpu(item: Item) -> bool:
    """Whether a framework's package says by its name, its suffix, or its index that it is for the CPU."""
    package = item.package
    name = normalized(package.name)
    if name.endswith("-cpu") or _FOR_CPU.search(f"{package.spec} {package.places.index}"):
        return True
    return package.tool == "pip" and any(
        row.package == name and not row.platform and _applies(row, name + package.spec) for row in read(CpuPackage)
    )


def _applies(row: CpuPackage, text: str) -> bool:
    """Whether the releases of a row are what a requirement names; an open one takes a newer release."""
    if not row.versions:
        return True
    wanted = requirement_of(text)
    exact = wanted.spec.exact if wanted is not None else None
    return exact is not None and VersionSpec.parse(row.versions).holds(exact)


def _computes(known: Framework) -> bool:
    """False for a framework that computes with another one."""
    return all(row.framework != known.name for row in read(Backend))


def _asked(item: Item) -> str:
    return f"{item.package.name}{item.package.spec}"


def _turned(known: Framework, item: Item) -> str:
    return f"the project asks for {_asked(item)}, which is for the CPU; the image gets the GPU build of {known.title}"


def _stays(item: Item) -> str:
    return f"{_asked(item)} is for the CPU, and stays so: another framework of the project uses the GPU"


def _brought(items: Iterable[Item], matrix: Matrix) -> Planned:
    """The framework that the packages compute with, where they name none."""
    for name, framework in _bringers(items):
        known = matrix.framework(framework)
        if known is not None:
            note = f"the project names no framework: {known.title} was chosen, because {name} uses it"
            return Planned(((known, None),), (), (note,))
    return Planned(())


def _bringers(items: Iterable[Item]) -> Iterator[tuple[str, str]]:
    """The packages that use a framework: those that require it first."""
    names = [normalized(item.package.name) for item in items]
    requiring = {row.package for row in read(TorchBringer)}
    users = {row.package: row.framework for row in read(FrameworkUser)}
    yield from ((name, _PYTORCH) for name in names if name in requiring)
    yield from ((name, users[name]) for name in names if name in users)
