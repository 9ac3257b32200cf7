"""Where `uv pip install` stops, as there is no environment and it may not use the system's Python."""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import command_subject, stop
from envkit.dockerfile.ground import Ground
from envkit.dockerfile.reader import COPIES, Instruction
from envkit.dockerfile.shell import ShellCommand, called

_READ = COPIES | {"RUN", "ENV", "ARG", "SHELL"}
_NAMED = regex(r"--(?:system|python|target|prefix)(?:=.*)?|-[pt].*")
# Images of frameworks that set none of these, although PyTorch's have a conda.
_WITHOUT_ENVIRONMENT = frozenset({"pytorch/pytorch", "tensorflow/tensorflow"})
_SETTINGS = ("UV_SYSTEM_PYTHON", "UV_PYTHON", "VIRTUAL_ENV", "CONDA_PREFIX", "UV_TARGET", "UV_CONFIG_FILE")
# What makes or enters an environment, or writes uv's settings.
_ENVIRONMENTS = regex(
    r"(?i)\bvenv\b|virtualenv|conda|mamba|miniforge|activate|UV_(?:SYSTEM|PYTHON|TARGET|CONFIG)|uv\.toml|(?<!astral\.sh)/uv/"
    r"|\buv (?:sync|run|init|python|add)\b|pyenv|VIRTUAL_ENV|CONDA_PREFIX"
)


def environment_missing(ground: Ground) -> Iterator[Finding]:
    """The first `uv pip install` of a stage before which nothing makes an environment."""
    if not ground.first or not (ground.stock or ground.base.repository in _WITHOUT_ENVIRONMENT):
        return
    if any(name in ground.environment for name in _SETTINGS):
        return
    for part in ground.instructions:
        command = next(filter(_installs, part.commands), None)
        if command is not None and _stops(command) and not (part.flags or _has_one(part, command)):
            yield stop(
                faults.TOOL_OPTION,
                "uv pip install finds no environment, and --system is missing",
                command_subject(command),
                impact="The build stops with: No virtual environment found.",
                fix="Add --system, or create an environment first: uv venv.",
            )
            return
        if command is not None or (part.keyword in _READ and _may_make_one(part)):
            return


def _has_one(part: Instruction, command: ShellCommand) -> bool:
    """Whether a command before this one in the same RUN may make or enter an environment."""
    before = part.commands[: part.commands.index(command)]
    return any(_ENVIRONMENTS.search(" ".join(one.words)) for one in before)


def _installs(command: ShellCommand) -> bool:
    return called(command)[:3] == ("uv", "pip", "install")


def _stops(command: ShellCommand) -> bool:
    """Whether the command certainly runs and names no Python."""
    return command.decisive and not command.conditional and not any(map(_NAMED.fullmatch, command.words))


def _may_make_one(part: Instruction) -> bool:
    """True for what may bring an environment or uv's settings: a command, a folder, a file of another image."""
    if part.keyword in COPIES:
        folders = any(word in (".", "./", "*") or word.endswith("/") for word in part.text.split()[:-1])
        return folders or "from" in part.flags or _ENVIRONMENTS.search(part.text) is not None
    return part.keyword == "SHELL" or bool(part.flags) or _ENVIRONMENTS.search(part.text) is not None
