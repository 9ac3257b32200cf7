"""TOML texts, read by Python's own reader or, before Python 3.11, by the package that it was made from."""

from __future__ import annotations

import sys
from typing import Any

_MOST = 2**63  # TOML asks readers for 64 bits; Python refuses to write numbers that are much longer
_TOO_LONG = "a number has too many digits"


def toml_table(text: str) -> dict[str, Any]:
    """What a TOML text holds. Raises ValueError, which says why in one line, for what cannot be read as one."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        table: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except ValueError:  # of Python's reader of decimal numbers
        raise ValueError(_TOO_LONG) from None
    if _holds_long_number(table):
        raise ValueError(_TOO_LONG)
    return table


def _holds_long_number(table: dict[str, Any]) -> bool:
    """True for an integer beyond 64 bits, which hexadecimal digits write at any length."""
    left: list[Any] = [table]
    while left:
        item = left.pop()
        if isinstance(item, dict):
            left.extend(item.values())
        elif isinstance(item, list):
            left.extend(item)
        elif isinstance(item, int) and not -_MOST <= item < _MOST:
            return True
    return False
