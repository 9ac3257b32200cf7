"""Where a build stops at an argument without a value: a step tests for it, or a release is left blank after FROM."""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import command_subject, stop, subject_of
from envkit.dockerfile.ground import Ground
from envkit.dockerfile.reader import Instruction
from envkit.dockerfile.shell import ShellCommand, called
from envkit.dockerfile.shell_words import Word
from envkit.dockerfile.stops_blank import blank_arguments

_TESTED = regex(r"(?:^|&& ?|; ?)(?:test|\[) -n \"?\$\{?(\w{1,60})\}?\"?(?: \])? ?&&")
_EXITS = regex(
    r"\bif (?:\[|test) -z \"?\$\{?(\w{1,60})\}?\"?(?: \])? ?; ?then (?:echo [^;&|]{0,300}(?:;|&&) ?)?"
    r"(?:>&2 )?exit [1-9]"
)
_WANTED = regex(r"\$\{(\w{1,60}):\?")
_RELEASE = regex(r"[A-Za-z][\w.\[\],-]{0,80}={1,2}\$\{?(\w{1,60})\}?")
_PAIR = 2  # a name and what follows it
_INSTALL = frozenset({"pip", "pip3", "mim", "uv", "apt-get", "apt"})  # conda takes a blank one for any
# What these images set themselves.
_KNOWN = frozenset({"pytorch/pytorch", "tensorflow/tensorflow"})
_OF_IMAGES = regex(r"(?:CUDA|CUDNN|NCCL|NV|NVIDIA|PYTHON|PYTORCH)(?:_\w{1,60})?")


def argument_wanted(ground: Ground) -> Iterator[Finding]:
    """The first step that stops on purpose where an ARG, which has no default, is not given."""
    declared: set[str] = set()
    for part in ground.instructions:
        if part.keyword == "ARG":
            for word in part.text.split():
                name, equals, _ = word.partition("=")
                declared = declared - {name} if equals else declared | {name}
        name = _tested(part) if part.keyword == "RUN" else ""
        if name and name in declared - set(ground.environment) - ground.outer:
            yield stop(
                faults.ARGUMENT_MISSING,
                f"this step stops where {name} is blank, and ARG {name} has no default",
                subject_of(part.line, "RUN"),
                impact="The build stops without --build-arg.",
                fix=f"Give {name} a default, or build with --build-arg {name}=….",
            )
            return


def argument_blank(ground: Ground) -> Iterator[Finding]:
    """The first ARG whose value stands after a blank, where a later instruction uses the name."""
    texts = [(part.line, f"{part.text} {' '.join(part.flags.values())}") for part in ground.instructions]
    for part in ground.instructions:
        words = part.text.split() if part.keyword == "ARG" else []
        if len(words) != _PAIR or "=" in part.text or words[0] in ground.outer | set(ground.environment):
            continue
        name, value = words
        given = {one.text.partition("=")[0].strip() for one in ground.instructions if one.keyword == "ARG"}
        used = any(f"${{{name}}}" in text or f"${name}" in text for line, text in texts if line > part.line)
        if used and name not in given and not any(f"${value}" in text or f"{{{value}" in text for _, text in texts):
            yield stop(
                faults.ARGUMENT_MISSING,
                f"ARG {name} {value} declares two arguments, and neither has a value",
                subject_of(part.line, part.text),
                impact=f"{name} is blank where it is used.",
                fix=f"Write ARG {name}={value}.",
            )
            return


def _tested(part: Instruction) -> str:
    """The variable without which the RUN fails; '' for none."""
    text = part.text
    found = _WANTED.search(text) or _EXITS.search(text) or (_TESTED.search(text) if "||" not in text else None)
    return found[1] if found is not None else ""


def _releases(ground: Ground) -> Iterator[tuple[ShellCommand, Word, str]]:
    """Each requirement whose release is a variable, in a command that installs packages, with the variable's name."""
    for step in ground.steps:
        words = called(step.command)
        if not words or words[0].rpartition("/")[2] not in _INSTALL or not step.command.decisive:
            continue
        for word in words[1:]:
            found = _RELEASE.fullmatch(word)
            if found is not None:
                yield step.command, word, found[1]


def pin_blank(ground: Ground) -> Iterator[Finding]:
    """The first release of a package that is an argument without a value."""
    blank = blank_arguments(ground)
    for _, word, name in _releases(ground):
        if name in blank:
            yield stop(
                faults.ARGUMENT_MISSING,
                f"{word.partition('=')[0]} is requested without a version number: ARG {name} has no default",
                subject_of(word.line, word),
                impact="The build stops without --build-arg.",
                fix=f"Give {name} a default, or build with --build-arg {name}=….",
            )
            return


def argument_lost(ground: Ground) -> Iterator[Finding]:
    """The first release that is blank, as its ARG stands before FROM and is not declared again after it."""
    if not (ground.stock or ground.base.repository in _KNOWN) or not ground.first:
        return
    declared = {
        word.partition("=")[0] for part in ground.instructions if part.keyword == "ARG" for word in part.text.split()
    }
    lost = ground.outer - declared - set(ground.environment)
    assigned = " ".join(ground.texts)
    for command, word, name in _releases(ground):
        if name in lost and not _OF_IMAGES.fullmatch(name) and f"{name}=" not in assigned:
            yield stop(
                faults.WORD_UNKNOWN,
                f"{name} is blank after FROM: an ARG from before FROM has to be declared again",
                command_subject(command, word.line),
                impact=f"The build stops: {word.partition('=')[0]} is requested without a version number.",
                fix=f"Write ARG {name} after FROM.",
            )
            return
