"""Frameworks that a command asks for and that an earlier one has installed: pip leaves them as they are."""

from __future__ import annotations

from envkit.dockerfile.framework_packages import Wanted
from envkit.dockerfile.specifiers import Release, Wish, pinned_release
from envkit.dockerfile.wanted import Choices

_LOCAL = "-local"


def without_installed(chosen: Choices) -> Choices:
    """The packages that something is installed for."""
    return {wanted: build for wanted, build in chosen.items() if not any(_is_met_by(wanted, one) for one in chosen)}


def _is_met_by(wanted: Wanted, other: Wanted) -> bool:
    """True where an earlier command of the stage pins a release that a later requirement takes: pip leaves it."""
    release = next(filter(None, map(pinned_release, other.spec.split(","))), None)  # of several in one command
    same = (wanted.framework, wanted.package, wanted.python) == (other.framework, other.package, other.python)
    if not same or release is None or wanted.tool != "pip" or other.tool != "pip" or wanted.upgrades:
        return False
    if wanted.command[:1] != other.command[:1] or wanted.command <= other.command:
        return False
    if not _bare(wanted.extras) <= _bare(other.extras) or (wanted.suffix and wanted.variant != other.variant):
        return False
    try:
        return Wish.parse(wanted.spec, wanted.tool).holds(Release.parse(release))
    except ValueError:
        return False


def _bare(extras: tuple[str, ...]) -> frozenset[str]:
    """The extras; one for the CUDA of the system, as cuda12-local, asks for a part of what that for pip's brings."""
    return frozenset(extra.removesuffix(_LOCAL) for extra in extras)
