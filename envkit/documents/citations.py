"""The sources of a verdict, which are keys until here, as words: title, address, or both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from envkit.tables import Matrix

if TYPE_CHECKING:
    from envkit.checks.engine.findings import Evidence, Finding
    from envkit.tables.loader import Source


def titles(keys: Iterable[str]) -> list[str]:
    """The title of each source, each once."""
    return list(dict.fromkeys(source.title for source in _sources(keys)))


def citations(keys: Iterable[str]) -> list[str]:
    """Title and address of each source, each once."""
    return list(dict.fromkeys(source.citation for source in _sources(keys)))


def cited(keys: Iterable[str]) -> str:
    """Title and address of each source, as the one text that a document has for them."""
    return "; ".join(citations(keys))


def seen_in(evidence: Evidence) -> str:
    """Where a value was read: the file or command, or the sources of the row that it comes from."""
    return evidence.source or cited(evidence.sources)


def references_of(finding: Finding) -> list[str]:
    """The addresses that a finding refers to: those written with its check, then those of its rows' sources."""
    rows = [source.url or source.title for source in _sources(finding.sources)]
    return list(dict.fromkeys((*finding.references, *rows)))


def _sources(keys: Iterable[str]) -> Iterator[Source]:
    matrix = Matrix.load()
    return (matrix.source(key) for key in keys)
