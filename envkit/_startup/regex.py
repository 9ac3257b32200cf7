"""Regular expressions that are compiled when they are first used: a command uses few of those that it imports."""

from __future__ import annotations

import re
from typing import Any, cast, overload


class _Pattern:
    """Stands for a compiled pattern, and takes its methods from it."""

    def __init__(self, text: str | bytes, flags: int) -> None:
        self._text = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - any attribute of a pattern
        value = getattr(re.compile(self._text, self._flags), name)
        setattr(self, name, value)
        return value


@overload
def regex(text: str, flags: int = 0) -> re.Pattern[str]: ...
@overload
def regex(text: bytes, flags: int = 0) -> re.Pattern[bytes]: ...
def regex(text: str | bytes, flags: int = 0) -> re.Pattern[Any]:
    """What `re.compile` gives, with a wrong expression told only when it is used; for the methods of a pattern."""
    return cast("re.Pattern[Any]", _Pattern(text, flags))
