"""How a report looks on a terminal: its width, color or none, labels in a column, commands to copy."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from envkit.base.shell_lines import continued
from envkit.base.wrap import excerpt
from envkit.checks.engine.findings import Status

_COLORS = {
    Status.FAIL: "31;1",
    Status.ERROR: "31",
    Status.WARN: "33;1",
    Status.OK: "32;1",
    Status.UNKNOWN: "36;1",
    Status.SKIP: "2",
}
_LABELS = {
    Status.FAIL: "FAIL",
    Status.ERROR: "ERROR",
    Status.WARN: "WARN",
    Status.OK: "ok",
    Status.UNKNOWN: "UNKNOWN",
    Status.SKIP: "-",
}
_GLUE = "\xa0"  # a space that no line is broken at
_STATUS, _LABEL, _COMMAND = 6, 12, 14  # the columns where a title, a labeled text and a command begin


class Page:
    """Lines of at most `width` columns; only words that are longer go beyond, as they are copied."""

    def __init__(self, width: int, color: bool) -> None:
        self.width = width
        self.color = color

    def paint(self, text: str, code: str) -> str:
        """The text in a color, where there is any."""
        return f"\x1b[{code}m{text}\x1b[0m" if self.color and text else text

    def status(self, status: Status) -> str:
        """The word for a status, as wide as the longest one."""
        return self.paint(_LABELS[status].ljust(_STATUS - 1), _COLORS[status])

    def head(self, text: str) -> str:
        """What introduces something."""
        return self.paint(text, "1")

    def wrap(self, text: str, indent: str = "", first: str | None = None) -> list[str]:
        """The text in lines that begin with `indent`, the first one with `first`; words stay whole, to be copied."""
        start = indent if first is None else first
        return textwrap.wrap(
            text,
            self.width,
            initial_indent=start,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        ) or [start]

    def items(self, text: str) -> list[str]:
        """A list with ` · ` between its items, broken only there as far as each fits on a line."""
        glued = [item.replace(" ", _GLUE) if len(item) < self.width - 1 else item for item in text.split(" · ")]
        return [line.replace(_GLUE, " ") for line in self.wrap(f"{_GLUE}· ".join(glued))]

    def title(self, status: Status, text: str) -> list[str]:
        """A status and what has it."""
        first, *rest = self.wrap(text, " " * max(_STATUS, len(_LABELS[status]) + 1))
        return [f"{self.status(status)} {self.head(first.strip())}", *(self.head(line) for line in rest)]

    def labeled(self, label: str, text: str) -> list[str]:
        """A text after its label, which is `` for more of the same."""
        start = f"  {label:<{_LABEL - 2}}"
        first, *rest = self.wrap(text, " " * _LABEL, start)
        return [self.head(start) + first[_LABEL:], *rest]

    def item(self, text: str) -> list[str]:
        """One of several below a label."""
        return self.wrap(text, " " * (_LABEL + 2), f"{' ' * _LABEL}- ")

    def whole(self, label: str, text: str) -> str:
        """A text after its label on one line, however long."""
        return self.head(f"  {label:<{_LABEL - 2}}") + text

    def cut(self, label: str, text: str, start: int = 0, lines: int = 1) -> list[str]:
        """A text after its label, as much as so many lines hold, with what begins at `start`; `-v` shows it whole."""
        room = self.width - _LABEL
        for shorter in range(0, room, room // 8) if lines > 1 else ():  # lines that break at words hold less
            broken = self.labeled(label, excerpt(text, start, lines * room - shorter)[0])
            if len(broken) <= lines and all(len(line) <= self.width for line in broken):
                return broken
        return [self.whole(label, excerpt(text, start, room)[0])]

    def commands(self, commands: Iterable[str], *, one_line: bool = False) -> Iterator[str]:
        """Each command on lines of its own, to be copied: where it is too long, a shell joins them again.

        `one_line`: of a place whose shells do not.
        """
        for command in commands:
            for line in [command] if one_line else continued(command, self.width - _COMMAND):
                yield " " * _COMMAND + self.paint(line, "36;1")
