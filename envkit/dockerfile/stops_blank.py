"""Where pip or conda is given nothing to install: no requirement, or one that a blank argument leaves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from envkit._startup.regex import regex
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import command_subject, stop
from envkit.dockerfile.ground import Ground, is_pip
from envkit.dockerfile.shell import called
from envkit.dockerfile.shell_words import Word

_PYTHON = regex(r"(?:.*/)?python[\d.]*")
# Options of pip install that stand alone; what follows any other may be its value.
_ALONE = frozenset(
    {"-U", "--upgrade", "-I", "--ignore-installed", "--force-reinstall", "--no-cache-dir", "--no-cache", "--pre", "-q"}
    | {"--quiet", "-v", "--verbose", "--user", "--no-deps", "--no-build-isolation", "--no-input"}
)
_CONDA = frozenset({"conda", "mamba"})
_VALUES_OF_CONDA = frozenset({"-c", "--channel", "-n", "--name", "-p", "--prefix"})
_ALONE_OF_CONDA = frozenset({"-y", "--yes", "-q", "--quiet", "-yq", "-qy", "--override-channels"})
_VARIABLE = regex(r"\$(?:\{(\w{1,60})\}|(\w{1,60}))")
_OF_IMAGES = regex(r"(?:CUDA|CUDNN|NCCL|NV|NVIDIA|PYTHON|PYTORCH)(?:_\w{1,60})?")


def nothing_to_install(ground: Ground) -> Iterator[Finding]:
    """The first `pip install` that names nothing, or nothing but an argument without a value."""
    blank = blank_arguments(ground)
    for step in ground.steps:
        given = _given(called(step.command))
        if given is None or not step.command.decisive:
            continue
        asked = [word for word in given if word not in _ALONE]
        if not asked:
            told, fix = "this command names nothing to install", "Name a package, or remove the command."
        elif len(asked) == 1 and (name := variable_of(asked[0])) in blank:
            told = f"pip gets nothing to install: {name} is blank, as ARG {name} has no default"
            fix = f"Give {name} a default, or build with --build-arg {name}=…."
        else:
            continue
        yield stop(
            faults.WORD_UNKNOWN,
            told,
            command_subject(step.command),
            impact="The build stops with: You must give at least one requirement to install, or Invalid requirement.",
            fix=fix,
            sources=("pip-install-reference",),
        )
        return


def _given(words: Sequence[Word]) -> Sequence[Word] | None:
    """What stands after `pip install`; None for other commands, and where an option stands before the verb."""
    rest = list(words)
    if rest[:1] and rest[0] in _CONDA:
        return _given_to_conda(rest)
    if len(rest) > 1 and _PYTHON.fullmatch(rest[0]) and rest[1] == "-m":
        rest = rest[2:]
    if not rest or not is_pip(rest[0]):
        return None
    rest = [word for at, word in enumerate(rest) if at == 0 or word not in _ALONE]
    return rest[2:] if rest[1:2] == ["install"] else None


def _given_to_conda(words: Sequence[Word]) -> Sequence[Word] | None:
    """What stands after `conda install` but for channels and the name of an environment."""
    if words[1:2] != ["install"]:
        return None
    given: list[Word] = []
    before = ""
    for word in words[2:]:
        if before not in _VALUES_OF_CONDA and word not in _VALUES_OF_CONDA and word not in _ALONE_OF_CONDA:
            given.append(word)
        before = word
    return given


def variable_of(word: str) -> str:
    """The variable that a word consists of; '' for other words."""
    found = _VARIABLE.fullmatch(word)
    return (found[1] or found[2]) if found is not None else ""


def blank_arguments(ground: Ground) -> frozenset[str]:
    """The arguments of the stage that have no value, in an image whose own variables are none of them."""
    if not ground.first or "$" in ground.base.image:
        return frozenset()
    words = [word for part in ground.instructions if part.keyword == "ARG" for word in part.text.split()]
    names = {word for word in words if "=" not in word} - {word.partition("=")[0] for word in words if "=" in word}
    texts = " ".join(ground.texts)
    held = ground.outer | set(ground.environment)
    return frozenset(one for one in names - held if not _OF_IMAGES.fullmatch(one) and f"{one}=" not in texts)
