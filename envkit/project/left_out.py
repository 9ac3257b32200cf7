"""What a project takes from elsewhere than an index: what an image can install of it, and what it leaves out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.project.conda_packages import Standing
from envkit.project.model import Manifest
from envkit.tables.build_stops import CompiledPackage
from envkit.tables.images import extension_build
from envkit.tables.loader import read

_ADDRESS = regex(r"(?:[A-Za-z0-9][\w.-]*(?:\[[\w.,-]+\])? ?@ ?)?(?P<vcs>git\+)?https://[\w.+@:/#=%-]+")
_LOCAL = regex(r"\.{1,2}(?:\[[\w,.-]{0,80}\])?|\.{0,2}/.*|[^:@]*/[^:]*|file:.*|.*\.(?:whl|zip|tar\.gz)")
_END = regex(r"(?:\.git)?(?:@[^/]*)?(?:#.*)?$")
_SHOWN = regex(r"[\w.\[\],<>=!~*+@:/#%&|^ -]+")
_NAMED = 40  # that one line names


@record
class Addresses:
    """What a file takes from addresses and folders. `alone`: code for GPUs, which has to be compiled.

    `built`: such code that a stage of the image compiles, and as requirements that name it `compiled`.

    `git`: something that is `installed` needs it.
    """

    installed: tuple[str, ...] = ()
    local: tuple[str, ...] = ()
    other: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()
    built: tuple[str, ...] = ()
    compiled: tuple[str, ...] = ()
    git: bool = False


def addresses(manifest: Manifest) -> Addresses:
    """What it names that is no package of an index."""
    names = [one.name for one in manifest.unread if not one.refused]
    found = [(name, match) for name in names if (match := _ADDRESS.fullmatch(name)) is not None]
    compiled = {name: row.package for name, _ in found for row in read(CompiledPackage) if _is_of(name, row)}
    alone = [name for name, package in compiled.items() if extension_build(package) is None]
    built = [name for name in compiled if name not in alone]
    installed = [_named(name, compiled.get(name, "")) for name, _ in found if name not in alone]
    addressed = [name for name, _ in found]
    local = [name for name in names if name not in addressed and _LOCAL.fullmatch(name)]
    other = [one.name for one in manifest.unread if one.name not in (*addressed, *local)]
    return Addresses(
        tuple(dict.fromkeys(installed)),
        tuple(dict.fromkeys(local)),
        tuple(dict.fromkeys(other)),
        tuple(alone),
        tuple(built),
        tuple(_named(name, compiled[name]) for name in built),
        any(match["vcs"] for _, match in found),
    )


def _is_of(address: str, row: CompiledPackage) -> bool:
    return any(f"github.com/{name}".lower() in _END.sub("", address).lower() + "/" for name in row.repositories)


def _named(address: str, package: str) -> str:
    """The address with the name of what is there, which says how it is compiled."""
    return address if not package or " @ " in address or extension_build(package) is None else f"{package} @ {address}"


def left_out(standing: Standing, found: Addresses, unwritten: Iterable[str]) -> tuple[str, ...]:
    """The lines that say what the image does not install."""
    lines = (
        ("packages of conda for which envkit knows no package of pip or the distribution", standing.unknown),
        ("compilers of CUDA, which --devel adds", standing.compilers),
        ("code that CUDA's compiler has to build", found.alone),
        ("the project's own code", found.local),
        ("requirements that were not read", (*unwritten, *found.other)),
    )
    return tuple(f"{what} ({', '.join(_shown(names))})" for what, names in lines if names)


def _shown(names: Iterable[str]) -> Iterator[str]:
    """The names that a comment can hold, and how many more there are."""
    every = list(names)
    shown = [name for name in every if _SHOWN.fullmatch(name)][:_NAMED]
    yield from shown
    if len(every) > len(shown):
        yield f"{len(every) - len(shown)} more"
