"""Takes a shell script apart into words without their quotes, with known variables put in, each with its line.

It reads what shells have in common, from the start to the end. A quote that is never closed stands for itself.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence

from envkit._startup.records import record
from envkit._startup.regex import regex

_PLAIN = regex(r"[^\s'\"\\$`;&|()<>#]+")
_BLANK = regex(r"[ \t\r\f\v]+")
_IN_QUOTES = regex(r"[^\"\\$`]+")
_NOTHING_OPENS = regex(r"[^'\"\\$()]+")
_SEPARATOR = regex(r";;?&?|&&|\|\||\|&?|[()&\n]")
_REDIRECTION = regex(r"&>>?|>&|<&|>\||>>|<<<|[<>]")
_HEREDOC = regex(r"<<(-?)[ \t]*(?:'([^'\n]*)'|\"([^\"\n]*)\"|\\?([^\s;&|()<>'\"]+))")
_VARIABLE = regex(r"\$(?:(\w+)|\{(\w+)(?:(:?[-+])((?:[^{}$]|\$\{\w+\}|\$)*))?\})")
_NAMED = regex(r"\$(?:(\w+)|\{(\w+)\})")
_BRACED = regex(r"\$\{[^{}]*\}")
_ASSIGNMENT = regex(r"[A-Za-z_]\w*\+?=")
_ENDS_A_WORD = " \t\r\n;&|)"
_LONGEST = 100_000  # characters that variables put into one script: values that double each other end there
# Words after which `NAME=…` still sets a variable.
DECLARES = frozenset({"export", "local", "readonly", "declare", "typeset"})


class Word(str):
    """A word of a command that knows the line on which it starts."""

    line: int

    @classmethod
    def at(cls, line: int, text: str) -> Word:
        """The word `text` on that line."""
        word = cls(text)
        word.line = line
        return word


@record
class Text:
    """A piece of a file; `starts` says which line begins at which offset."""

    text: str
    starts: tuple[tuple[int, int], ...]

    def line(self, offset: int) -> int:
        """The line in the file of what is at that offset."""
        return self.starts[max(bisect_right(self.starts, offset, key=lambda start: start[0]) - 1, 0)][1]

    def without(self, head: int) -> Text:
        """The same without its first characters."""
        return Text(self.text[head:], tuple([(max(offset - head, 0), line) for offset, line in self.starts]))


def exec_form(text: str) -> list[str] | None:
    """The words of a JSON array of texts, as BuildKit takes it for RUN, COPY and the like; None for anything else."""
    if not text.startswith("["):
        return None
    try:
        words = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return words if isinstance(words, list) and all(isinstance(word, str) for word in words) else None


def lines_from(line: int, text: str) -> Text:
    """A text whose first line is that line of the file, and whose others follow it."""
    ends = [found.end() for found in re.finditer("\n", text)]
    return Text(text, tuple([(offset, line + number) for number, offset in enumerate((0, *ends))]))


class Scope:
    """The variables that a script sees: those given to it, and over them what it has set so far; None is not known."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self._given = given
        self._set: dict[str, str | None] = {}
        self._left = _LONGEST
        self.lists: dict[str, tuple[str, ...]] = {}  # what its loops go through

    def get(self, name: str) -> str | None:
        """The value of a variable, None where it is not known."""
        return self._set[name] if name in self._set else self._given.get(name)

    def set(self, name: str, value: str | None) -> None:
        """From here on the variable has that value."""
        self.lists.pop(name, None)
        self._set[name] = value

    def loop(self, name: str, words: Sequence[str]) -> None:
        """From here on the variable goes through those words."""
        self.set(name, None)
        self.lists[name] = tuple(words)

    def expanded(self, found: re.Match[str]) -> str | None:
        """What a variable stands for where it is written like that; None where that is not known."""
        name = found.group(1) or found.group(2)
        operator, word = found.group(3) or "", found.group(4)
        held = self.get(name)
        if operator.endswith("+"):
            held = self._word(word) if held else ""
        elif operator.endswith("-") and not held and name not in self._set:
            held = self._word(word)
        self._left -= len(held or "")
        return held if self._left >= 0 else None

    def _word(self, word: str) -> str | None:
        """What stands after the operator, with the variables that it names; None where one is not known."""
        names = {found.group(): self.get(found.group(1) or found.group(2)) for found in _NAMED.finditer(word)}
        if None in names.values():
            return None
        return _NAMED.sub(lambda found: names[found.group()] or "", word)


@record
class Simple:
    """The words up to a separator, what a heredoc hands to them, and the separator."""

    words: tuple[Word, ...]
    body: Text | None
    separator: str


class Words:
    """Goes through one script; `scope` may change between two commands, and counts from there on."""

    def __init__(self, script: Text, scope: Scope, heredocs: Sequence[Text] = ()) -> None:
        self._script, self._text = script, script.text
        self._scope = scope
        self._heredocs = list(heredocs)[::-1]  # bodies that are elsewhere
        self._waiting: list[tuple[str, bool]] = []  # heredocs whose bodies follow this line
        self._position = 0
        self._words: list[Word] = []
        self._body: Text | None = None
        self._assigning = True  # its words so far only set variables
        self._opened = False  # the command available waits for a heredoc
        self._pieces: list[str] = []
        self._started: int | None = None  # where the word available starts
        self._endless: set[str] = set()  # signs that were seen to open what never ends

    def commands(self) -> Iterator[Simple]:
        """The simple commands in order, those without words too where a heredoc stands alone."""
        while self._position < len(self._text):
            separator = self._piece()
            if separator:
                yield self._command(separator)
        yield self._command("\n")

    def _command(self, separator: str) -> Simple:
        self._end_word()
        body = self._body
        if separator == "\n" and self._waiting:
            last = self._bodies()
            body = last if self._opened else body
        made = Simple(tuple(self._words), body, separator)
        self._words, self._body, self._opened, self._assigning = [], None, False, True
        return made

    def _piece(self) -> str:
        """Read on by one piece; the separator, if that is what it is."""
        text, position = self._text, self._position
        found = _PLAIN.match(text, position)
        if found is not None:
            self._position = found.end()
            self._take(found.group(), position)
            return ""
        sign = text[position]
        if sign in "<>&" and (self._heredoc() or self._redirection()):
            return ""
        found = _SEPARATOR.match(text, position)
        if found is not None:
            self._position = found.end()
            return found.group()
        self._sign(sign)
        return ""

    def _sign(self, sign: str) -> None:
        """A blank, a comment, a quoted text, or what a `$` stands for."""
        position = self._position
        blank = _BLANK.match(self._text, position)
        if blank is not None:
            self._position = blank.end()
            self._end_word()
        elif sign == "#" and self._started is None:
            end = self._text.find("\n", position)
            self._position = len(self._text) if end < 0 else end
        elif sign == "\\":
            self._escaped()
        elif sign == '"':
            self._double()
        elif sign in "'`":
            self._single(sign)
        elif sign == "$":
            self._dollar(split=True)
        else:
            self._take(sign, position)
            self._position += 1

    def _take(self, text: str, position: int) -> None:
        if self._started is None:
            self._started = position
        self._pieces.append(text)

    def _end_word(self) -> None:
        if self._started is not None:
            word = Word.at(self._script.line(self._started), "".join(self._pieces))
            self._words.append(word)
            self._assigning = self._assigning and (word in DECLARES or _ASSIGNMENT.match(word) is not None)
        self._pieces, self._started = [], None

    def _escaped(self) -> None:
        escaped = self._text[self._position + 1 : self._position + 2]
        if escaped != "\n":  # a line that goes on
            self._take(escaped, self._position)
        self._position += 2

    def _single(self, sign: str) -> None:
        """A text that is as it is; in backquotes it is what a command prints, which is not known."""
        start = self._position
        end = -1 if sign in self._endless else self._text.find(sign, start + 1)
        if end < 0:
            self._endless.add(sign)
        self._position = max(end, start) + 1
        whole = self._text[start : self._position]
        self._take(whole[1:-1] if sign == "'" and end >= 0 else whole, start)

    def _double(self) -> None:
        opened = self._position
        self._position += 1
        if '"' in self._endless or not _closing(self._text, self._position, '"'):
            self._endless.add('"')
            self._take('"', opened)
            return
        self._take("", opened)
        while (sign := self._text[self._position : self._position + 1]) not in ('"', ""):
            plain = _IN_QUOTES.match(self._text, self._position)
            if plain is not None:
                self._take(plain.group(), opened)
                self._position = plain.end()
            elif sign == "\\":
                escaped = self._text[self._position + 1 : self._position + 2]
                self._take(escaped.strip("\n") if escaped in '"\\$`\n' else f"\\{escaped}", opened)
                self._position += 2
            elif sign == "`":
                self._single(sign)
            else:
                self._dollar(split=False)
        self._position += 1

    def _dollar(self, *, split: bool) -> None:
        """Put in what the `$` here stands for; as it is written where that is not known."""
        position = self._position
        found = _VARIABLE.match(self._text, position)
        braced = _BRACED.match(self._text, position)
        if found is not None:
            self._position = found.end()
            self._variable(found, split=split)
            return
        end = braced.end() if braced else 0
        if self._text.startswith("$(", position) and ")" not in self._endless:
            end = _closing(self._text, position + 2, ")")
            if not end:
                self._endless.add(")")
        self._position = end or position + 1
        self._take(self._text[position : self._position], position)

    def _variable(self, found: re.Match[str], *, split: bool) -> None:
        listed = self._scope.lists.get(found.group(1) or found.group(2))
        if listed is not None and self._is_whole_word(found, quoted=not split):
            words = [part for word in listed for part in word.split()] if split else listed
            self._spread(words, found.start())
            return
        value = self._scope.expanded(found)
        if value is None:
            self._take(found.group(), found.start())
        elif not split or self._assigns():
            self._take(value, found.start())
        else:
            if value[:1].isspace() and any(self._pieces):
                self._end_word()
            self._spread(value.split(), found.start())
            if value[-1:].isspace():
                self._end_word()

    def _spread(self, words: Sequence[str], position: int) -> None:
        """Several words in place of one; what is next to them joins the first and the last."""
        for number, word in enumerate(words):
            if number:
                self._end_word()
            self._take(word, position)

    def _is_whole_word(self, found: re.Match[str], *, quoted: bool) -> bool:
        rest = self._text[found.end() : found.end() + 2]
        if quoted:
            rest = rest[1:] if rest[:1] == '"' else "x"
        return not any(self._pieces) and (not rest or rest[0] in _ENDS_A_WORD)

    def _assigns(self) -> bool:
        """True where the word available is `NAME=…`, whose value is never split."""
        return self._assigning and any(_ASSIGNMENT.match(piece) for piece in self._pieces[:1])

    def _redirection(self) -> bool:
        found = _REDIRECTION.match(self._text, self._position)
        if found is None:
            return False
        self._take(found.group(), self._position)
        self._position = found.end()
        return True

    def _heredoc(self) -> bool:
        found = _HEREDOC.match(self._text, self._position)
        if found is None:
            return False
        self._position = found.end()
        if "".join(self._pieces).isdigit():  # a descriptor's number
            self._pieces, self._started = [], None
        self._end_word()
        if self._heredocs:
            self._body = self._heredocs.pop()
        else:
            self._waiting.append((found[2] or found[3] or found[4] or "", bool(found[1])))
            self._opened = True
        return True

    def _bodies(self) -> Text:
        """Pass over the bodies of the heredocs that the line before has opened; the last of them."""
        start = end = self._position
        for word, strips_tabs in self._waiting:
            start = end = self._position
            while self._position < len(self._text):
                stop = self._text.find("\n", self._position)
                stop = len(self._text) if stop < 0 else stop
                line = self._text[self._position : stop]
                end, self._position = self._position, min(stop + 1, len(self._text))
                if (line.lstrip("\t") if strips_tabs else line) == word:
                    break
            else:
                end = self._position
        self._waiting = []
        return lines_from(self._script.line(start), self._text[start:end])


def _closing(text: str, position: int, sign: str) -> int:
    """Where what began before `position` and ends with the sign (`"` or `)`) ends; 0 where it never does."""
    waiting = [sign]
    while position < len(text):
        plain = _NOTHING_OPENS.match(text, position)
        position = plain.end() if plain else position
        here = text[position : position + 1]
        if here == waiting[-1]:
            waiting.pop()
            if not waiting:
                return position + 1
        elif here == '"':
            waiting.append('"')
        elif here == "(" and (waiting[-1] == ")" or text[position - 1] == "$"):
            waiting.append(")")
        elif here == "'" and waiting[-1] == ")":
            position = text.find("'", position + 1)
            if position < 0:
                return 0
        position += 2 if here == "\\" else 1
    return 0
