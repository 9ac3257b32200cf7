"""A command of a shell on several lines, which the shell joins again."""

from __future__ import annotations

_MORE = " \\"
_INDENT = "  "
_GOES_ON = ("export", "-f", "--index-url", "--find-links")  # what is read with the word behind it


def continued(command: str, width: int) -> list[str]:
    """The command in lines of at most `width` columns, all but the last with a backslash at their end.

    Broken at spaces outside of quotes alone; a longer word stays whole, on a line of its own.
    """
    if len(command) <= width:
        return [command]
    lines: list[str] = []
    line = ""
    for word in _words(command):
        if line.strip() and len(line) + 1 + len(word) + len(_MORE) > width:
            lines.append(line + _MORE)
            line = _INDENT + word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line]


def _words(command: str) -> list[str]:
    """The parts between the spaces that stand in no quotes; `export` and an option before its value end no line."""
    words, start, quote = [], 0, ""
    for place, letter in enumerate(command):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter == " " and command[start:place] not in _GOES_ON:
            words.append(command[start:place])
            start = place + 1
    return [*words, command[start:]]
