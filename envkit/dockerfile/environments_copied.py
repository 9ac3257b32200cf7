"""What a Python environment lacks in the stage that it is copied into: its Python, or the project it points to."""

from __future__ import annotations

import posixpath
from collections.abc import Container, Iterator, Mapping, Sequence

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import command_subject, stop, subject_of
from envkit.dockerfile.ground import Ground, Step
from envkit.dockerfile.reader import COPIES, Instruction
from envkit.dockerfile.shell import ShellCommand, called
from envkit.dockerfile.shell_words import exec_form
from envkit.dockerfile.stages import BuildStage, by_name, final_chain
from envkit.tables.codes import limit

_MAKES = regex(r"(?:.*/)?(?:python[\d.]{0,5}|virtualenv)")
_OTHER = regex(r"--copies|--always-copy|--relocatable|--python.*|-p.*")
_PYTHON = regex(r"python|conda|mamba|\.sh\b|/usr/local")
_WITHOUT_PYTHON = frozenset(
    {"ca-certificates", "curl", "ffmpeg", "git", "gnupg", "locales", "openssl", "procps", "tini", "tzdata", "unzip"}
    | {"wget", "xz-utils", "zip"}
)
_LIBRARY = regex(r"lib(?!python)[a-z0-9.+-]{1,40}\d(?:t64)?|libgl1-mesa-glx")
_SYSTEM = frozenset({"/usr/local", "/usr"})
_EDITABLE = frozenset({"-e", "--editable"})
_PIP = regex(r"(?:.*/)?(?:pip[\d.]{0,5}|uv|python[\d.]{0,5})")


@record
class _Copied:
    """A folder that the last stage takes from an earlier one."""

    line: int
    source: int
    folder: str
    target: str


def environments_copied(stages: Sequence[BuildStage], made: Mapping[int, Ground]) -> Iterator[Finding]:
    """The first environment without its Python, and the first project that stays behind."""
    chain = final_chain(stages)
    last = made.get(chain[-1].index)
    if last is None:
        return
    copied = list(_copied(chain, stages))
    yield from _without_python(copied, stages, made, chain)
    yield from _left_behind(copied, stages, chain)
    yield from _local(copied, made)


def _local(copied: Sequence[_Copied], made: Mapping[int, Ground]) -> Iterator[Finding]:
    """What a distribution's pip puts below --prefix, in a folder of its own, and a COPY takes one folder too high."""
    for one in copied:
        source = made.get(one.source)
        system = source.base.system if source is not None else None
        python = system.default_python if system is not None else None
        if source is None or python is None or python < limit("python-with-local-prefix") or not source.plain:
            continue
        if one.target not in _SYSTEM or source.tells & {"environment", "deadsnakes"}:
            continue
        if any(normalized(package.name) == "pip" for step in source.steps for package in step.packages):
            continue
        named = {f"--prefix={one.folder}", f"--prefix={one.folder}/"}
        step = next((step for step in source.steps if _installs(step, named, one.folder)), None)
        if step is not None and system is not None:
            yield stop(
                faults.OTHER_PYTHON,
                f"the pip of {system.title} installs into {one.folder}/local, so its packages end up in "
                f"{one.target}/local, where Python does not look",
                subject_of(one.line, f"{one.folder} {one.target}"),
                impact="The program starts without the packages that were installed: No module named ….",
                fix=f"Copy {one.folder}/local, or use a virtual environment.",
                sources=("github-pypa-pip-10978", "github-pypa-pip-11651"),
            )
            return


def _installs(step: Step, named: Container[str], folder: str) -> bool:
    words = called(step.command)
    apart = any(
        word == "--prefix" and after.rstrip("/") == folder for word, after in zip(words, words[1:], strict=False)
    )
    return "install" in words and "pip" in " ".join(words[:3]) and (apart or any(word in named for word in words))


def _copied(chain: Sequence[BuildStage], stages: Sequence[BuildStage]) -> Iterator[_Copied]:
    names = by_name(stages)
    for stage in chain:
        for part in stage.instructions:
            source = names.get(part.flags.get("from", "").lower()) if part.keyword == "COPY" else None
            words = _words(part)
            if source is not None and len(words) == 2 and "$" not in part.text:  # noqa: PLR2004
                yield _Copied(part.line, source, words[0].rstrip("/"), words[1].rstrip("/"))


def _words(part: Instruction) -> list[str]:
    words = exec_form(part.text)
    return part.text.split() if words is None else list(words)


def _without_python(
    copied: Sequence[_Copied],
    stages: Sequence[BuildStage],
    made: Mapping[int, Ground],
    chain: Sequence[BuildStage],
) -> Iterator[Finding]:
    last = made[chain[-1].index]
    texts = [part.text for stage in chain for part in stage.instructions if part.keyword == "RUN"]
    others = [part.text for stage in chain for part in stage.instructions if part.keyword in COPIES]
    starts = any(part.keyword in ("CMD", "ENTRYPOINT") for stage in chain for part in stage.instructions)
    given = [word for stage in chain if stage.index in made for step in made[stage.index].steps for word in step.of_apt]
    for one in copied:
        source = made.get(one.source)
        if source is None or not _is_made(one.folder, final_chain(stages, one.source)):
            continue
        whole = [text for text in others if "/usr/local" in text or "/usr/bin" in text or text.split()[:1] == ["/"]]
        linked = any("/usr/local/bin/python" in text or f"{one.folder}/bin/python" in text for text in texts)
        lacks = source.of_python and last.plain and not linked
        if source.plain and last.plain:
            lacks = (
                starts and all(map(_brings_none, given)) and not any(_PYTHON.search(text) for text in (*texts, *others))
            )
        if lacks and not whole and last.base.system is not None:
            where = "/usr/local/bin" if source.of_python else "/usr/bin"
            yield stop(
                faults.OTHER_PYTHON,
                f"{one.folder} starts the Python of {where} in the stage that it is made in, which this image lacks",
                subject_of(one.line, one.folder),
                impact="No program of the environment starts: no such file or directory.",
                fix="Start both stages from the same image, or make the environment in the last one.",
            )
            return


def _brings_none(word: str) -> bool:
    """True for an option of apt, and for a package of which it is known that it brings no Python."""
    name = word.partition("=")[0]
    return word.startswith("-") or name in _WITHOUT_PYTHON or _LIBRARY.fullmatch(name) is not None


def _is_made(folder: str, chain: Sequence[BuildStage]) -> bool:
    """True where a stage makes an environment in that folder, with the Python of its image."""
    for stage in chain:
        for command in _commands(stage):
            words = called(command)
            by_python = bool(words) and _MAKES.fullmatch(words[0]) and {"venv", "virtualenv"} & set(words)
            if (by_python or words[:2] == ("uv", "venv")) and folder in {word.rstrip("/") for word in words}:
                return not any(_OTHER.fullmatch(word) for word in words[1:])
    return False


def _commands(stage: BuildStage) -> Iterator[ShellCommand]:
    for part in stage.instructions:
        yield from part.commands if part.keyword == "RUN" else ()


def _left_behind(
    copied: Sequence[_Copied], stages: Sequence[BuildStage], chain: Sequence[BuildStage]
) -> Iterator[Finding]:
    """A project that is installed in place, in a folder that the last stage does not have."""
    for one in copied:
        own = final_chain(stages, one.source)
        if not _is_made(one.folder, own):
            continue
        for stage in own:
            for command, folder in _in_place(stage):
                if folder and not _reached(folder, chain):
                    yield stop(
                        faults.PROJECT_LEFT,
                        f"the project is installed in place, in {folder}, which the last stage does not have",
                        command_subject(command),
                        impact="Its import fails in the container: No module named ….",
                        fix="Install it without -e, or copy its directory to the same place.",
                    )
                    return


def _in_place(stage: BuildStage) -> Iterator[tuple[ShellCommand, str]]:
    folder = ""
    for part in stage.instructions:
        if part.keyword == "WORKDIR":
            folder = part.entered(folder)
        here = folder
        for command in part.commands if part.keyword == "RUN" else ():
            words = called(command)
            if words[:1] == ("cd",):
                here = posixpath.normpath(posixpath.join(here, words[1])) if len(words) > 1 else ""
            if not words or not _PIP.fullmatch(words[0]) or "install" not in words or command.conditional:
                continue
            pairs = zip(words, words[1:], strict=False)
            named = next((after for word, after in pairs if word in _EDITABLE), "")
            if named and "$" not in named and "://" not in named:
                path = posixpath.normpath(posixpath.join(here, named.partition("[")[0]))
                yield command, path if posixpath.isabs(path) else ""


def _reached(folder: str, chain: Sequence[BuildStage]) -> bool:
    """True where a COPY of the last stages may fill the folder."""
    here = ""
    for stage in chain:
        for part in stage.instructions:
            if part.keyword == "WORKDIR":
                here = part.entered(here)
            elif part.keyword in COPIES:
                target = posixpath.normpath(posixpath.join(here, (_words(part) or [""])[-1]))
                above = target.rstrip("/") + "/"
                if "$" in target or not posixpath.isabs(target) or f"{folder}/".startswith(above):
                    return True
                if above.startswith(f"{folder}/"):
                    return True
            elif part.keyword == "RUN" and folder in part.text:
                return True
    return False
