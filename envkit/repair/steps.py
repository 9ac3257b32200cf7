"""The kinds of steps, and how a command of a remedy is recognized as one. What no rule knows is for the user.

A rule looks at every word: an option that it does not know makes the command one that is shown and not run.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from enum import Enum

from envkit._startup.records import record, replace
from envkit._startup.regex import regex
from envkit.checks.engine.command import TO_FILL_IN, Command


class Kind(str, Enum):
    """What a step changes, which is what has to be kept for an undo."""

    PACKAGES = "Python packages"
    LINK = "link"
    FILE = "file"
    LOADER = "loader cache"
    SERVICE = "service"
    VARIABLE = "variable"
    LOOK = "nothing"  # a command that only shows something
    BY_HAND = "by hand"


@record
class Step:
    """One command of a remedy. `asks`: `--yes` does not cover it, for the `reason`; of BY_HAND the reason why."""

    kind: Kind
    line: str
    words: tuple[str, ...] = ()  # without sudo
    root: bool = False  # it says sudo
    touches: tuple[str, ...] = ()  # files and links that it changes
    text: str = ""  # what it is given on its standard input
    variables: tuple[str, ...] = ()  # NAME to take away, NAME=VALUE to set
    asks: bool = False
    reason: str = ""

    @property
    def runs(self) -> bool:
        """Whether envkit carries it out."""
        return self.kind not in (Kind.LOOK, Kind.BY_HAND)


_Rule = Callable[[Sequence[str]], "Step | None"]
_SHELL = frozenset("|&;<>$`*?(){}#\n")
_PYTHON = regex(r"(?:/.*/)?python[0-9.]*")
_PIP_FLAGS = frozenset(
    ("-y", "--yes", "--no-deps", "--force-reinstall", "--upgrade", "--no-cache-dir", "--no-build-isolation")
)
_PIP_VALUES = frozenset(("--index-url", "--extra-index-url", "-f", "--find-links"))
_CONF = regex(r"/etc/ld\.so\.conf\.d/[A-Za-z0-9_.-]+\.conf")
_CDI = regex(r"--output=((?:/etc|/var/run)/cdi/[A-Za-z0-9_.-]+\.(?:yaml|json))")
_UNIT = regex(r"[A-Za-z0-9@_.-]+")
_VARIABLE = regex(r"[A-Z][A-Z0-9_]*")
_DAEMON = "/etc/docker/daemon.json"
_STOPS = "it restarts a service, which stops whatever is running in it"
_REMOVES = "it removes packages"
_ENDS = frozenset(("reboot", "shutdown", "poweroff"))
_DRIVER = frozenset(("modprobe", "rmmod", "nvidia-smi", "nvidia-modprobe", "nvidia-uninstall", "dkms", "prime-select"))
_SYSTEM = frozenset(("apt-get", "apt", "dnf", "yum", "zypper", "ubuntu-drivers", "snap", "envkit"))
_LOOKS = (
    *(("nvidia-smi", "-L"), ("nvidia-smi",), ("nvidia-ctk", "cdi", "list"), ("ldconfig", "-p")),
    *(("apt-cache", "policy"), ("type", "-a"), ("mokutil", "--sb-state")),
)


def step_of(command: Command) -> Step:
    """The command as a step."""
    words = list(command.words) or _words(command.shell)
    root = words[:1] == ["sudo"]
    own = words[1:] if root else words
    step = None
    if own and TO_FILL_IN.isdisjoint((*command.words, *command.line.split())):
        step = next((found for rule in _RULES if (found := rule(own)) is not None), None)
    if step is None:
        step = Step(Kind.BY_HAND, "", reason=_why_not(own, command))
    root = root or "| sudo tee " in command.line
    return replace(step, line=command.line, words=step.words or tuple(own), root=root)


def _words(line: str) -> list[str]:
    """The words of a line of shell that is a plain command, or writes one line with tee; otherwise none."""
    try:
        words = shlex.split(line)
    except ValueError:
        return []
    if words[:1] == ["echo"] and words[2:5] == ["|", "sudo", "tee"] and len(words) == 6:
        return words
    return [] if _SHELL & set(line) else words


def _pip(words: Sequence[str]) -> Step | None:
    """pip of one Python: install and uninstall with options whose undo is the releases of before."""
    if len(words) <= 3 or not _PYTHON.fullmatch(words[0]) or list(words[1:3]) != ["-m", "pip"]:
        return None
    action, rest = words[3], list(words[4:])
    if action in ("list", "check", "show"):
        return Step(Kind.LOOK, "")
    if action not in ("install", "uninstall") or not _plain_requirements(rest):
        return None
    removes = action == "uninstall"
    return Step(Kind.PACKAGES, "", tuple(words), asks=removes, reason=_REMOVES if removes else "")


def _plain_requirements(words: list[str]) -> bool:
    """Whether all words are requirements, flags that are known, or an option with its value."""
    rest = iter(words)
    for word in rest:
        if word in _PIP_VALUES:
            next(rest, None)
        elif word.startswith("-") and word not in _PIP_FLAGS:
            return False
    return bool(words)


def _link(words: Sequence[str]) -> Step | None:
    made = len(words) == 4 and list(words[:2]) == ["ln", "-sfn"] and all(word.startswith("/") for word in words[2:])
    return Step(Kind.LINK, "", touches=(words[3],)) if made else None


def _loader(words: Sequence[str]) -> Step | None:
    if list(words) == ["ldconfig"]:
        return Step(Kind.LOADER, "")
    if words[0] == "echo" and _CONF.fullmatch(words[-1]) and words[1].startswith("/"):
        return Step(Kind.FILE, "", ("tee", words[-1]), touches=(words[-1],), text=f"{words[1]}\n")
    return None


def _containers(words: Sequence[str]) -> Step | None:
    if list(words) == ["nvidia-ctk", "runtime", "configure", "--runtime=docker"]:
        return Step(Kind.FILE, "", touches=(_DAEMON,))
    output = _CDI.fullmatch(words[-1])
    if output and list(words[:-1]) == ["nvidia-ctk", "cdi", "generate"]:
        return Step(Kind.FILE, "", touches=(output.group(1),))
    return None


def _service(words: Sequence[str]) -> Step | None:
    if words[0] != "systemctl" or not _UNIT.fullmatch(words[-1]):
        return None
    action = list(words[1:-1])
    if action == ["enable", "--now"]:
        return Step(Kind.SERVICE, "", tuple(words))
    if action in (["restart"], ["disable", "--now"]):
        return Step(Kind.SERVICE, "", tuple(words), asks=True, reason=_STOPS)
    return None


def _variable(words: Sequence[str]) -> Step | None:
    names = words[1:]
    if words[0] == "unset" and names and all(map(_VARIABLE.fullmatch, names)):
        return Step(Kind.VARIABLE, "", variables=tuple(names))
    if words[0] == "export" and len(names) == 1 and _VARIABLE.fullmatch(names[0].partition("=")[0]):
        return Step(Kind.VARIABLE, "", variables=tuple(names)) if "=" in names[0] else None
    return None


def _look(words: Sequence[str]) -> Step | None:
    shown = any(tuple(words) == known or (len(known) > 1 and tuple(words[:2]) == known) for known in _LOOKS)
    return Step(Kind.LOOK, "") if shown or words[0] == "printenv" else None


_RULES: tuple[_Rule, ...] = (_pip, _link, _loader, _containers, _service, _variable, _look)


def _why_not(words: Sequence[str], command: Command) -> str:
    program = words[0] if words else next((word for word in command.line.split() if word != "sudo"), "")
    if program in _ENDS:
        return "it restarts the machine"
    if program in _DRIVER:
        return "it changes the driver, which programs may be using"
    if program in _SYSTEM:
        return "system packages, drivers, and toolkits are left to you or to `envkit install`"
    if program == "conda":
        return "envkit does not change conda packages"
    return "envkit does not run commands of this kind"
