"""The build stages of a Dockerfile: what each starts from, what ARG and ENV put in, and which of them are needed."""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from envkit._startup.records import record, replace
from envkit._startup.regex import regex
from envkit.base.errors import SourceError
from envkit.dockerfile.reader import Instruction, read_instructions
from envkit.dockerfile.shell import commands

_VARIABLE = regex(r"\\\$|\$(?:\{(\w+)(?:(:?[-+])((?:[^{}$]|\$\{\w+\}|\$)*))?\}|(\w+))")
_PAIR = regex(r"(?<!\S)(\w[\w.-]*)=(\"(?:[^\"\\]|\\.)*\"|'[^']*'|\S*)")
# Folders that hold Python packages; what else is copied from a stage says nothing of what that stage installs.
_ENVIRONMENT = regex(
    r"venv|conda|mamba|(?:site|dist)-packages|/\.local\b|/install\b|/usr/local(?:/lib(?:/python[\d.]*)?)?/?(?:\s|$)"
)
_MAKES_ENVIRONMENTS = frozenset({"venv", "virtualenv"})
# What the builder declares itself.
_OF_THE_BUILDER = frozenset(
    f"{side}{part}" for side in ("TARGET", "BUILD") for part in ("PLATFORM", "OS", "ARCH", "VARIANT")
) | {"HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "NO_PROXY", "ALL_PROXY"}
_QUOTED = regex(r"([\"'])(.*?)\1")  # the builder takes quotes out wherever they stand in the name of an image
_LONGEST = 100_000  # characters that variables put into one text: values that double each other end there


@record
class BuildStage:
    """One stage: what it starts from and its instructions, with every ARG and ENV that is known put in.

    `parent` is the index of the stage that it starts from, None where it starts from an image. `environment` is what
    ENV has set at its end, the parent's included.
    """

    index: int
    line: int
    name: str
    image: str
    parent: int | None
    instructions: tuple[Instruction, ...]
    unresolved: bool  # the image's name holds a variable without a value
    blank: str  # what the builder makes of the name where none of its variables has a value
    undeclared: bool  # no ARG before the first FROM declares its variables
    platform: str
    environment: Mapping[str, str]
    outer: frozenset[str] = frozenset()  # the arguments that are declared before the first FROM

    @cached_property
    def environments(self) -> frozenset[str]:
        """The words of its commands that make virtual environments, their folders among them."""
        commands = (command for part in self.instructions if part.keyword == "RUN" for command in part.commands)
        made = (command.words for command in commands if not _MAKES_ENVIRONMENTS.isdisjoint(command.words))
        return frozenset(word.rstrip("/") for words in made for word in words)


def read_stages(text: str) -> tuple[BuildStage, ...]:
    """The build stages of a Dockerfile, their variables put in. Raises SourceError for a file without FROM."""
    outer: dict[str, str] = {}
    declared = set(_OF_THE_BUILDER)
    stages: list[BuildStage] = []
    names: dict[str, int] = {}
    for group in _groups(read_instructions(text)):
        if group[0].keyword != "FROM":
            for instruction in group:
                if instruction.keyword == "ARG":
                    outer.update(_pairs(instruction, outer))
                    declared.update(word.partition("=")[0] for word in instruction.text.split())
            continue
        stages.append(_stage(group, outer, declared, stages, names))
        names.setdefault(stages[-1].name, stages[-1].index)
    if not stages:
        raise SourceError("there is no FROM instruction in it.", "Pass a Dockerfile.")
    return tuple(stages)


def _groups(instructions: tuple[Instruction, ...]) -> Iterator[tuple[Instruction, ...]]:
    group: list[Instruction] = []
    for instruction in instructions:
        if instruction.keyword == "FROM" and group:
            yield tuple(group)
            group = []
        group.append(instruction)
    if group:
        yield tuple(group)


def _stage(
    group: tuple[Instruction, ...],
    outer: Mapping[str, str],
    declared: Iterable[str],
    earlier: list[BuildStage],
    names: Mapping[str, int],
) -> BuildStage:
    start = group[0]
    words = substitute(start.text, outer).split()
    image = _QUOTED.sub(r"\2", words[0]) if words else ""
    name = words[2].lower() if len(words) > 2 and words[1].upper() == "AS" else ""
    parent = names.get(image.lower()) if image else None
    environment = {} if parent is None else dict(earlier[parent].environment)
    arguments: dict[str, str] = {}
    values = ChainMap(environment, arguments)  # ENV goes before an ARG of the same name, wherever that is
    body = []
    for instruction in group[1:]:
        if instruction.keyword == "ARG":
            arguments.update(_pairs(instruction, values, outer))
        elif instruction.keyword == "ENV":
            environment.update(_pairs(instruction, values))
        if instruction.keyword == "RUN":
            body.append(replace(instruction, commands=commands(instruction.body, values, instruction.heredocs)))
        else:
            put_in = replace(instruction.body, text=substitute(instruction.text, values))
            body.append(replace(instruction, body=put_in))
    platform = substitute(start.flags.get("platform", ""), outer)
    unresolved = "$" in image or not image
    asked = _variables(image) if unresolved else frozenset[str]()
    blank = (substitute(image, dict.fromkeys(asked, "")) or ":") if asked and not asked & _OF_THE_BUILDER else ""
    number, instructions = len(earlier), tuple(body)
    named = frozenset(declared) - _OF_THE_BUILDER
    return BuildStage(
        number,
        start.line,
        name,
        image,
        parent,
        instructions,
        unresolved,
        blank,
        asked.isdisjoint(named),
        platform,
        environment,
        named,
    )


def _variables(image: str) -> frozenset[str]:
    """The variables that are left in the name of an image."""
    return frozenset(found[1] or found[4] or "" for found in _VARIABLE.finditer(image))


def _pairs(
    instruction: Instruction, values: Mapping[str, str], inherited: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The variables that an ARG or ENV sets; an ARG without a default takes the one from before the first FROM."""
    text = instruction.text
    if "=" not in text:
        name, _, value = text.partition(" ")
        if instruction.keyword == "ENV":
            return {name: substitute(value.strip(), values)}
        return {word: inherited[word] for word in text.split() if inherited and word in inherited}
    return {name: substitute(_unquoted(value), values) for name, value in _PAIR.findall(text)}


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value


def substitute(text: str, values: Mapping[str, str]) -> str:
    """The text with known variables put in, `${NAME:-default}` and `${NAME:+word}` too; unknown ones stay."""
    left = _LONGEST

    def put(found: re.Match[str]) -> str:
        nonlocal left
        name = found.group(1) or found.group(4)
        if name is None:
            return found.group()
        operator, word = found.group(2) or "", found.group(3) or ""
        value = values.get(name)
        if operator:
            word = substitute(word, values)
        if operator.endswith("+"):
            value = word if value else ""
        elif operator.endswith("-"):
            value = value or word
        left -= len(value or "")
        return found.group() if value is None or left < 0 else value

    return _VARIABLE.sub(put, text)


def final_chain(stages: Sequence[BuildStage], last: int = -1) -> tuple[BuildStage, ...]:
    """The stages that the image of the last one, or of that index, is made of, the one on the base image first."""
    chain = [stages[last]]
    while chain[-1].parent is not None:
        chain.append(stages[chain[-1].parent])
    return tuple(reversed(chain))


def needed_stages(stages: tuple[BuildStage, ...]) -> tuple[BuildStage, ...]:
    """The stages that the last one is built from or copies files from, in order; the builder skips all others."""
    names = by_name(stages)
    needed: set[int] = set()
    waiting = [len(stages) - 1]
    while waiting:
        stage = stages[waiting.pop()]
        if stage.index not in needed:
            needed.add(stage.index)
            waiting += [] if stage.parent is None else [stage.parent]
            waiting += [source for source in _copied_from(stage.instructions, names) if source < stage.index]
    return tuple(stages[index] for index in sorted(needed))


def environment_stages(stages: tuple[BuildStage, ...]) -> tuple[BuildStage, ...]:
    """The stages whose Python packages the last one copies, each with those that it starts from."""
    chain = final_chain(stages)
    names = by_name(stages)
    sources = {source for stage in chain for source in environments_of(stage, stages, names)}
    return with_parents(sources, chain, stages)


def environments_of(stage: BuildStage, stages: Sequence[BuildStage], names: Mapping[str, int]) -> set[int]:
    """The stages from which one copies Python packages itself."""
    copied = [part for part in stage.instructions if "from" in part.flags]
    parts = [part for part in copied if _ENVIRONMENT.search(part.text) or _is_made(part, stages, names)]
    return {source for source in _copied_from(parts, names) if source < stage.index}


def with_parents(
    sources: Iterable[int], chain: Iterable[BuildStage], stages: Sequence[BuildStage]
) -> tuple[BuildStage, ...]:
    """These stages and those that they start from, without those of `chain`."""
    found = {one.index for source in sources for one in final_chain(stages, source)}
    return tuple(stages[index] for index in sorted(found - {stage.index for stage in chain})) if found else ()


def _is_made(copy: Instruction, stages: Sequence[BuildStage], names: Mapping[str, int]) -> bool:
    """True where a folder that is copied was made as a virtual environment, whatever its name."""
    folders = {folder.rstrip("/") for folder in copy.text.split()[:-1]}
    source = names.get(copy.flags["from"].lower())
    made = () if source is None else final_chain(stages, source)
    return any(not folders.isdisjoint(stage.environments) for stage in made)


def by_name(stages: Iterable[BuildStage]) -> dict[str, int]:
    """The stages by what --from may call them: name or number."""
    found: dict[str, int] = {}
    for stage in stages:
        found[str(stage.index)] = stage.index
        if stage.name:
            found.setdefault(stage.name, stage.index)
    return found


def _copied_from(parts: Iterable[Instruction], names: Mapping[str, int]) -> set[int]:
    """The stages that these instructions name with --from."""
    sources = {part.flags["from"].lower() for part in parts if "from" in part.flags}
    return {names[source] for source in sources if source in names}
