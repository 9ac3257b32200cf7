"""How old each table is: when its rows were last compared with their sources, and how long that holds."""

from __future__ import annotations

from datetime import date

from envkit._startup.records import record
from envkit.tables import Matrix


@record
class Age:
    """The age of one table on a day. `limit_days` None: what it records no longer changes."""

    table: str
    checked: date
    days: int
    limit_days: int | None

    @property
    def stale(self) -> bool:
        """True when the table is older than its limit."""
        return self.limit_days is not None and self.days > self.limit_days


def ages(matrix: Matrix, today: date, limit_days: int | None = None) -> tuple[Age, ...]:
    """The age of every table on `today`; `limit_days` replaces the limit of each table that has one."""
    found = []
    for status in matrix.table_status:
        checked = date.fromisoformat(status.checked)
        limit = status.limit_days if limit_days is None or status.limit_days is None else limit_days
        found.append(Age(status.table, checked, (today - checked).days, limit))
    return tuple(found)
