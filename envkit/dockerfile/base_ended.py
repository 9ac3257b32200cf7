"""Whether the distribution of the image that a file starts from still gets updates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from envkit.checks.containers import image_faults as faults
from envkit.checks.containers import image_stops
from envkit.checks.engine.findings import Finding, Remedy, Status
from envkit.dockerfile.base import Base, archived_system, base_of
from envkit.dockerfile.check_parts import finding, line_of, subject_of
from envkit.dockerfile.stages import BuildStage, final_chain
from envkit.tables.rows import OperatingSystem

if TYPE_CHECKING:
    from envkit.tables import Matrix

# Debian's long-term support is for everyone; what others call extended support has to be paid for.
_FREE_LONG_SUPPORT = "debian"
_TOLD = frozenset({faults.BASE_GONE.id, faults.BASE_END_OF_LIFE.id, faults.BASE_UNKNOWN.id})


def base_ended(stages: Sequence[BuildStage], told: Sequence[Finding], matrix: Matrix) -> Iterator[Finding]:
    """The finding on the image that the last stage is made of, where nothing was told of it yet."""
    first = final_chain(stages)[0]
    base = base_of(first, matrix)
    system = base.system
    known = {one.id for one in told if line_of(one) == base.line and one.status is not Status.OK}
    if known & _TOLD or not (base.plain or base.row is not None) or base.own is not None:
        return
    if system is None:
        yield from _archived(base, told)
        return
    ended = _end(system)
    if ended and ended < matrix.data_date:
        yield _told(
            base, f"standard support for {system.title} ended on {ended}", system.sources, _newer(system, matrix)
        )


def _archived(base: Base, told: Sequence[Finding]) -> Iterator[Finding]:
    """The finding on a distribution of which only the archive is left, where no command has stopped at that."""
    row = archived_system(base)
    if row is not None and all(one.id != image_stops.ARCHIVE_GONE.id for one in told):
        yield _told(base, f"support for {row.title} has ended", row.sources)


def _told(base: Base, title: str, sources: tuple[str, ...], newer: str = "") -> Finding:
    return finding(
        faults.BASE_END_OF_LIFE,
        Status.WARN,
        title,
        subject_of(base.line, base.image),
        impact="It no longer gets free security updates.",
        remedy=Remedy(f"Use a base image with a newer release of the distribution{newer}."),
        sources=sources,
    )


def _newer(system: OperatingSystem, matrix: Matrix) -> str:
    """The oldest release of the same distribution that is still supported, as an example."""
    family = system.os_id.rstrip("0123456789.")
    kept = [row for row in matrix.operating_systems if row.os_id.rstrip("0123456789.") == family]
    alive = [(end, row.title) for row in kept if (end := _end(row)) and end >= matrix.data_date]
    return f", such as {min(alive)[1]}" if alive else ""


def _end(system: OperatingSystem) -> str | None:
    if system.os_id.startswith(_FREE_LONG_SUPPORT):
        return system.extended_support_end or system.end_of_support
    return system.end_of_support
