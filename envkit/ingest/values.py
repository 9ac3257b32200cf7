"""Small values as tools write them; text that says that there is none becomes None."""

from __future__ import annotations

from envkit._startup.regex import regex

_NUMBER = regex(r"\d{1,9}")
_DECIMAL = regex(r"\d{1,9}(?:\.\d{1,9})?")


def number(text: str) -> int | None:
    """The whole number at the start of `text` (`34C`, `70W`, `15109MiB`), None for `N/A`, `ERR!` and the like."""
    match = _NUMBER.match(text.strip())
    return int(match.group()) if match else None


def decimal(text: str) -> float | None:
    """The number at the start of `text` (`350.00 W`), None where there is none."""
    match = _DECIMAL.match(text.strip())
    return float(match.group()) if match else None


def yes(text: str) -> bool | None:
    """True for On, Yes, Enabled, Active, True, 1; False for their opposites; None for anything else."""
    word = text.strip().lower()
    if word in ("on", "yes", "enabled", "active", "true", "1"):
        return True
    return False if word in ("off", "no", "disabled", "not active", "inactive", "false", "0") else None
