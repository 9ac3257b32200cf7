"""Where a build stops at how the file is written: commands without && between them, lists that are never copied."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence

from envkit._startup.regex import regex
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import command_subject, stop, subject_of
from envkit.dockerfile.ground import APT, Ground, arguments
from envkit.dockerfile.reader import COPIES
from envkit.dockerfile.shell import ShellCommand, called
from envkit.dockerfile.shell_words import Word

_PROGRAMS = frozenset({"rm", "apt-get", "apt", "RUN", "pip", "pip3", "ln", "curl"})
# More words of which no package of apt has the name.
_NO_PACKAGES = frozenset({"add-apt-repository", "cd", "chmod", "cp", "echo", "export", "install", "mkdir", "mv"}) | {
    "update",
    "update-alternatives",
    "upgrade",
}
_AS_PACKAGES = frozenset({"pip", "curl", "apt"})  # words that name packages of apt too
_INSTRUCTIONS = COPIES | {"WORKDIR", "ENV", "ARG", "CMD", "ENTRYPOINT", "EXPOSE", "USER"}
# Programs that stop at a word that they do not know; others make or print it.
_PARTICULAR = frozenset({"apt-get", "apt", "cmake", "make", "pip", "pip3", "conda", "yum", "dnf", "tar"})
_FOLDER = regex(r"[$*?\[]|/$|^[^.]*$|^\.{1,2}(?:/[^.]*)?$")  # or may be one: its name has no ending
_LISTS = ("-r", "--requirement")
# Programs that write no list into the folder in which they run.
_HARMLESS = regex(
    r"apt-get|apt|apt-mark|pip[\d.]*|rm|mkdir|ln|chmod|chown|export|set|useradd|adduser|groupadd|locale-gen|ldconfig"
    r"|update-alternatives|add-apt-repository|cd|virtualenv|nvcc|echo"
)


def joined(ground: Ground) -> Iterator[Finding]:
    """Each command of apt that swallows another, and each RUN inside of a command."""
    for step in ground.steps:
        if not step.command.decisive:
            continue
        word = _swallowed(step.command.words, arguments(step.command, APT, ("update",)))
        word = word or next(
            (one for one in step.command.words[1:] if one == "RUN" and one.line > step.command.line), None
        )
        word = word or _instruction(called(step.command))
        if word is not None:
            yield stop(
                faults.COMMANDS_JOINED,
                f"{step.command.words[0]} treats {word} as an argument",
                command_subject(step.command),
                impact="The build stops: the command does not accept these arguments.",
            )


def before_instruction(words: Sequence[Word]) -> Sequence[Word]:
    """The words before the instruction that a backslash has joined to them."""
    pairs = zip(words, words[1:], strict=False)
    known = _INSTRUCTIONS | {"RUN"}
    end = next((at + 1 for at, (last, word) in enumerate(pairs) if word in known and word.line > last.line), None)
    return words[:end]


def _instruction(words: tuple[Word, ...]) -> Word | None:
    """The instruction after a backslash that a program which fails at unknown words gets as an argument."""
    if not words or words[0] not in _PARTICULAR:
        return None
    pairs = zip(words[1:], words, strict=False)
    return next((word for word, last in pairs if word in _INSTRUCTIONS and word.line > last.line), None)


def _swallowed(words: tuple[Word, ...], updated: tuple[Word, ...] | None) -> Word | None:
    """The word of another command among those of apt."""
    if updated is not None:
        before = ("", *updated)
        plain = (word for word, last in zip(updated, before, strict=False) if not last.endswith((">", "<")))
        return next((word for word in plain if word in _PROGRAMS), None)
    tool = next((word for word in words if word.rpartition("/")[2] in APT), None)
    if tool is None or "install" not in words:
        return None
    given = words[words.index("install") + 1 :]
    return next((word for word in given if word in (_PROGRAMS - _AS_PACKAGES) | _NO_PACKAGES), None)


def list_missing(ground: Ground) -> Iterator[Finding]:
    """The first list of pip in an image of a distribution into which nothing was put before."""
    if not ground.first or "bind" in ground.tells or not (ground.stock or _holds_no_list(ground)):
        return
    cloned = False  # a repository, into a folder of its own
    for command, moved in _with_moves(ground):
        words = called(command)
        name = words[0].rpartition("/")[2] if words else "export"
        lists = [words[at + 1] for at, word in enumerate(words[:-1]) if word in _LISTS and name not in APT]
        before = [text for line, text in ground.copies if line < command.line]
        if any(_is_vague(text) for text in before):
            return
        if any(_names(text, lists) for text in before):
            continue
        if lists and cloned and (moved or "/" in lists[0]):
            return
        if lists and "install" in words and "://" not in lists[0] and "$" not in lists[0] and command.decisive:
            yield stop(
                faults.LIST_MISSING,
                f"{lists[0]} is never copied into the image",
                subject_of(lists[0].line, lists[0]),
                impact="The build stops with: Could not open requirements file.",
            )
            return
        if (
            name == "git"
            and "clone" in words
            and not words[-1].startswith(("/", "$", "~"))
            and words[-1] not in (".", "./")
        ):
            cloned = True
        elif (
            not _HARMLESS.fullmatch(name)
            and not {"venv", "--upgrade"} & set(words)
            or any(word.startswith(">") for word in words)
        ):
            return


def _holds_no_list(ground: Ground) -> bool:
    """True for images of NVIDIA for Jetson and of PyTorch whose Dockerfile copies nothing and goes nowhere."""
    known = ground.base.repository == "pytorch/pytorch" or ground.base.repository.startswith("nvcr.io/nvidia/l4t-")
    return known and not ground.copies and not any(part.keyword == "WORKDIR" for part in ground.instructions)


def _with_moves(ground: Ground) -> Iterator[tuple[ShellCommand, bool]]:
    """Every command, and whether a cd or a WORKDIR after the first clone may have gone into what was cloned."""
    away = False
    cloned = False
    for part in ground.instructions:
        away = away or (part.keyword == "WORKDIR" and cloned)
        depth = 0
        for command in part.commands if part.keyword == "RUN" else ():
            words = called(command)
            cloned = cloned or "clone" in words
            if words[:1] == ("cd",):
                depth = depth - 1 if words[1:] == ("..",) else depth + 1
            yield command, away or depth != 0


def _is_vague(text: str) -> bool:
    """True where a COPY may put any file into the image: it names a folder, or nobody can tell."""
    sources = [word for word in text.split() if not word.startswith("--")][:-1]
    return len(sources) < 1 or text.startswith(("[", "<<")) or any(_FOLDER.search(one) for one in sources)


def _names(text: str, lists: Sequence[str]) -> bool:
    """True where a COPY names one of the lists."""
    names = {posixpath.basename(one) for one in lists}
    return not names.isdisjoint(map(posixpath.basename, text.split()))
