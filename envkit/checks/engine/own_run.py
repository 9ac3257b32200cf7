"""The command that starts the container of a text, with the options that a remedy adds to it."""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.checks.engine.command import NAME, Command, as_told, run
from envkit.model import Environment

_SAFE = r"[\w./:=@,+%~-]"
_WORD = regex(
    rf"{_SAFE}+|{_SAFE}{{0,200}}\$(?:PWD|HOME|USER|DISPLAY|\(pwd\)|\{{PWD\}}|\{{HOME\}}){_SAFE}{{0,200}}"
    rf"|\"{_SAFE}{{1,200}}\"|'{_SAFE}{{1,200}}'"
)
_SECRET = regex(r"(?i)token|secret|passw|api_?key|\.\.\.")
_BLANK = "IMAGE"
_ONCE = ("--gpus", "--runtime", "--ipc")  # options of which the container's own stays
_PAIRS = ("--gpus", "--group-add", "--device", "--ulimit", "-e", "-v")  # whose value is the next word


def in_own_words(environment: Environment, step: Command) -> tuple[Command, ...]:
    """The step as the text's own command with the step's options, after the container of the same name is put aside."""
    asked = tuple(step.line.split())
    own = tuple((environment.containers.started_by.value or "").split())
    if asked[:2] != ("docker", "run") or asked[-1] != _BLANK or "run" not in own:
        return (step,)
    if not all(_WORD.fullmatch(word) and not _SECRET.search(word) for word in own):
        return (step,)
    start = own.index("run") + 1
    kept = list(own[start:])
    asked_for = (option for option in _options(asked[2:-1]) if not (_has_gpus(own) and option[0] == "--gpus"))
    added = [word for option in asked_for for word in _new(kept, option)]
    return (*_put_aside(own), as_told((*own[:start], *added, *kept)))


def _has_gpus(own: tuple[str, ...]) -> bool:
    """Whether it gets the GPUs in the way of a Docker that may not have --gpus yet."""
    joined = " ".join(own)
    return "nvidia-docker" in own or "--runtime nvidia " in joined or "--runtime=nvidia" in joined


def _options(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Each option with its value."""
    rest = list(words)
    while rest:
        name = rest.pop(0)
        yield (name, rest.pop(0)) if name in _PAIRS and rest else (name,)


def _new(kept: list[str], option: tuple[str, ...]) -> tuple[str, ...]:
    """The option, unless the command has it; another value of it leaves the command."""
    name = option[0].partition("=")[0]
    places = [place for place, word in enumerate(kept) if word.partition("=")[0] == name]
    if name in _ONCE and places:
        return ()
    for place in reversed(places) if len(option) == 2 else ():
        value = kept[place + 1] if place + 1 < len(kept) else ""
        if value == option[1]:
            return ()
        if name == "-e" and value.partition("=")[0] == option[1].partition("=")[0]:
            del kept[place : place + 2]
    if len(option) == 1 and "=" in option[0] and places:
        place = places[0]
        del kept[place : place + (1 if "=" in kept[place] else 2)]
    return option


def _put_aside(own: tuple[str, ...]) -> tuple[Command, ...]:
    """The commands that free the name of a container, which keep it as it is."""
    named = [word.partition("=")[2] or after for word, after in zip(own, own[1:], strict=False) if _names(word)]
    if not named or "--rm" in own:
        return ()
    docker = own[: own.index("run")]
    return (
        run(*docker, "stop", NAME(named[0])),
        run(*docker, "rename", NAME(named[0]), NAME(f"{named[0]}-before")),
    )


def _names(word: str) -> bool:
    return word.partition("=")[0] == "--name"
