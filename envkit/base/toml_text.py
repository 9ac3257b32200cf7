"""TOML texts, read by Python's own reader or, before Python 3.11, by the package that it was made from."""

from __future__ import annotations

import sys
from typing import Any


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
    except ValueError:  # of Python's reader of numbers
        raise ValueError("a number has too many digits") from None
    return table
