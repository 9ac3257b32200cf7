"""What `python` and `pip` mean at each command of an image of a distribution with apt: links, get-pip.py, upgrades."""

from __future__ import annotations

import posixpath
from bisect import bisect_left
from collections.abc import Iterable, Iterator

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.dockerfile.base import Base
from envkit.dockerfile.shell import ShellCommand, called
from envkit.dockerfile.shell_words import Word
from envkit.dockerfile.stages import BuildStage
from envkit.tables.build_tools import PipNamedPip3
from envkit.tables.codes import limit
from envkit.tables.known_images import CUDA_REPOSITORY
from envkit.tables.loader import read
from envkit.tables.rows import OperatingSystem

# Ways to another Python that these steps do not follow.
_OTHER = regex(
    r"(?i)-m venv|virtualenv|\buv\b|UV_|conda|mamba|miniforge|pyenv|Python-\d|activate|poetry|pipenv|pipx|altinstall"
    r"|make install|easy_install|setup\.py|linuxbrew|nix-|asdf|rye\b"
)
_LONGEST = 20  # stages upon each other; there are more in no file that somebody wrote
_APT = ("apt-get", "apt", "aptitude")
_NUMBERED = regex(r"(?:python|pip)-?(\d)\.(\d+)")
_PIP_ITSELF = regex(r"pip(?:[<>=!~].*)?")
_NAMES = ("python", "python3", "pip", "pip3")
_PIPS = ("pip", "pip3")
_LOCAL, _USR = "/usr/local/bin", "/usr/bin"
_HAS_PIP = "has pip"  # in place of a folder: the Pythons that have one, '' for all of the distribution
_SCRIPT = "get-pip.py"
_OF_APT = "apt"  # a pip that runs with whatever python3 is
_PYTHON_TWO = frozenset({"python", "python-dev", "python2.7", "python2.7-dev"})

Command = tuple[int, ...]
Changed = tuple[tuple[str, str], Version | str | None]
Names = dict[tuple[str, str], Version | str | None]  # by folder and name; None: it is not known which


@record
class Callers:
    """The names at the commands after which something changed, in their order."""

    commands: tuple[Command, ...]
    states: tuple[Names, ...]
    one_python: bool  # no command names a release of Python, so that there is the distribution's alone

    def follow(self, caller: str, command: Command) -> bool:
        """True where a command before this one has made the name of the caller, or none has made any name.

        What none has made, an image of a distribution does not have.
        """
        folder, name = posixpath.split(_named(caller))
        state = self._before(command)
        return state is self.states[0] or any((place, name) in state for place in _places(folder))

    def of(self, caller: str, command: Command) -> Version | None:
        """The Python that `pip3`, `python -m pip` or `/usr/bin/pip` runs with right before a command ends.

        None where it is not certain, or where there is none of that name or it has no pip. Where nothing installs a
        pip and there is one Python, that one: its pip has to be installed for the command to run at all.
        """
        state = self._before(command)
        if self.one_python and not self._some_pip:
            return _resolved(state, "python3")
        found = _resolved(state, _named(caller))
        return found if "-m" not in caller.split() or _has_pip(found, state) else None

    @property
    def _some_pip(self) -> bool:
        return any(place == _HAS_PIP or name in _PIPS for place, name in self.states[-1])

    def _before(self, command: Command) -> Names:
        return self.states[max(bisect_left(self.commands, command) - 1, 0)]

    @property
    def last(self) -> Version | None:
        """The one that pip, or without a pip python3, is at the end."""
        return (
            _resolved(self.states[-1], "pip")
            or _resolved(self.states[-1], "pip3")
            or _resolved(self.states[-1], "python3")
        )


def callers_of(base: Base, chain: Iterable[BuildStage]) -> Callers | None:
    """The names in the image of these stages; None where its base or its commands are of another kind."""
    chain = tuple(chain)
    if len(chain) > _LONGEST:
        return None
    system = base.system
    own = (system.base_image or "").partition(":")[0] if system is not None else ""
    if system is None or system.default_python is None or system.package_manager != "apt":
        return None
    if base.own is not None or base.repository not in (CUDA_REPOSITORY, own):
        return None
    parts = [part for stage in chain for part in stage.instructions]
    if any(_OTHER.search(part.text) for part in parts if part.keyword in ("RUN", "ENV", "ARG", "SHELL")):
        return None
    if any("from" in part.flags for part in parts if part.keyword == "COPY"):
        return None
    pips = _names_of_pip(system)
    state: Names = {(_USR, "python3"): system.default_python.release(2)}
    commands: list[Command] = [()]
    states = [state]
    before: tuple[Word, ...] = ()
    for stage in chain:
        for part in stage.instructions:
            for number, command in enumerate(part.commands if part.keyword == "RUN" else ()):
                changed = dict(states[-1])
                _apply(command, before, pips, changed)
                before = command.words
                if changed != states[-1]:
                    commands.append((stage.index, part.line, number))
                    states.append(changed)
    named = any(_NUMBERED.search(part.text) for part in parts if part.keyword in ("RUN", "ENV", "ARG"))
    return Callers(tuple(commands), tuple(states), not named)


def _named(caller: str) -> str:
    return next((word for word in caller.split() if posixpath.basename(word) in _NAMES), "")


def _places(folder: str) -> tuple[str, ...]:
    """Where a program is looked for that is called with this folder, or without one."""
    return (folder,) if folder else (_LOCAL, _USR)


def _has_pip(python: Version | None, state: Names) -> bool:
    return (_HAS_PIP, "") in state or (_HAS_PIP, str(python)) in state


def _resolved(state: Names, word: str) -> Version | None:
    folder, name = posixpath.split(word)
    for place in _places(folder):
        if (place, name) in state:
            found = state[place, name]
            found = state.get((_LOCAL, "python3"), state[_USR, "python3"]) if found == _OF_APT else found
            return found if isinstance(found, Version) else None
    return None


def _names_of_pip(system: OperatingSystem) -> tuple[str, ...]:
    """What the package python3-pip of a distribution brings."""
    return _PIPS[1:] if any(row.os_id == system.os_id for row in read(PipNamedPip3)) else _PIPS


def _apply(command: ShellCommand, before: tuple[Word, ...], pips: tuple[str, ...], state: Names) -> None:
    """Change the names as a command does; what runs in some cases only leaves them in doubt."""
    for place, found in tuple(_set_by(called(command), before, pips, state)):
        state[place] = None if command.conditional and state.get(place) != found else found


def _set_by(
    words: tuple[Word, ...], before: tuple[Word, ...], pips: tuple[str, ...], state: Names
) -> Iterator[Changed]:
    if not words:
        return
    tool = posixpath.basename(words[0])
    if tool in _APT and "install" in words:
        yield from _by_apt(words, pips)
    elif tool == "ln" and len(words) > 2:
        yield from _linked(words[-2], words[-1], state)
    elif tool == "update-alternatives":
        yield from _alternative(words, state)
    elif tool.startswith("python") and (_names(words[1:], _SCRIPT) or (len(words) == 1 and _names(before, _SCRIPT))):
        yield from _new_pip(words[0], state)
    elif tool.startswith(("pip", "python")) and any(map(_PIP_ITSELF.fullmatch, _after_install(words))):
        if "-m" not in words or _has_pip(_running(words[0], state), state):
            yield from _new_pip(words[0], state)
    elif tool.startswith("python") and "ensurepip" in words:
        running = _running(words[0], state)
        yield (_LOCAL, "pip3"), running
        yield (_HAS_PIP, str(running)), running


def _after_install(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """What follows `install`, options too; nothing in a command that does not install."""
    return words[words.index(Word("install")) + 1 :] if "install" in words else ()


def _names(words: tuple[Word, ...], file: str) -> bool:
    return any(word == "-" or word.endswith(file) for word in words)


def _new_pip(caller: str, state: Names) -> Iterator[Changed]:
    """A pip next to the one of apt, which goes before that; the one of a Python 2 is no pip3."""
    running = _running(caller, state)
    names = ("pip",) if running == limit("last-python-2") or _is_python_two(caller, state) else _PIPS
    yield from (((_LOCAL, name), running) for name in names)
    yield (_HAS_PIP, str(running)), running


def _is_python_two(caller: str, state: Names) -> bool:
    """True for a `python` that no command has made: a distribution that has one of that name means Python 2."""
    return posixpath.basename(caller) == "python" and not any((place, "python") in state for place in (_LOCAL, _USR))


def _by_apt(words: tuple[Word, ...], pips: tuple[str, ...]) -> Iterator[Changed]:
    if "python3-pip" in words:
        yield from (((_USR, name), _OF_APT) for name in pips)
        yield (_HAS_PIP, ""), _OF_APT
    if "python-pip" in words:
        python_two = limit("last-python-2")
        yield (_USR, "pip"), python_two
        yield (_HAS_PIP, str(python_two)), python_two
    if "python-is-python3" in words:
        yield (_USR, "python"), _OF_APT
    elif _PYTHON_TWO & set(words):
        yield (_USR, "python"), limit("last-python-2")


def _linked(source: str, target: str, state: Names) -> Iterator[Changed]:
    folder, name = posixpath.split(target)
    if folder in (_LOCAL, _USR, "/bin"):
        folder = _USR if folder == "/bin" else folder
        name = name or posixpath.basename(source)
        if name in _NAMES:
            yield (folder, name), _running(source, state)
    elif target in _NAMES:  # in the folder that cd went to
        yield (_LOCAL, target), None
        yield (_USR, target), None


def _alternative(words: tuple[Word, ...], state: Names) -> Iterator[Changed]:
    if "--set" in words and len(words) > words.index("--set") + 2:
        name, path = words[words.index("--set") + 1 : words.index("--set") + 3]
        if name in _NAMES:
            yield (_USR, name), _running(path, state)
    elif "--install" in words and len(words) > words.index("--install") + 4:
        link, _, path, _ = words[words.index("--install") + 1 : words.index("--install") + 5]
        place = posixpath.split(link)
        if place[1] in _NAMES:
            running = _running(path, state)
            former = _resolved(state, posixpath.join(*place)) if place in state else running
            several = place[1] != "python3" and former != running
            yield (place[0], place[1]), None if several else running


def _running(word: str, state: Names) -> Version | None:
    """The Python that a program is or runs with."""
    told = _NUMBERED.search(posixpath.basename(word))
    return Version.of(int(told[1]), int(told[2])) if told is not None else _resolved(state, word)
