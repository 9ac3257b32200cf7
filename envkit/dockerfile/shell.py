"""Splits what a RUN executes into its commands, once: scripts inside scripts, branches, loops and assignments seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.dockerfile.shell_words import DECLARES, Scope, Simple, Text, Word, Words, exec_form

_ASSIGNMENT = regex(r"([A-Za-z_]\w*)(\+?)=")
_SHELL = regex(r"(?:.*/)?(?:ba|da|z|k|a)?sh")
_TAKES_SCRIPT = regex(r"-[a-z]*c")
# Words of the grammar that are before a command, and those that end what they began.
_LEADING = frozenset({"then", "do", "else", "elif", "if", "while", "until", "!", "{", "time"})
_ENDING = frozenset({"fi", "done", "esac", "}"})
_ENDS_A_BRANCH = _ENDING | {"else", "elif"}
_EQUAL = frozenset({"=", "=="})
_TEST_WORDS = 5  # of [ A = B ]
_ASKING = frozenset({"[", "[[", "test", "command", "which", "type", "grep"})
_STOPS_AT_ERRORS = regex(r"-[a-df-z]*e[a-z]*")
_STRICT = regex(r"set -[a-z]*e")
_BEFORE_A_COMMAND = regex(r"sudo|env|exec|-E|\w+=.*")
_DEEPEST = 8  # scripts inside scripts that are looked into


@record
class ShellCommand:
    """One simple command.

    `conditional`: it runs in some cases only, as in an `if` or after `||`. `decisive`: if it fails, so does the RUN.
    """

    words: tuple[Word, ...]
    conditional: bool = False
    decisive: bool = True

    @property
    def line(self) -> int:
        """The line on which it starts."""
        return self.words[0].line

    @cached_property
    def called(self) -> tuple[Word, ...]:
        """Its words from its program on, without sudo, env and assignments before it."""
        words = self.words
        start = next((at for at, word in enumerate(words) if not _BEFORE_A_COMMAND.fullmatch(word)), len(words))
        return words[start:]


def called(command: ShellCommand) -> tuple[Word, ...]:
    """The words of a command from its program on; worked out once, as dozens of rules look at each command."""
    return command.called


def commands(script: Text, variables: Mapping[str, str], heredocs: Sequence[Text] = ()) -> tuple[ShellCommand, ...]:
    """The commands of a RUN in order, those of scripts that it hands to a shell included.

    `variables` are those that ARG and ENV have set; what the script itself sets counts from there on. `heredocs` are
    the bodies of the heredocs that the text opens. An exec form (`["pip", …]`) is one command.
    """
    scope = Scope(variables)
    named = exec_form(script.text)
    if not named:
        return tuple(_Script(scope, 0).commands(Words(script, scope, heredocs)))
    words = tuple([Word.at(script.line(0), word) for word in named])
    inner = _inner(words, None, scope, 0)
    return (ShellCommand(words),) if inner is None else tuple(inner)


def _inner(words: Sequence[Word], body: Text | None, scope: Scope, depth: int) -> Iterator[ShellCommand] | None:
    """The commands of the script that a shell is given by `-c` or on its input; None where none is given."""
    if depth >= _DEEPEST or (words and not _SHELL.fullmatch(words[0])):
        return None
    for place, word in enumerate(words[1:-1], 1):
        if _TAKES_SCRIPT.fullmatch(word):
            line = words[place + 1].line
            body = Text(words[place + 1], ((0, line),))
            break
    if body is None:
        return None
    first = body.text.partition("\n")[0]
    if first.startswith("#!") and not first.rstrip().endswith("sh"):  # for another interpreter
        return iter(())
    strict = any(_STOPS_AT_ERRORS.fullmatch(word) for word in words[1:])
    return _Script(scope, depth + 1, strict=strict).commands(Words(body, scope))


def _with_what_decides(
    found: list[tuple[Simple, list[ShellCommand]]], *, from_the_start: bool
) -> Iterator[ShellCommand]:
    """The commands, with those marked whose failure the rest of the script hides: `a || b`, `a | b`, `a; b`.

    `from_the_start`: its shell stops at the first command that fails.
    """
    ends = [bool(after[0].words) and after[0].words[0] in _ENDS_A_BRANCH for after in found[1:]] + [False]
    strict = next((at for at, (simple, _) in enumerate(found) if _STRICT.match(" ".join(simple.words[:2]))), len(found))
    strict = -1 if from_the_start else strict
    hidden = max(
        (at for at, (simple, _) in enumerate(found) if _hides(simple, strict=at > strict or ends[at], found=found)),
        default=-1,
    )
    for at, (_, made) in enumerate(found):
        for one in made:
            yield one if at > hidden else ShellCommand(one.words, one.conditional, False)


def _hides(simple: Simple, *, strict: bool, found: list[tuple[Simple, list[ShellCommand]]]) -> bool:
    """True where what follows a command runs although it failed."""
    last = simple is found[-1][0]
    return simple.separator not in (("", "&&", ";", "\n") if strict or last else ("", "&&"))


def _holds(test: Sequence[Word]) -> bool:
    """True for a test of two equal texts in which every variable is known: [ A = A ]."""
    if len(test) != _TEST_WORDS or test[0] not in ("[", "[[") or test[2] not in _EQUAL:
        return False
    return test[1] == test[3] and not {"$", "`", "*"} & set(test[1])


class _Script:
    """The state of one script between its commands."""

    def __init__(self, scope: Scope, depth: int, *, strict: bool = False) -> None:
        self._scope = scope
        self._depth = depth
        self._strict = strict
        self._branches: list[bool] = []  # open if and case: whether what is in it certainly runs
        self._unsure = 0  # those of them in which that is not so
        self._asked = False  # a test is before it in the chain
        self._conditional = False

    def commands(self, words: Words) -> Iterator[ShellCommand]:
        """Every command, without the words of the grammar."""
        found: list[tuple[Simple, list[ShellCommand]]] = []
        for simple in words.commands():
            plain = self._without_grammar(simple.words)
            conditional = self._conditional or self._unsure > 0
            made: list[ShellCommand] = []
            if plain or simple.body is not None:
                self._assign(plain, sure=not conditional)
                inner = _inner(plain, simple.body, self._scope, self._depth)
                if inner is None and plain:
                    made = [ShellCommand(plain, conditional, plain == simple.words)]
                for one in inner or ():
                    made.append(ShellCommand(one.words, conditional or one.conditional, one.decisive))
            found.append((simple, made))
            self._join(simple, plain)
        yield from _with_what_decides(found, from_the_start=self._strict)

    def _without_grammar(self, words: tuple[Word, ...]) -> tuple[Word, ...]:
        start = 0
        while start < len(words) and words[start] in _LEADING:
            if words[start] == "if":
                self._open(certain=_holds(words[start + 1 : start + 2 + _TEST_WORDS]))
            elif words[start] in ("else", "elif") and self._branches:
                self._close()
                self._open(certain=False)
            start += 1
        plain = words[start:]
        if plain[:1] == ("case",):
            self._open(certain=False)
            return ()
        if plain and plain[0] in _ENDING:
            if plain[0] in ("fi", "esac") and self._branches:
                self._close()
            return ()
        return plain

    def _open(self, *, certain: bool) -> None:
        self._branches.append(certain)
        self._unsure += not certain

    def _close(self) -> None:
        self._unsure -= not self._branches.pop()

    def _join(self, simple: Simple, words: tuple[Word, ...]) -> None:
        """Note what the separator says of the command after it."""
        if simple.separator == "||":
            self._conditional = True
        elif simple.separator == "&&":
            self._asked = self._asked or (bool(words) and words[0] in _ASKING)
            self._conditional = self._asked
        elif not simple.separator.startswith("|"):
            self._asked = self._conditional = False

    def _assign(self, words: tuple[Word, ...], *, sure: bool) -> None:
        """Remember what the command sets: variables, or the list that a loop goes through."""
        if len(words) > 2 and words[0] == "for" and words[2] == "in":
            self._scope.loop(words[1], words[3:])
            return
        declares = bool(words) and words[0] in DECLARES
        found = [(word, _ASSIGNMENT.match(word)) for word in (words[1:] if declares else words)]
        if declares or all(match for _, match in found):
            for word, match in found:
                if match is not None:
                    self._set(match.group(1), word[match.end() :], added=bool(match.group(2)), sure=sure)

    def _set(self, name: str, value: str, *, added: bool, sure: bool) -> None:
        held = self._scope.get(name)
        whole = f"{held}{value}" if added else value
        told = "$(" not in whole and "`" not in whole and not (added and held is None)
        self._scope.set(name, whole if told and (sure or held == whole) else None)
