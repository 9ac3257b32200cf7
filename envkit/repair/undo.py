"""How one step of a fix is undone, as data."""

from __future__ import annotations

from envkit._startup.records import record
from envkit.host.repairs import Work

CHANGED_SINCE = "was changed since"
AS_IT_WAS = "nothing to do: it is unchanged, or an earlier step covers it"


@record
class Undo:
    """One step undone: the line that it took, and the commands; or the reason why it is left as it is."""

    line: str
    works: tuple[Work, ...] = ()
    reason: str = ""
    removes: tuple[str, ...] = ()  # packages and files, which is asked about whatever the options say
