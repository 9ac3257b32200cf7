"""What a project takes from elsewhere than an index: what an image can install of it, and what it leaves out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.project.conda_packages import Standing
from envkit.project.model import Manifest

_ADDRESS = regex(r"(?:[A-Za-z0-9][\w.-]*(?:\[[\w.,-]+\])? ?@ ?)?(?P<vcs>git\+)?https://[\w.+@:/#=%-]+(?:&[\w.=/-]+)*")
_LOCAL = regex(r"\.{0,2}(?:/.*)?|[^:@]*/[^:]*|file:.*|.*\.(?:whl|zip|tar\.gz)")
_OPTION = "-"
_SHOWN = regex(r"[\w.\[\],<>=!~*+@:/#%&|^ -]+")
_NAMED = 40  # that one line names


@record
class Addresses:
    """What a file takes from addresses and folders. `git`: something that is `installed` needs it."""

    installed: tuple[str, ...] = ()
    local: tuple[str, ...] = ()
    other: tuple[str, ...] = ()
    git: bool = False


def addresses(manifest: Manifest) -> Addresses:
    """What it names that is no package of an index."""
    names = [one.name for one in manifest.unread if not one.refused]
    found = [(name, match) for name in names if (match := _ADDRESS.fullmatch(name)) is not None and "&" not in name]
    installed = [name for name, _ in found]
    local = [name for name in names if name not in installed and _LOCAL.fullmatch(name)]
    other = [one.name for one in manifest.unread if one.name not in (*installed, *local)]
    return Addresses(
        tuple(dict.fromkeys(installed)),
        tuple(dict.fromkeys(local)),
        tuple(dict.fromkeys(other)),
        any(match["vcs"] for _, match in found),
    )


def left_out(standing: Standing, found: Addresses, unwritten: Iterable[str]) -> tuple[str, ...]:
    """The lines that say what the image does not install."""
    lines = (
        ("packages of conda for which envkit knows no package of pip or the distribution", standing.unknown),
        ("compilers of CUDA, which --devel adds", standing.compilers),
        ("the project's own code", found.local),
        ("requirements that were not read", (*unwritten, *found.other)),
    )
    return tuple(f"{what}: {', '.join(_shown(names))}" for what, names in lines if names)


def _shown(names: Iterable[str]) -> Iterator[str]:
    """The names that a comment can hold, and how many more there are."""
    every = list(names)
    shown = [name for name in every if _SHOWN.fullmatch(name)][:_NAMED]
    yield from shown
    if len(every) > len(shown):
        yield f"{len(every) - len(shown)} more"
