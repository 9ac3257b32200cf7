"""The torch that pip installs because another package requires it, where no command asks for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from envkit._startup.records import replace
from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.compat.pairs import required
from envkit.dockerfile.clashes import releases_of
from envkit.dockerfile.packages import ListFile, Package
from envkit.tables.build_stops import TorchBringer
from envkit.tables.loader import read
from envkit.tables.pairs import PackagePair

_TORCH = "torch"
_EXACT = regex(r"torch==[\d.]+")


def brought_torch(packages: Sequence[Package], unread: Iterable[ListFile]) -> Package | None:
    """The torch that the first such package provides, called by the name of what provides it; None where none is
    certain.

    A list that was not read may ask for a release of its own, which pip then leaves as it is: only what holds torch
    at one release is certain after it.
    """
    if any(normalized(one.name) == _TORCH for one in packages):
        return None
    bringers = {row.package for row in read(TorchBringer)}
    first = next((one for one in packages if one.tool == "pip" and normalized(one.name) in bringers), None)
    if first is None or "no-deps" in first.marker:
        return None
    held = _held(releases_of(first))
    if not held and any(item.line <= first.line for item in unread):
        return None
    spec = held.removeprefix(_TORCH)
    return replace(first, name=_TORCH, extras=(), spec=spec, places=first.places, wheel=None, held=first.held)


def _held(releases: Sequence[PackagePair]) -> str:
    """The one release of torch that the newest of these requires; '' where it takes several."""
    lines = [line.line for row in releases[-1:] for line in required(row) if line.package == _TORCH]
    return lines[0] if lines and _EXACT.fullmatch(lines[0]) else ""
