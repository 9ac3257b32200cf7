"""Carries out the steps of a fix, keeps what was there before, and puts it back."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.base.errors import EnvkitError, StepFailed
from envkit.host.changing_child import follow
from envkit.host.journal import Journal
from envkit.host.programs import Programs
from envkit.host.python_places import foreign_place
from envkit.host.trust import check, is_trusted
from envkit.host.whole_file import replacing, take_mode

_PACKAGE = regex(r"[A-Za-z0-9][A-Za-z0-9._-]*(?:==[^\s=]+| @ \S+)")
_YES = "envkit: pip is there"
_HAS_PIP = f"import importlib.util as u; print({_YES!r} if u.find_spec('pip') else '')"
_QUIET = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1", "PIP_ROOT_USER_ACTION": "ignore"}
_UV_WORDS = {"-y": "", "--yes": "", "--all": "", "--force-reinstall": "--reinstall", "--no-cache-dir": "--no-cache"}
_SYSTEM_PROGRAMS = frozenset(("ln", "ldconfig", "nvidia-ctk", "systemctl", "tee", "cp", "rm", "sudo"))


@record
class Work:
    """A command to be run: its words, whether as root, and what it reads on its standard input."""

    words: tuple[str, ...]
    root: bool = False
    text: str = ""


def carry_out(work: Work, tell: Callable[[str], None] | None = None) -> str:
    """Runs the command without a shell; gives what it wrote, each line to `tell` when it comes.

    Raises StepFailed, also for a program that root cannot trust.
    """
    words = [_program(work.words[0]), *work.words[1:]]  # started in /: Python imports from where it is started
    if work.root and os.geteuid() != 0:
        words = [_program("sudo"), "--", *words]
    lines = []

    def told(line: bytes) -> None:
        lines.append(line.decode("utf-8", "replace").rstrip())
        if tell is not None:
            tell(lines[-1])

    status = follow(words, work.text.encode(), {**Programs(os.environ).variables_asked_for, **_QUIET}, told)
    if status != 0:
        last = next((line for line in reversed(lines) if line), "it says nothing")
        raise StepFailed(f"{work.words[0]} failed with {status}: {last}")
    return "\n".join(lines)


def by_installer(work: Work) -> Work:
    """A pip command as the environment understands it: by uv where it has no pip, as uv's own have none.

    Raises StepFailed, for root before anything is started that another user could have changed.
    """
    python, _, _, action, *rest = work.words
    path = _program(python)
    if foreign := foreign_place(path, os.environ):
        raise StepFailed(f"{python}: root does not change an environment where {foreign}.", "Fix it as its owner.")
    if carry_out(Work((python, "-c", _HAS_PIP))).endswith(_YES):
        return work
    if Programs(os.environ).which("uv").value is None:
        raise StepFailed(f"{python} has no pip, and there is no uv on PATH.", "Install one of them.")
    words = (_UV_WORDS.get(word, word) for word in rest)
    return Work(("uv", "pip", action, "--python", path, *filter(None, words)))


def _program(name: str) -> str:
    """The file of a program; root starts none that another user could have changed. Raises StepFailed."""
    path = Programs(os.environ).which(name).value
    if path is None and name in _SYSTEM_PROGRAMS:
        path = Programs({"PATH": "/usr/sbin:/sbin"}).which(name).value
    if path is None:
        raise StepFailed(f"cannot start {name}: there is no such program.")
    if os.geteuid() == 0:
        try:
            check(path)
        except OSError as error:
            raise StepFailed(f"{path} is not run as root: {error.strerror}.", "Fix it as its owner.") from error
    return path


def is_own(home: str) -> bool:
    """Whether files of this home are ours to change: `sudo` may leave root the home of another user."""
    return os.geteuid() != 0 or is_trusted(home)


def profiles(home: str, names: Sequence[str]) -> Mapping[str, str]:
    """The profile files that there are, by path."""
    found = {}
    for name in names:
        path = Path(home) / name
        try:
            found[str(path)] = path.read_text("utf-8")
        except (OSError, ValueError):
            continue
    return found


def replace_text(path: str, text: str) -> None:
    """The file with another text, in one step and with the mode that it had. Raises StepFailed."""
    real = os.path.realpath(path)
    try:
        with replacing(real) as stream:
            stream.write(text.encode())
            stream.flush()
            if os.path.exists(real):
                shutil.copystat(real, stream.name)  # the mode, and what belongs to it, as an access list
            else:
                take_mode(stream, real)
    except OSError as error:
        raise StepFailed(f"cannot write {path}: {error.strerror}.") from error


def packages_of(words: Sequence[str]) -> list[str]:
    """What the Python of a pip command has installed, as `pip freeze` writes it. Raises StepFailed.

    Warnings, uv's remarks and editable checkouts are left out.
    """
    lines = carry_out(by_installer(Work((*words[:3], "freeze", "--all")))).splitlines()
    return [line for line in lines if _PACKAGE.fullmatch(line)]


def state_of(path: str, journal: Journal | None = None) -> dict[str, Any]:
    """What is at a path: nothing, a link, or a file, of which the journal gets a copy. Raises EnvkitError."""
    try:
        if os.path.islink(path):
            return {"path": path, "is": "link", "target": os.readlink(path)}
        if not os.path.exists(path):
            return {"path": path, "is": "absent"}
        if not os.path.isfile(path):
            raise EnvkitError(f"{path} is neither a file nor a link.", "Do this step yourself.")
        data = Path(path).read_bytes()
        state = {"path": path, "is": "file", "sha256": hashlib.sha256(data).hexdigest()}
        if journal is not None:
            copy = journal.copy_place()
            shutil.copy2(path, copy)
            state["copy"] = str(copy)
        return state
    except OSError as error:
        raise EnvkitError(f"cannot keep a copy of {path}: {error.strerror}.", "Run it with sudo.") from error


def same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two states of a path are the same, wherever their copies lie."""
    return all(one.get(key) == other.get(key) for key in ("is", "target", "sha256"))


def put_back(state: Mapping[str, Any], root: bool) -> Work:
    """The command that provides a path back to a state."""
    path = str(state["path"])
    if state["is"] == "absent":
        return Work(("rm", "-f", "--", path), root)
    if state["is"] == "link":
        return Work(("ln", "-sfn", "--", str(state["target"]), path), root)
    return Work(("cp", "-p", "--remove-destination", "--", str(state["copy"]), path), root)


def service_state(unit: str) -> dict[str, Any]:
    """Whether a service is enabled and runs."""
    return {"unit": unit, "is-enabled": _says_yes("is-enabled", unit), "is-active": _says_yes("is-active", unit)}


def _says_yes(question: str, unit: str) -> bool:
    try:
        carry_out(Work(("systemctl", question, "--quiet", unit)))
    except StepFailed:
        return False
    return True
