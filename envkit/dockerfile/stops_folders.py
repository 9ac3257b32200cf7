"""Where a build stops as a command runs in another folder than its author thought: `RUN cd` moves nothing after it."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence

from envkit._startup.regex import regex
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import command_subject, stop
from envkit.dockerfile.ground import Ground, is_pip
from envkit.dockerfile.reader import COPIES, Instruction
from envkit.dockerfile.shell import ShellCommand, called
from envkit.dockerfile.shell_words import Word

_PYTHON = regex(r"(?:.*/)?python[\d.]*")
_LISTS = ("-r", "--requirement")
_PROJECTS = frozenset({".", "./"})
_UNPACKS = (("tar",), ("unzip",), ("cmake",), ("rsync",))
_INTO = ("-C", "-d", "--directory")  # of tar and unzip: the folder that they fill
_SOURCES = ("..", "../", ".", "./")


def folder_lost(ground: Ground) -> Iterator[Finding]:
    """The first command that needs what is in the folder of an earlier `RUN cd`, and runs in the one before."""
    if not ground.first:
        return
    here, lost = "/", ""
    texts: list[str] = []
    for part in ground.instructions:
        if part.keyword == "WORKDIR":
            here, lost = part.entered(here), ""
        elif part.keyword in COPIES and _may_reach(part, here):
            return
        elif part.keyword == "RUN":
            if lost and part.commands:
                found = next((one for one in part.commands if not one.conditional), None)
                needed = _needed(called(found)) if found is not None and found.decisive else ""
                if found is not None and needed and not any(needed in text for text in texts):
                    yield _stop(found, needed, here, lost)
                    return
            lost = _moved(part.commands) or lost
            texts.append(part.text)
            if any(_fills(called(one)) for one in part.commands):
                return


def _stop(command: ShellCommand, needed: str, here: str, lost: str) -> Finding:
    return stop(
        faults.LIST_MISSING,
        f"there is no {needed} in {here}: the cd to {lost} ended with its own RUN",
        command_subject(command),
        impact="The build stops: the file is not found.",
        fix=f"Replace RUN cd {lost} with WORKDIR {lost}, or join the two commands with &&.",
    )


def _moved(commands: Sequence[ShellCommand]) -> str:
    """The folder that a RUN goes to at its end, for nothing."""
    words = called(commands[-1]) if commands else ()
    return words[1] if words[:1] == ("cd",) and len(words) > 1 and words[1] not in ("-", "/", "..") else ""


def _may_reach(part: Instruction, here: str) -> bool:
    """True where files may be put into the folder."""
    target = posixpath.normpath(posixpath.join(here, part.text.split()[-1].strip("\"'[],"))) if part.text else here
    above, below = f"{target.rstrip('/')}/", f"{here.rstrip('/')}/"
    return "$" in target or target == here or here.startswith(above) or target.startswith(below)


def _fills(words: Sequence[Word]) -> bool:
    """True where an archive or a clone goes into the folder itself, or nobody can tell."""
    elsewhere = any(word in _INTO and after not in _SOURCES for word, after in zip(words, words[1:], strict=False))
    return (words[:1] in _UNPACKS and not elsewhere) or ("clone" in words and words[-1] in _PROJECTS)


def _needed(words: Sequence[Word]) -> str:
    """The file of its folder that a command cannot do without; '' for none."""
    name = words[0] if words else ""
    if _PYTHON.fullmatch(name) and words[1:2] == ("setup.py",):
        return "setup.py"
    if name in ("./configure", "./autogen.sh", "./bootstrap.sh", "./build.sh", "./install.sh", "./setup.sh"):
        return name.removeprefix("./")
    if name == "make" and not {"-C", "-f", "--directory"} & set(words):
        return "Makefile"
    if name == "cmake" and words[-1:] and words[-1] in _SOURCES:
        return "CMakeLists.txt"
    start = 2 if _PYTHON.fullmatch(name) and words[1:3] == ("-m", "pip") else 0
    if start or is_pip(name):
        given = words[start + 1 :]
        if given[:1] != ("install",):
            return ""
        lists = [given[at + 1] for at, word in enumerate(given[:-1]) if word in _LISTS]
        if lists and "://" not in lists[0] and "$" not in lists[0] and not lists[0].startswith(("/", "~")):
            return lists[0]
        return "setup.py" if _PROJECTS & set(given) else ""
    return ""
