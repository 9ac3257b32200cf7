"""The toolkits that a CUDA version stands for: one release for 12.4.1, a line for 12.4, every minor for 12."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from envkit.base.kept import kept
from envkit.base.versions import Version, by_line
from envkit.compat.tables import Tables
from envkit.tables.rows import Toolkit


def toolkits_of(cuda: Version, tables: Tables) -> Sequence[Toolkit]:
    """The toolkits of a CUDA version or release line, ascending; empty when the tables know none."""
    return toolkits_by_line(tables).get(cuda.parts, ())


@kept
def toolkits_by_line(tables: Tables) -> Mapping[tuple[int, ...], Sequence[Toolkit]]:
    """The toolkits by every release line that holds them."""
    return by_line(tables.toolkits, lambda toolkit: toolkit.version)


def sources_of(rows: Iterable[Toolkit]) -> tuple[str, ...]:
    """The sources of the last of these rows: the newest release speaks for its line."""
    newest = list(rows)[-1:]
    return newest[0].sources if newest else ()
