"""The commands of several RUNs as one text in which patterns are looked for; what is found knows its line."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator

from envkit._startup.records import record
from envkit.dockerfile.shell import ShellCommand


@record
class Mention:
    """Something that a command names, and the line on which it is."""

    line: int
    match: re.Match[str]

    @property
    def text(self) -> str:
        """What is there."""
        return self.match.group(self.match.lastindex or 0)


class Script:
    """Commands in their order, one a line, their words apart by one blank."""

    def __init__(self, commands: Iterable[ShellCommand]) -> None:
        pieces: list[str] = []
        self._offsets: list[int] = []
        self._lines: list[int] = []
        length = 0
        for command in commands:
            for word in command.words:
                self._offsets.append(length)
                self._lines.append(word.line)
                pieces += (word, " ")
                length += len(word) + 1
            pieces[-1] = "\n"
        self.text = "".join(pieces)

    def search(self, pattern: re.Pattern[str]) -> Mention | None:
        """The first place that the pattern fits."""
        return next(self.all(pattern), None)

    def all(self, pattern: re.Pattern[str]) -> Iterator[Mention]:
        """Every place that the pattern fits, in order."""
        for match in pattern.finditer(self.text):
            start = match.start(match.lastindex or 0)
            yield Mention(self._lines[bisect_right(self._offsets, start) - 1], match)
