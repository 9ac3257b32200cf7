"""Where a build stops at a script that is called by its name, at a command that pip does not have, and at a release of
conda that is the name of a variable."""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import command_subject, stop, subject_of
from envkit.dockerfile.ground import Ground, is_pip
from envkit.dockerfile.shell import called
from envkit.tables.codes import limit

# A script that is called by its name alone, and commands that put files into folders of PATH.
_SCRIPT_NAME = regex(r"[a-z][\w-]{0,60}\.sh")
_INTO_PATH = regex(r"/s?bin/?(?:\s|$)")
_PIP_COMMANDS = frozenset(
    {"cache", "check", "completion", "config", "debug", "download", "freeze", "hash", "help", "index", "inspect"}
    | {"install", "list", "lock", "search", "show", "uninstall", "wheel"}
)
_PLAIN = regex(r"[a-z.][\w./-]{0,60}")
_VARIABLE = regex(r"={1,2}[A-Z][A-Z]*_[A-Z_]+")
_POETRY = "install.python-poetry.org"
_INTERPRETER = regex(r"(?:/usr/(?:local/)?bin/)?python[\d.]{0,6}")
_ASKS = frozenset(
    {("docker", verb) for verb in ("build", "images", "load", "ps", "pull", "run")}
    | {("systemctl", verb) for verb in ("daemon-reload", "reload", "restart", "start")}
)
_ASKS_OLLAMA = frozenset(("ollama", verb) for verb in ("cp", "create", "list", "pull", "push", "rm", "run", "show"))
_SERVE = "serve"


def script_by_name(ground: Ground) -> Iterator[Finding]:
    """The first script that a RUN calls by its name alone, where nothing puts it into a folder of PATH."""
    if not ground.first or ground.tells & {"copied", "bind"} or not (ground.stock or ground.base.own is not None):
        return
    folders = [one for one in ground.environment.get("PATH", "").split(":") if one]
    texts = ground.written
    if any("$" not in one and "/" in one and "bin" not in one for one in folders) or "PATH=" in " ".join(ground.texts):
        return
    for step in ground.steps:
        words = called(step.command)
        if not words or not _SCRIPT_NAME.fullmatch(words[0]) or not step.command.decisive:
            continue
        if any(f"bin/{words[0]}" in text or _INTO_PATH.search(text) for text in texts):
            return
        yield stop(
            faults.PROGRAM_MISSING,
            f"{words[0]} is looked up in PATH, not in the current directory",
            command_subject(step.command),
            impact=f"The build stops with: {words[0]}: not found.",
            fix=f"Write ./{words[0]}, or sh {words[0]}.",
        )
        return


def pip_command_unknown(ground: Ground) -> Iterator[Finding]:
    """The first command of pip that pip does not have."""
    for step in ground.steps:
        words = called(step.command)
        if len(words) < 2 or not is_pip(words[0]) or not step.command.decisive:
            continue
        if words[1] not in _PIP_COMMANDS and _PLAIN.fullmatch(words[1]):
            yield stop(
                faults.WORD_UNKNOWN,
                f"pip has no command {words[1]}",
                command_subject(step.command),
                impact=f'The build stops with: unknown command "{words[1]}".',
                fix=f"Write: {words[0]} install {' '.join(words[1:3])}" if words[1].startswith(".") else "",
            )
            return


def release_is_a_name(ground: Ground) -> Iterator[Finding]:
    """The first package of conda whose release is the name of a variable: its $ is missing."""
    for step in ground.steps:
        for package in step.packages if step.command.decisive else ():
            if package.tool == "conda" and _VARIABLE.fullmatch(package.spec):
                yield stop(
                    faults.WORD_UNKNOWN,
                    f"{package.name}{package.spec} uses a variable's name as the release",
                    subject_of(package.line, package.asked),
                    impact="The build stops: conda finds no such release.",
                    fix="Put a $ before the name of the variable.",
                )
                return


def poetry_refuses(ground: Ground) -> Iterator[Finding]:
    """The first run of Poetry's installer, no release named, by a Python that the newest Poetry does not take."""
    if any("POETRY_VERSION" in text for text in (*ground.environment, *ground.texts)):
        return
    piped = False
    for step in ground.steps:
        words = called(step.command)
        if any(_POETRY in word for word in step.command.words):
            piped = True
            continue
        caller = words[0] if words else ""
        runs = piped and _INTERPRETER.fullmatch(caller) and (len(words) == 1 or words[1] == "-")
        piped = False
        python = ground.pythons.of(caller, step.place) if runs and not {"--version", "--git"} & set(words) else None
        if python is not None and python < limit("python-of-poetry-installer"):
            yield stop(
                faults.INSTALLER_REFUSES,
                f"the installer fetches the newest Poetry, which does not run on Python {python.release(2)}",
                command_subject(step.command),
                impact="The build stops with: Poetry installation failed.",
                fix="Specify a Poetry release for this Python: POETRY_VERSION=VERSION python3 -",
                sources=("github-apache-devlake-8734",),
            )
            return


def service_asked(ground: Ground) -> Iterator[Finding]:
    """The first command that asks a service: none runs while an image is built."""
    runs = {part.line: part.text for part in ground.instructions if part.keyword == "RUN"}
    for step in ground.steps:
        words = called(step.command)[:2]
        if not step.command.decisive:
            continue
        if words in _ASKS or (words in _ASKS_OLLAMA and not _may_serve(runs.get(step.place[1], _SERVE), ground)):
            yield stop(
                faults.SERVICE_AT_BUILD,
                f"{' '.join(words)} needs a running service, but none runs during a build",
                command_subject(step.command),
                impact="The build stops: the program cannot connect.",
                sources=("github-ollama-ollama-258",) if words in _ASKS_OLLAMA else (),
            )
            return


def _may_serve(text: str, ground: Ground) -> bool:
    """True for a RUN that starts a server itself, and where one may run elsewhere."""
    return (
        _SERVE in text
        or "&" in text.replace("&&", "")
        or ".sh" in text
        or "OLLAMA_HOST" in text
        or ("OLLAMA_HOST" in ground.environment and "0.0.0.0" not in ground.environment["OLLAMA_HOST"])
    )
