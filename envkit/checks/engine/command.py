"""Commands as lists of words. A word that comes from a machine has a form, or no command is given, and says why."""

from __future__ import annotations

import shlex

from envkit._startup.records import record, replace
from envkit._startup.regex import regex
from envkit.base import pci
from envkit.base.shown import shown

PACKAGE, PROGRAM, SCRIPT = "PACKAGE", "PROGRAM", "SCRIPT"  # what the reader replaces
NAMESPACE, POD, IMAGE_NAME, PROCESS = "NAMESPACE", "POD", "IMAGE", "PID"
NODE, INSTANCE, RELEASE = "NODE", "INSTANCE", "RELEASE"
_CUT = "\u2026"
TO_FILL_IN = frozenset((PACKAGE, PROGRAM, SCRIPT, NAMESPACE, POD, IMAGE_NAME, PROCESS, NODE, INSTANCE, RELEASE, _CUT))
_LONGEST = 4096  # characters of a word; no path is longer
_QUOTES = frozenset("'\"\\")
_QUOTED = 60  # characters of a refused value that its reason quotes


@record
class Unfit:
    """A value that no command may hold: what it should have been, and what it is."""

    reason: str


Word = str | Unfit


class Form:
    """What values of one kind look like. Called with a value, it gives the word for a command, or why it is none."""

    def __init__(self, kind: str, pattern: str) -> None:
        self.kind = kind
        self._pattern = regex(pattern)

    def __call__(self, value: object) -> Word:
        """The value as a word, or the reason why it cannot be one."""
        text = _text(value)
        visible = shown(text)
        if visible == text and len(text) <= _LONGEST and self._pattern.fullmatch(text):
            return text
        cut = visible if len(visible) <= _QUOTED else visible[:_QUOTED] + _CUT
        return Unfit(f"{cut!r} is not {self.kind}")


# In double quotes cmd.exe and PowerShell read all but these alike; a last backslash would take the quote with it.
_QUOTABLE_ON_WINDOWS = regex(r"[\w .:\\/()+=@,<>~\[\]{}#&;'*!\u2026-]*(?<!\\)")
_PLAIN_ON_WINDOWS = regex(r"[\w.:\\/+=\u2026-]+")
_RELEASE = r"[0-9][A-Za-z0-9.+!_~-]*"
_PROJECT = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_CLAUSE = r"(?:[=!]=|[<>~]=?|===)[0-9A-Za-z][0-9A-Za-z.*+!_-]*"

ARCHITECTURES = Form("a space-separated list of targets", r"[0-9]{2,3}(?: [0-9]{2,3}){0,15}")
CAPABILITY = Form("a compute capability", r"[0-9]{1,2}\.[0-9]")
CAPABILITY_LIST = Form("a list of compute capabilities", r"[0-9]{1,2}\.[0-9](?:;[0-9]{1,2}\.[0-9]){0,15}")
CONDA_SPEC = Form(
    "a conda package", r"[a-z0-9][a-z0-9._-]{0,60}(?:={1,2}[0-9*][0-9.*]{0,20}(?:=[a-z*][a-z0-9_*.]{0,40})?)?"
)
CAPABILITIES = Form("a driver capability", r"NVIDIA_DRIVER_CAPABILITIES=[a-z]{1,12}(?:,[a-z]{1,12}){0,5}")
FILE = Form("the name of a file", r"[A-Za-z0-9][A-Za-z0-9._+-]{0,150}")
GIT_URL = Form(
    "the address of a repository",
    r"git\+https://github\.com/[A-Za-z0-9._-]{1,60}/[A-Za-z0-9._/-]{1,100}"
    r"(?:@[A-Za-z0-9._/-]{1,60})?(?:#subdirectory=[A-Za-z0-9._/-]{1,60})?",
)
GPU = Form("the number or the PCI address of a GPU", rf"[0-9]{{1,3}}|{pci.ADDRESS}")
GROUP = Form("the name of a group", r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
IMAGE = Form(
    "the name of an image",
    r"[a-z0-9][a-z0-9._/-]{0,200}(?::[\w.-]{1,80}|:[0-9]{2,5}/[a-z0-9._/-]{1,200}(?::[\w.-]{1,80})?)?",
)
INTERFACES = Form("a list of network interfaces", r"[A-Z_]{3,30}=[a-z][\w.-]{0,20}(?:,[a-z][\w.-]{0,20}){0,15}")
MODULE = Form("the name of a module", r"[a-z]{2,10}/[0-9][0-9.]{0,12}")
NAME = Form("a name", r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
NUMBER = Form("a number", r"[0-9]{1,9}")
OPTION = Form("the name of a CMake option", r"[A-Z][A-Z0-9_]{0,60}")
PATH = Form("an absolute path without special characters", r"(?:/|[A-Za-z]:[\\/]).*")
PCI_ADDRESS = Form("a PCI address", pci.ADDRESS)
PCI_IDS = Form("a list of PCI ids", r"[0-9A-Fa-f]{4}:[0-9A-Fa-f]{4}(?:,[0-9A-Fa-f]{4}:[0-9A-Fa-f]{4}){0,15}")
PCI_OPTIONS = Form("PCI options of the kernel", r"[a-z]+(?:=[0-9]{1,3}[KMG])?(?:,[a-z]+(?:=[0-9]{1,3}[KMG])?){0,4}")
PYTHON = Form("the path to a Python interpreter", r"(?:(?:/|[A-Za-z]:[\\/])(?:.*[\\/])?)?[a-z-]{0,20}py[\w.-]{0,30}")
REQUIREMENT = Form(
    "the name of a package and its release", rf"{_PROJECT}(?:\[[A-Za-z0-9._,-]+\])?(?:{_CLAUSE}(?:,{_CLAUSE})*)?"
)
TARGETS = Form("a list of nvcc targets", r"[0-9]{2,3}(?:;[0-9]{2,3}){0,15}")
TITLE = Form("a name without special characters", r"[A-Za-z0-9].{0,99}")
URL = Form("a web address", r"https?://[A-Za-z0-9.-]+(?::[0-9]+)?(?:/[A-Za-z0-9._~/+%=&?#-]*)?")
TARGET = Form(
    "the reference of an image", r"[a-z][a-z0-9-]{1,40}:docker://[A-Za-z0-9._/-]{3,120}(?::[A-Za-z0-9._-]{1,60})?"
)
SAFE_WORD = Form("a word without special characters", r"[A-Za-z0-9_./=@:,+-]{1,100}")
SPEC = Form("a version or a range of versions", rf"(?:{_CLAUSE}|{_RELEASE})(?:,{_CLAUSE})*")
VERSION = Form("a version", _RELEASE)
WHEEL = Form("the URL of a wheel", rf"(?:{_PROJECT} @ )?https?://[A-Za-z0-9.-]+/[A-Za-z0-9._~/+%-]+\.whl")


@record
class Command:
    """One command: its words, or a line of remedies.csv with its blanks filled; or the reason why there is none.

    `windows`: it is read by cmd.exe or PowerShell, not by a shell of Linux.
    """

    words: tuple[str, ...] = ()
    shell: str = ""
    problem: str = ""
    windows: bool = False

    @property
    def line(self) -> str:
        """What may be pasted as it is; this is the one place that quotes words."""
        return self.shell or " ".join(self._quoted(word) for word in self.words)

    def _quoted(self, word: str) -> str:
        if self.windows:
            return word if _PLAIN_ON_WINDOWS.fullmatch(word) else f'"{word}"'
        return shlex.quote(word)


def run(*words: Word) -> Command:
    """The command of these words, or why it cannot be given."""
    plain = []
    for word in words:
        if isinstance(word, Unfit):
            return Command(problem=word.reason)
        if shown(word) != word:
            return Command(problem=f"{shown(word)!r} cannot be written in a command")
        plain.append(word)
    return Command(tuple(plain))


def fixed(text: str) -> Command:
    """A command that is written out in the code: without shell syntax, which is in remedies.csv alone."""
    quoted = not _QUOTES.isdisjoint(text)
    return Command(tuple(shlex.split(text) if quoted else text.split()))  # the first takes a hundred times as long


def as_told(words: tuple[str, ...]) -> Command:
    """The reader's own command as it was written, of words that are checked beforehand; `$PWD` stays the shell's."""
    plain = all(shlex.quote(word) == word for word in words)
    return Command(words) if plain else Command(shell=" ".join(words))


def export(name: str, value: Word) -> Command:
    """The command that sets a variable in the shell."""
    return run("export", value if isinstance(value, Unfit) else f"{name}={value}")


def for_windows(command: Command) -> Command:
    """The command as its readers on Windows paste it; what both of its shells cannot quote alike is left out."""
    for word in command.words:
        if not _QUOTABLE_ON_WINDOWS.fullmatch(word):
            return Command(problem=f"{shown(word)!r} cannot be quoted for every Windows shell")
    return replace(command, windows=True)


def _text(value: object) -> str:
    try:
        return str(value)
    except ValueError:  # a number of more digits than Python writes out
        return ""
