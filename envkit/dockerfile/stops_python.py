"""Where a build stops at pip: in a Python that is managed, or with a get-pip.py that this Python is too old for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import command_subject, stop
from envkit.dockerfile.ground import Ground, Step, may_bring_pip
from envkit.dockerfile.shell_words import Word
from envkit.tables.build_stops import GonePackage, ManagedPython
from envkit.tables.codes import limit
from envkit.tables.installer import PipRow
from envkit.tables.known_images import CUDA_REPOSITORY, PYTORCH_REPOSITORY
from envkit.tables.loader import read
from envkit.tables.rows import OperatingSystem

_PIP = regex(r"(?:/usr/bin/)?pip(3?(?:\.\d+)?)")
_PYTHON = regex(r"(?:/usr/bin/)?python(3?(?:\.\d+)?)")
_PYTHON_TWO = frozenset({"python", "python-dev", "python2.7", "python2.7-dev"})  # in apt: a release without them stops
_TENSORFLOW = "tensorflow/tensorflow"
_RELINKED = regex(r"\bln\b|alternatives|conda|pyenv|venv|make install")
_SCRIPT = "get-pip.py"
_ALPINE = "alpine"
_LATEST = "latest"
_OF_ONE_PYTHON = regex(r"/pip/\d")
_OWN_FOLDERS = ("/usr/", "/bin", "/sbin", "$")
_OTHER_PYTHON = regex(r"(?i)break.system.packages|virtual_?env|conda|mamba|pyenv")
ELSEWHERE = ("--target", "-t", "--prefix", "--root", "--dry-run", "--python", "-p")
_STARTERS = ("sudo", "env")
_WITH_VALUE = ("-u", "--user", "-g", "--group", "--unset")  # of their options
_ASSIGNMENT = regex(r"[A-Za-z_]\w*=")
_OF_UV = ("UV_SYSTEM_PYTHON", "--system")


def managed(ground: Ground) -> Iterator[Finding]:
    """The first command that installs into a Python which refuses that."""
    system = ground.base.system
    own = ground.plain or ground.base.repository == PYTORCH_REPOSITORY
    if system is None or not own or ground.tells & {"leave", "python"} or _another(ground.environment):
        return
    row = next(iter(ground.of_system(ManagedPython)), None)
    if row is None:
        return
    for step in ground.steps:
        if _installs_into_the_system(step.command.words, system, ground.environment):
            yield stop(
                faults.PYTHON_MANAGED,
                f"pip refuses to install into the Python of {system.title}, which is marked as externally managed",
                command_subject(step.command),
                impact="The build stops with: error: externally-managed-environment.",
                sources=row.sources,
            )
            return


def pip_missing(ground: Ground) -> Iterator[Finding]:
    """The first call of pip in an image that has none, where nothing in the file may provide it."""
    if "environment" in ground.tells or not _lacks_pip(ground):
        return
    for step in ground.steps:
        if "pip" in ground.tells and may_bring_pip(ground, step.command.line):
            return
        if any(word == "pip" or "$" in word for word in step.of_apt):
            return
        words = _itself(step.command.words)
        alone = _PIP.fullmatch(words[0]) is not None and len(words) > 1 and step.command.decisive
        if (_called_pip(words) or alone) and not ("copied" in ground.tells and _PYTHON.fullmatch(words[0])):
            yield stop(
                faults.PIP_MISSING,
                f"{ground.base.image} has no pip, and no earlier command installs it",
                command_subject(step.command),
                impact="The build fails: pip is not found.",
                fix="Install it first: apk add py3-pip." if ground.base.repository == _ALPINE else "",
                sources=("distribution-packages",),
            )
            return


def _lacks_pip(ground: Ground) -> bool:
    """True for an image that has no pip, where none comes with its packages of Python."""
    base, system = ground.base, ground.base.system
    if "pip" in ground.tells and not ground.first:
        return False
    if base.repository == _ALPINE:
        release = Version.find(base.tag)
        return base.tag == _LATEST or (release is not None and release >= limit("alpine-without-pip-in-python"))
    apt = base.repository == CUDA_REPOSITORY if system is None else system.package_manager == "apt"
    return apt and ground.plain


def script_refuses(ground: Ground) -> Iterator[Finding]:
    """The first call of a get-pip.py for newer Pythons than the one that runs it."""
    newest_given_up = max(read(PipRow), key=lambda row: row.python)
    added = (text.split()[0] for _, text in ground.copies if _SCRIPT in text and "://" in text)
    downloaded = any(_OF_ONE_PYTHON.search(address) is None for address in added)  # the script for current Pythons
    piped = False  # by the command before
    for step in ground.steps:
        words = step.command.words
        address = next((word for word in words if word.endswith(f"/{_SCRIPT}") and "://" in word), None)
        if address is not None:
            downloaded = piped = _OF_ONE_PYTHON.search(address) is None
            continue
        runs = piped or any(word.endswith(_SCRIPT) for word in words[1:])
        python = _run_by(step, ground) if downloaded and runs else None
        piped = False
        if python is not None and python.release(2) <= newest_given_up.python:
            yield stop(
                faults.INSTALLER_REFUSES,
                f"get-pip.py for current versions of Python does not run on Python {python.release(2)}",
                command_subject(step.command),
                impact=f"The build stops with: This script does not work on Python {python.release(2)}.",
                fix=f"Download https://bootstrap.pypa.io/pip/{python.release(2)}/get-pip.py instead.",
                sources=newest_given_up.sources,
            )
            return


def _run_by(step: Step, ground: Ground) -> Version | None:
    """The Python that runs a script in a step; None where it calls another program, or that is not certain."""
    caller = _itself(step.command.words)
    named = _PYTHON.fullmatch(caller[0]) if caller else None
    rest = caller[1:2]
    if named is None or (rest and rest[0] != "-" and not rest[0].endswith(_SCRIPT)):
        return None
    if caller[0] == "python" and any(_brings_python_two(word, ground) for one in ground.steps for word in one.of_apt):
        return limit("last-python-2")
    if ground.base.repository == _TENSORFLOW and caller[0] == "python3" and ground.first:
        return _of_tensorflow(ground)
    return ground.pythons.of(caller[0], step.place) if ground.first or "." in named[1] else None


def _of_tensorflow(ground: Ground) -> Version | None:
    """The python3 of TensorFlow's images: the distribution's, which further packages leave as it is."""
    system = ground.base.system
    if system is None or _RELINKED.search(" ".join(ground.texts)):
        return None
    return system.default_python


def _brings_python_two(word: str, ground: Ground) -> bool:
    """True for a package of Python 2, which every python-… is where the distribution has it as python."""
    system = ground.base.system
    gone = {row.os_id for row in read(GonePackage) if row.package == "python-pip"}
    has_it = system is not None and system.os_id not in gone and system.package_manager == "apt"
    return word in _PYTHON_TWO or (has_it and word.startswith("python-"))


def _another(environment: Mapping[str, str]) -> bool:
    """True where ENV names another Python's folder, or gives leave."""
    folders = environment.get("PATH", "").split(":")
    return any(folder and not folder.startswith(_OWN_FOLDERS) for folder in folders) or any(
        _OTHER_PYTHON.search(word) for word in (*environment, *environment.values())
    )


def _installs_into_the_system(words: tuple[Word, ...], system: OperatingSystem, environment: Mapping[str, str]) -> bool:
    starts = words[: len(words) - len(_itself(words))]
    if any(_OTHER_PYTHON.search(word) for word in starts):
        return False
    words = _itself(words)
    if any(word.partition("=")[0] in ELSEWHERE for word in words):
        return False
    if words[:3] == ("uv", "pip", "install"):
        return any(word in _OF_UV for word in (*words, *environment))
    python = _PYTHON.fullmatch(words[0])
    if python is not None and words[1:2] and words[1].endswith(_SCRIPT):
        return _is_default(python[1], system)
    pip = _called_pip(words)
    return pip is not None and _is_default((python or pip)[1], system)


def _itself(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """A command without what only starts it: sudo and env with their options, and assignments of variables."""
    rest = list(words)
    while rest and (rest[0] in _STARTERS or _ASSIGNMENT.match(rest[0])):
        starter = rest.pop(0) in _STARTERS
        while starter and rest and rest[0].startswith("-"):
            if rest.pop(0) in _WITH_VALUE and rest:
                rest.pop(0)
    return tuple(rest) or words


def _called_pip(words: tuple[Word, ...]) -> re.Match[str] | None:
    """The pip that installs something by these words."""
    start = 2 if _PYTHON.fullmatch(words[0]) and words[1:2] == ("-m",) else 0
    return _PIP.fullmatch(words[start]) if words[start + 1 : start + 2] == ("install",) else None


def _is_default(number: str, system: OperatingSystem) -> bool:
    """True for the number in python3 or pip3.12 that means the distribution's own Python."""
    return "." not in number or (system.default_python is not None and number == str(system.default_python.release(2)))
