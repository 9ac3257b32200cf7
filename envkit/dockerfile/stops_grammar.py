"""Where a build stops at the grammar of its shell: a branch that never ends, `&&` with nothing after it, an instruction
as a command."""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import command_subject, stop, subject_of
from envkit.dockerfile.ground import Ground
from envkit.dockerfile.reader import COPIES, Instruction
from envkit.dockerfile.shell import ShellCommand
from envkit.dockerfile.shell_words import Scope, Word, Words, exec_form

_INSTRUCTIONS = COPIES | {"RUN", "WORKDIR", "ENV", "ARG", "CMD", "ENTRYPOINT", "EXPOSE", "USER"}
_ENDS = {"fi": regex(r"\bif\b"), "done": regex(r"\bdo\b"), "then": regex(r"\bif\b")}
# Programs of which such a word may be an argument.
_PRINTS = frozenset({"echo", "printf", "grep", "git", "sed", "awk", "test"})
_TESTS = frozenset({"[", "[["})
_JOINS = frozenset({"&&", "||"})
_REDIRECTS = regex(r"[12&]?>{1,2}(?:/dev/null|&[12])")
_BEFORE_NOTHING = frozenset({"&&", "||", ";", "|"})


def grammar(ground: Ground) -> Iterator[Finding]:
    """The first such place of a stage."""
    if "SHELL" in {part.keyword for part in ground.instructions}:  # it may be another language
        return
    for part in ground.instructions:
        if part.heredocs or exec_form(part.text):
            continue
        found = _in(part) if part.keyword == "RUN" else _copied(part) if part.keyword in COPIES else None
        if found is not None:
            yield found
            return


def _copied(part: Instruction) -> Finding | None:
    """A COPY that is written as if a shell ran it."""
    word = next((word for word in part.text.split() if word in _JOINS or _REDIRECTS.match(word)), "")
    if not word:
        return None
    return stop(
        faults.WORD_UNKNOWN,
        f"{part.keyword} does not run in a shell, so {word} is taken as a file name",
        subject_of(part.line, part.keyword),
        impact="The build stops: there is no such file.",
        fix=f"Remove {word} and what follows it. To copy a file that may be missing, use a pattern, together with a "
        "file that always exists.",
    )


def _in(part: Instruction) -> Finding | None:
    for command in part.commands:
        words = command.words
        if words[0] in _INSTRUCTIONS:
            return stop(
                faults.COMMANDS_JOINED,
                f"{words[0]} is a Dockerfile instruction, but is used here as a shell command",
                command_subject(command),
                impact=f"The build stops with: {words[0]}: not found.",
                fix=f"Put {words[0]} at the start of a new line, without && or a backslash before it.",
            )
        end = _swallowed_end(command, part.text)
        if end is not None:
            return stop(
                faults.COMMANDS_JOINED,
                f"{words[0]} treats {end} as an argument",
                command_subject(command, end.line),
                impact="The build stops with a syntax error: the shell finds no end of the branch or loop.",
                fix=f"Write a semicolon before {end}.",
            )
    line = _joins_nothing(part)
    if line:
        return stop(
            faults.COMMANDS_JOINED,
            "&& or || has no command on one of its sides",
            subject_of(line, "RUN"),
            impact="The build stops with a syntax error.",
            fix="Remove it, or write the command.",
        )
    return None


def _swallowed_end(command: ShellCommand, text: str) -> Word | None:
    """The word of a command that would end what the text has begun, had it a separator before it."""
    words = command.words
    if words[0] in _TESTS and "then" in words:
        return words[words.index(Word("then"))]
    opened = _ENDS.get(words[-1]) if len(words) > 1 and words[0] not in _PRINTS else None
    return words[-1] if opened is not None and opened.search(text) is not None else None


def _joins_nothing(part: Instruction) -> int:
    """The line of the RUN where `&&` or `||` begins or ends it, or follows another separator; 0 for none."""
    before = "&&"
    for simple in Words(part.body, Scope({})).commands():
        if not simple.words and simple.body is None and simple.separator in _JOINS and before in _BEFORE_NOTHING:
            return part.line
        last = before
        before = simple.separator
    return part.line if not simple.words and last in _JOINS else 0
