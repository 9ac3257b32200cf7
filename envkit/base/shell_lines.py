"""A command of a shell on several lines, which the shell joins again."""

from __future__ import annotations

from envkit._startup.regex import regex

_MORE = " \\"
_INDENT = "  "
_GOES_ON = ("sudo", "export", "-f", "--index-url", "--find-links")  # what is read with the word after it
_OF_WINDOWS = regex(r"%[A-Z][A-Z_]{1,30}%|\b[A-Z]:\\|^(?:call|reg|ren|set|setx|winget|wsl|xcopy) ")  # joins no lines
_JOINS = ("|", "&&", "||")  # what ends a line before it is broken elsewhere


def continued(command: str, width: int) -> list[str]:
    """The command in lines of at most `width` columns, all but the last with a backslash at their end.

    Broken at spaces outside of quotes and $( ) alone, after `|`, `&&` and `||` first; a longer word stays whole, on a
    line of its own.
    """
    if len(command) <= width or _OF_WINDOWS.search(command):
        return [command]
    lines: list[str] = []
    line = ""
    for part in _parts(_words(command)):
        whole = " ".join(part)
        own = len(_INDENT) + len(whole) + len(_MORE) <= width  # the part fits on a line of its own
        for word in [whole] if own else part:
            if line.strip() and len(line) + 1 + len(word) + len(_MORE) > width:
                lines.append(line + _MORE)
                line = _INDENT + word
            else:
                line = f"{line} {word}" if line else word
    return [*lines, line]


def _parts(words: list[str]) -> list[list[str]]:
    """The words of each command of a line; what joins it to the next one ends it, without a space to break at."""
    parts: list[list[str]] = [[]]
    for number, word in enumerate(words):
        if word in _JOINS and parts[-1]:
            parts[-1][-1] += f" {word}"
            if number + 1 < len(words):
                parts.append([])
        else:
            parts[-1].append(word)
    return parts


def _words(command: str) -> list[str]:
    """The parts between spaces outside of quotes and $( ); `export` and an option before its value end no line."""
    words, start, quote, depth = [], 0, "", 0
    for place, letter in enumerate(command):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter in "()":
            depth = max(depth + (1 if letter == "(" else -1), 0)
        elif letter == " " and not depth and command[start:place] not in _GOES_ON:
            words.append(command[start:place])
            start = place + 1
    return [*words, command[start:]]
