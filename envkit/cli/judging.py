"""The hosts of folders and files, judged by as many processes as there are processors, while a person waits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from envkit.fleet.model import HostResult
    from envkit.ingest.hosts import HostSource


def judged(places: Sequence[str], *, mask: bool = False, jobs: int | None = None) -> list[HostResult]:
    """The hosts in the order of their places; who waits for many sees how far it is. Raises SourceError."""
    from envkit.base.errors import LimitError
    from envkit.checks.engine.registry import all_checks
    from envkit.cli.reading import counting
    from envkit.fleet.judge import host_results, not_judged
    from envkit.fleet.model import State
    from envkit.host.limits import FOREIGN_S, limited
    from envkit.host.workers import spread
    from envkit.ingest.hosts import host_sources, unreadable
    from envkit.tables import Matrix

    sources, checks, matrix = host_sources(places), list(all_checks().values()), Matrix.load()

    def work(some: Sequence[HostSource]) -> list[HostResult]:
        return [host for source in some for host in within_limits(source)]

    def within_limits(source: HostSource) -> list[HostResult]:
        try:
            with limited("fleet", FOREIGN_S):
                return host_results(source, checks, matrix, mask=mask)
        except LimitError as error:
            return [not_judged(source.name, State.UNREADABLE, unreadable(source, error), mask=mask)]

    hosts: list[HostResult] = []
    with counting(len(sources), "hosts") as progress:
        for done in spread(work, sources, jobs):
            hosts += done
            progress(len(hosts))
    return hosts
