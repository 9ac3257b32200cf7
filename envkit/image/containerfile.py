"""Reads Dockerfiles: continuation lines, comments, heredocs, the escape directive, ARG values and several stages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from envkit.errors import SourceError
from envkit.image.heredocs import heredocs
from envkit.records import record, replace
from envkit.regex import regex

_DIRECTIVE = regex(r"#\s*(\w+)\s*=\s*(\S+)\s*$")
_WORD = regex(r"\s*([A-Za-z]+)(?:\s+|$)")
_FLAG = regex(r"--([a-z-]+)(?:=(\"[^\"]*\"|\S+))?\s*")
_TAKES_HEREDOC = frozenset({"RUN", "COPY", "ADD"})
_BYTE_ORDER_MARK = "\ufeff"
_KEYWORD = regex(
    r"FROM|RUN|CMD|LABEL|MAINTAINER|EXPOSE|ENV|ADD|COPY|ENTRYPOINT|VOLUME|USER|WORKDIR|ARG|ONBUILD|STOPSIGNAL"
    r"|HEALTHCHECK|SHELL"
)
_VARIABLE = regex(r"\\\$|\$(?:\{(\w+)(?:(:?[-+])([^}]*))?\}|(\w+))")
# Folders that hold Python packages; what else is copied from a stage says nothing of what that stage installs.
_ENVIRONMENT = regex(
    r"venv|conda|mamba|(?:site|dist)-packages|/\.local\b|/install\b|/usr/local(?:/lib(?:/python[\d.]*)?)?/?(?:\s|$)"
)
_PAIR = regex(r"(\w[\w.-]*)=(\"(?:[^\"\\]|\\.)*\"|'[^']*'|\S*)")


@record
class Instruction:
    """One instruction: its keyword in capitals, its text on one line, its flags, and the bodies of its heredocs."""

    line: int
    keyword: str
    text: str
    flags: Mapping[str, str]
    heredocs: tuple[str, ...] = ()

    @property
    def script(self) -> str:
        """What a RUN executes: its text, or its heredocs where the text only opens them."""
        return "\n".join((self.text, *self.heredocs))


@record
class BuildStage:
    """One stage, with every ARG and ENV that is known put in: what it starts from and its instructions.

    `parent` is the index of the stage that it starts from, None where it starts from an image. `environment` is what
    ENV has set at its end, the parent's included.
    """

    line: int
    name: str
    image: str
    parent: int | None
    instructions: tuple[Instruction, ...]
    unresolved: bool  # the image's name holds a variable without a value
    platform: str
    environment: Mapping[str, str]


def read_instructions(text: str) -> tuple[Instruction, ...]:
    """The instructions of a Dockerfile in order. Raises SourceError, naming the line, for what is none."""
    lines = text.removeprefix(_BYTE_ORDER_MARK).splitlines()
    escape = _escape(lines)
    instructions = []
    position = 0
    while position < len(lines):
        start = position
        joined, position = _joined(lines, position, escape)
        if joined is None:
            continue
        instruction = _instruction(joined, start + 1)
        if _acts(instruction) in _TAKES_HEREDOC:
            bodies, position = _heredocs(instruction.text, lines, position, start + 1)
            instruction = replace(instruction, heredocs=bodies)
        instructions.append(instruction)
    return tuple(instructions)


def _acts(instruction: Instruction) -> str:
    """The keyword of what an instruction does, at once or in the images that start from this one (ONBUILD)."""
    return instruction.text.partition(" ")[0].upper() if instruction.keyword == "ONBUILD" else instruction.keyword


def _escape(lines: list[str]) -> str:
    for line in lines:
        found = _DIRECTIVE.match(line.strip())
        if not found:
            break
        if found.group(1).lower() == "escape":
            return found.group(2)
    return "\\"


def _joined(lines: list[str], position: int, escape: str) -> tuple[str | None, int]:
    """The instruction that starts at `position` as one line, and where the next one starts; None for none."""
    if not lines[position].strip() or lines[position].lstrip().startswith("#"):
        return None, position + 1
    parts: list[str] = []
    while position < len(lines):
        line = lines[position]
        position += 1
        # Comments and empty lines inside an instruction are left out, as the builder does.
        if parts and (not line.strip() or line.lstrip().startswith("#")):
            continue
        stripped = line.rstrip()
        if not stripped.endswith(escape) or stripped.endswith(escape * 2):
            parts.append(stripped)
            break
        parts.append(stripped[: -len(escape)])
    return _one_line(parts), position


def _one_line(parts: list[str]) -> str:
    """The lines as one: a word that goes on at the very start of the next line is one word."""
    text = parts[0]
    for part in parts[1:]:
        gap = " " if text[-1:].isspace() or part[:1].isspace() else ""
        text = f"{text.rstrip()}{gap}{part.lstrip()}"
    return text.strip()


def _instruction(text: str, line: int) -> Instruction:
    word = _WORD.match(text)
    keyword = word.group(1).upper() if word else ""
    if word is None or not _KEYWORD.fullmatch(keyword):
        raise SourceError(
            f"line {line}: {text.split(' ')[0]!r} is not a Dockerfile instruction.", "Name a Dockerfile with --check."
        )
    rest = text[word.end() :]
    flags: dict[str, str] = {}
    while flag := _FLAG.match(rest):
        value = (flag.group(2) or "").strip('"')
        flags[flag.group(1)] = f"{flags[flag.group(1)]} {value}" if flag.group(1) in flags else value  # each --mount
        rest = rest[flag.end() :]
    return Instruction(line, keyword, rest.strip(), flags)


def _heredocs(text: str, lines: list[str], position: int, line: int) -> tuple[tuple[str, ...], int]:
    bodies = []
    for heredoc in heredocs(text):
        end = heredoc.end
        body: list[str] = []
        while True:
            if position >= len(lines):
                raise SourceError(f"line {line}: the heredoc {end} is never closed.", f"Add a line with {end} alone.")
            content = lines[position].lstrip("\t") if heredoc.strips_tabs else lines[position]
            position += 1
            if content == end:
                break
            body.append(content)
        bodies.append("\n".join(body))
    return tuple(bodies), position


def read_stages(text: str) -> tuple[BuildStage, ...]:
    """The build stages of a Dockerfile, their variables put in. Raises SourceError for a file without FROM."""
    instructions = read_instructions(text)
    outer: dict[str, str] = {}
    stages: list[BuildStage] = []
    for group in _groups(instructions):
        if group[0].keyword != "FROM":
            for instruction in group:
                if instruction.keyword == "ARG":
                    outer.update(_pairs(instruction, outer))
            continue
        stages.append(_stage(group, outer, stages))
    if not stages:
        raise SourceError("There is no FROM instruction in it.", "Name a Dockerfile with --check.")
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


def _stage(group: tuple[Instruction, ...], outer: Mapping[str, str], earlier: list[BuildStage]) -> BuildStage:
    start = group[0]
    words = substitute(start.text, outer).split()
    image = words[0] if words else ""
    name = words[2].lower() if len(words) > 2 and words[1].upper() == "AS" else ""
    parent = next((index for index, stage in enumerate(earlier) if image and stage.name == image.lower()), None)
    environment = {} if parent is None else dict(earlier[parent].environment)
    arguments: dict[str, str] = {}
    body = []
    for instruction in group[1:]:
        values = {**arguments, **environment}  # ENV goes before an ARG of the same name, wherever that stands
        if instruction.keyword == "ARG":
            arguments.update(_pairs(instruction, values, outer))
        elif instruction.keyword == "ENV":
            environment.update(_pairs(instruction, values))
        changed = replace(instruction, text=substitute(instruction.text, {**arguments, **environment}))
        if instruction.keyword == "RUN":  # the shell puts the variables into a heredoc
            changed = replace(changed, heredocs=tuple(substitute(text, values) for text in instruction.heredocs))
        body.append(changed)
    platform = substitute(start.flags.get("platform", ""), outer)
    unresolved = "$" in image or not image
    return BuildStage(start.line, name, image, parent, tuple(body), unresolved, platform, environment)


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

    def put(found: re.Match[str]) -> str:
        name = found.group(1) or found.group(4)
        if name is None:
            return found.group()
        operator, word = found.group(2) or "", found.group(3) or ""
        value = values.get(name)
        if operator.endswith("+"):
            return word if value else ""
        if operator.endswith("-"):
            return value if value else word
        return found.group() if value is None else value

    return _VARIABLE.sub(put, text)


def final_chain(stages: tuple[BuildStage, ...]) -> tuple[BuildStage, ...]:
    """The stages that the image is made of, the one on the base image first."""
    chain = [stages[-1]]
    while chain[0].parent is not None:
        chain.insert(0, stages[chain[0].parent])
    return tuple(chain)


def needed_stages(stages: tuple[BuildStage, ...]) -> tuple[BuildStage, ...]:
    """The stages that the last one is built from or copies files from, in order; the builder skips all others."""
    needed: set[int] = set()
    waiting = [len(stages) - 1]
    while waiting:
        index = waiting.pop()
        if index in needed:
            continue
        needed.add(index)
        stage = stages[index]
        waiting += [] if stage.parent is None else [stage.parent]
        sources = {part.flags["from"].lower() for part in stage.instructions if "from" in part.flags}
        waiting += [
            other for other, one in enumerate(stages[:index]) if one.name in sources - {""} or str(other) in sources
        ]
    return tuple(stage for index, stage in enumerate(stages) if index in needed)


def environment_stages(stages: tuple[BuildStage, ...]) -> tuple[BuildStage, ...]:
    """The stages whose Python packages the last one copies, each with those that it starts from."""
    chain = final_chain(stages)
    sources = {
        part.flags["from"].lower()
        for stage in chain
        for part in stage.instructions
        if "from" in part.flags and _ENVIRONMENT.search(part.text)
    }
    named = [place for place, one in enumerate(stages) if one.name in sources - {""} or str(place) in sources]
    found = [one for place in named for one in final_chain(stages[: place + 1]) if one not in chain]
    return tuple(one for one in stages if one in found)
