"""Where a program stops as an operand is missing: a variable that nothing sets, or a word that was left out."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from envkit._startup.regex import regex
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import command_subject, stop
from envkit.dockerfile.clones import operands_of_clone
from envkit.dockerfile.ground import Ground
from envkit.dockerfile.shell import called
from envkit.dockerfile.shell_words import Word
from envkit.dockerfile.stops_blank import blank_arguments, variable_of

_PROGRAMS = frozenset({"addgroup", "adduser", "groupadd", "groupmod", "useradd", "usermod"})
_NUMBERS = frozenset({"-u", "--uid", "-g", "--gid"})  # a user or a group has to follow
# What a shell or a builder sets, and what images of notebooks name their user.
_SET = regex(r"HOME|PATH|PWD|HOSTNAME|TERM|SHELL|NB_\w{1,60}|\w{0,60}PROXY|\w{0,60}proxy")
_OF_BASH = frozenset({"UID", "EUID"})
_BASH = regex(r"\bbash\b")
_READS = regex(r"(?:^|[;&|\n ])(?:\.|source|read|eval) ")
_DECLARED = regex(r"\b(?:for|read|export|local|declare) ([A-Za-z_]\w{0,60})")
_WITHOUT_PRIORITY = 3  # words after --install
_WITH_OWN_VARIABLES = frozenset({"pytorch/pytorch", "tensorflow/tensorflow"})  # of which the names are known
_OF_NVIDIA = "nvcr.io/nvidia/"


def operand_blank(ground: Ground) -> Iterator[Finding]:
    """The first user or group whose name or number is a variable without a value."""
    blank = blank_arguments(ground)
    undeclared = _names_are_known(ground)
    for step in ground.steps:
        words = called(step.command)
        if not words or words[0].rpartition("/")[2] not in _PROGRAMS or not step.command.decisive:
            continue
        name = next((one for one in map(variable_of, _wanted(words)) if one and _is_blank(one, blank, ground)), "")
        other = next((one for one in map(variable_of, _wanted(words)) if one and not _is_set(one, ground)), "")
        if name:
            told = f"{name} is blank, as ARG {name} has no default"
            fix = f"Give {name} a default, or build with --build-arg {name}=…."
        elif other and undeclared:
            name, told = other, f"{other} is blank: no ARG or ENV declares it"
            fix = f"Write ARG {other}=… before the step."
        if name:
            yield stop(
                faults.ARGUMENT_MISSING,
                f"{words[0]} gets no value for {name}: {told}",
                command_subject(step.command),
                impact=f"The build stops: {words[0]} expects a name and numbers.",
                fix=fix,
            )
            return


def clone_blank(ground: Ground) -> Iterator[Finding]:
    """The first repository to clone that is an argument without a value."""
    blank = blank_arguments(ground)
    for step in ground.steps:
        words = called(step.command)
        name = variable_of(next(operands_of_clone(words), "")) if step.command.decisive else ""
        if name and _is_blank(name, blank, ground):
            yield stop(
                faults.ARGUMENT_MISSING,
                f"git gets nothing to clone: {name} is blank, as ARG {name} has no default",
                command_subject(step.command),
                impact="The build stops: git clone expects a repository.",
                fix=f"Give {name} a default, or build with --build-arg {name}=….",
            )
            return


def priority_missing(ground: Ground) -> Iterator[Finding]:
    """The first alternative that is installed without a priority, the last of its four operands."""
    for step in ground.steps:
        words = called(step.command)
        if words[:1] != ("update-alternatives",) or "--install" not in words or not step.command.decisive:
            continue
        given = tuple(takewhile(lambda word: not word.startswith("-"), words[words.index(Word("--install")) + 1 :]))
        if len(given) == _WITHOUT_PRIORITY and not any("$" in word or "`" in word for word in given):
            yield stop(
                faults.TOOL_OPTION,
                "update-alternatives --install expects a priority after the path",
                command_subject(step.command),
                impact="The build stops: --install needs <link> <name> <path> <priority>.",
                fix=f"Append a number: {' '.join(given)} 1",
            )
            return


def _wanted(words: tuple[Word, ...]) -> Iterator[str]:
    """The words without which the program stops: its last one, and users and groups by their numbers."""
    for word, before in zip(words[1:], words, strict=False):
        option, equals, value = word.partition("=")
        if before in _NUMBERS:
            yield word
        elif equals and option in _NUMBERS:
            yield value
    yield words[-1]


def _is_blank(name: str, blank: frozenset[str], ground: Ground) -> bool:
    return name in blank and _SET.fullmatch(name) is None and not (name in _OF_BASH and _runs_bash(ground))


def _runs_bash(ground: Ground) -> bool:
    return any(_BASH.search(part.text) for part in ground.instructions if part.keyword == "SHELL")


def _names_are_known(ground: Ground) -> bool:
    """True for an image of which it is known that it sets no variables for users, and a file that reads none."""
    repository = ground.base.repository
    known = ground.stock or repository in _WITH_OWN_VARIABLES or repository.startswith(_OF_NVIDIA)
    return known and ground.first and not any(_READS.search(text) for text in ground.texts)


def _is_set(name: str, ground: Ground) -> bool:
    """True for a variable that something declares or sets, before the step or after it."""
    texts = "\n".join((*ground.texts, *(part.text for part in ground.instructions if part.keyword in ("ARG", "ENV"))))
    declared = {word for part in ground.instructions if part.keyword == "ARG" for word in part.text.split()}
    return (
        name in declared | ground.outer | set(ground.environment) | set(_DECLARED.findall(texts))
        or f"{name}=" in texts
        or _SET.fullmatch(name) is not None
        or name in _OF_BASH
    )
