"""The words of an installer's command line, from the table of options."""

from __future__ import annotations

from collections.abc import Mapping

from envkit.base.versions import Version
from envkit.tables.installer import OptionRow, holds_for
from envkit.tables.loader import read


def installer_options(
    style: str, component: str, release: Version | None, conditions: frozenset[str], values: Mapping[str, str]
) -> tuple[str, ...]:
    """The options in order. A row counts when its `when` is blank or one of `conditions`; `{name}` takes `values`."""
    rows = sorted(
        (row for row in read(OptionRow) if row.style == style and row.component == component),
        key=lambda row: row.position,
    )
    return tuple(
        row.option.format(**values)
        for row in rows
        if (not row.when or row.when in conditions) and (release is None or holds_for(row.release, release))
    )


def option_for(style: str, component: str, condition: str) -> str:
    """The option of this installer that answers `condition`, or ''."""
    rows = (row for row in read(OptionRow) if row.style == style and row.component == component)
    return next((row.option for row in rows if row.when == condition), "")
