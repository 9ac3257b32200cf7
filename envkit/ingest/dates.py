"""When a line of a log was written, and when somebody last looked at the GPU."""

from __future__ import annotations

import re
from datetime import date

from envkit._startup.regex import regex
from envkit.base.kept import kept
from envkit.ingest.text import Text

_MONTHS = {
    name: number
    for number, names in enumerate(
        ("jan", "feb", "mar mär", "apr", "may mai", "jun", "jul", "aug", "sep", "oct okt", "nov", "dec dez"), start=1
    )
    for name in names.split()
}
_LOOK = regex(
    r"^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (?P<month>[A-Z][a-z]{2}) {1,2}(?P<day>\d{1,2}) [\d:]{8} (?:[AP]M )?"
    r"(?:[A-Z]{2,5} )?(?P<year>20\d\d) *$",
    re.MULTILINE,
)
_TIMESTAMP = regex(
    r"^Timestamp {1,40}: [A-Z][a-z]{2} (?P<month>[A-Z][a-z]{2}) {1,2}(?P<day>\d{1,2}) [\d:]{8} (?P<year>20\d\d)",
    re.MULTILINE,
)
_OF_KERNEL = regex(r"\[?[A-Z][a-z]{2} (?P<month>[A-Z][a-z]{2}) {1,2}(?P<day>\d{1,2}) [\d:]{8} (?P<year>20\d\d)\]")
_OF_SYSLOG = regex(r"(?P<month>[A-Z][a-zä]{2}) {1,2}(?P<day>\d{1,2}) [\d:]{8} ")
_ISO = regex(r"(?P<year>20\d\d)-(?P<month>\d\d)-(?P<day>\d\d)[T ]\d\d:")


_BOOT = regex(r"[#$>] ?uptime -s\n(?P<year>20\d\d)-(?P<month>\d\d)-(?P<day>\d\d) [\d:]{8}$", re.MULTILINE)


@kept
def look_date(text: Text) -> date | None:
    """The day of the last output of nvidia-smi, or of the last boot; None where none is dated."""
    looks = (
        *text.matches(_LOOK, " 20"),
        *text.matches(_TIMESTAMP, "Timestamp"),
        *text.matches(_BOOT, "uptime -s", lines=2),
    )
    return max(filter(None, map(_date, looks)), default=None)


def days_between(line: str, later: date) -> int | None:
    """How many days before `later` this line of a log was written; None where it does not say."""
    match = _OF_KERNEL.match(line) or _ISO.match(line)
    if match is not None:
        day = _date(match)
    else:
        match = _OF_SYSLOG.match(line)
        day = _before(match, later) if match else None
    return (later - day).days if day else None


def _before(match: re.Match[str], later: date) -> date | None:
    """The day without a year as the last one that is not after `later`."""
    this = _date(match, later.year)
    return this if this is None or this <= later else _date(match, later.year - 1)


def _date(match: re.Match[str], year: int = 0) -> date | None:
    month = match["month"].lower()
    number = int(month) if month.isdecimal() else _MONTHS.get(month, 0)
    try:
        return date(year or int(match["year"]), number, int(match["day"]))
    except ValueError:
        return None
