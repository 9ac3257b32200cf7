"""Reads the instructions of Dockerfiles: continuation lines, comments, heredocs and the escape directive."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence

from envkit._startup.records import record, replace
from envkit._startup.regex import regex
from envkit.base.errors import SourceError
from envkit.dockerfile.heredocs import heredocs
from envkit.dockerfile.shell import ShellCommand
from envkit.dockerfile.shell_words import Text, lines_from

_DIRECTIVE = regex(r"#\s*(\w+)\s*=\s*(\S+)\s*$")
_WORD = regex(r"\s*([A-Za-z]+)(?:\s+|$)")
_FLAG = regex(r"--([a-z-]+)(?:=(\"[^\"]*\"|\S+))?\s*")
COPIES = frozenset({"COPY", "ADD"})  # instructions that put files into the image
_TAKES_HEREDOC = COPIES | {"RUN"}
_BYTE_ORDER_MARK = "\ufeff"
_LINE_END = regex(r"\r?\n")
_KEYWORD = regex(
    r"FROM|RUN|CMD|LABEL|MAINTAINER|EXPOSE|ENV|ADD|COPY|ENTRYPOINT|VOLUME|USER|WORKDIR|ARG|ONBUILD|STOPSIGNAL"
    r"|HEALTHCHECK|SHELL"
)


@record
class Instruction:
    """One instruction: its keyword in capitals, its lines as one, its flags, and the bodies of its heredocs."""

    line: int
    keyword: str
    body: Text
    flags: Mapping[str, str]
    heredocs: tuple[Text, ...] = ()
    commands: tuple[ShellCommand, ...] = ()  # of a RUN

    @property
    def text(self) -> str:
        """What is after the keyword and the flags."""
        return self.body.text

    def entered(self, folder: str) -> str:
        """The folder after this WORKDIR, from one before it."""
        return posixpath.normpath(posixpath.join(folder, self.text.strip().strip("\"'")))


def read_instructions(text: str) -> tuple[Instruction, ...]:
    """The instructions of a Dockerfile in order. Raises SourceError, naming the line, for what is none."""
    lines = _LINE_END.split(text.removeprefix(_BYTE_ORDER_MARK))
    escape = _escape(lines)
    instructions = []
    position = 0
    while position < len(lines):
        start = position
        joined, position = _joined(lines, position, escape)
        if joined is None:
            continue
        instruction = _instruction(joined, start + 1)
        if _acts(instruction) in _TAKES_HEREDOC and "<<" in instruction.text:
            bodies, position = _heredocs(instruction.text, lines, position, start + 1)
            instruction = replace(instruction, heredocs=bodies)
        elif instruction.keyword in COPIES and len(instruction.text.split()) == 1:
            raise SourceError(
                f"line {start + 1}: {instruction.keyword} has no destination.",
                f"Write what is copied, and where to: {instruction.keyword} {instruction.text} .",
            )
        instructions.append(instruction)
    _in_order(instructions)
    return tuple(instructions)


def _in_order(instructions: Sequence[Instruction]) -> None:
    """Raises SourceError for an instruction before the first FROM that is no ARG: the builder has no stage for it."""
    first = next((at for at, one in enumerate(instructions) if one.keyword == "FROM"), 0)
    early = next((one for one in instructions[:first] if one.keyword != "ARG"), None)
    if early is not None:
        raise SourceError(
            f"line {early.line}: {early.keyword} comes before the first FROM, where only ARG is allowed.",
            "Move it after FROM.",
        )


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


def _joined(lines: list[str], position: int, escape: str) -> tuple[Text | None, int]:
    """The instruction that starts at `position` as one line, and where the next one starts; None for none."""
    if not lines[position].strip() or lines[position].lstrip().startswith("#"):
        return None, position + 1
    parts: list[tuple[int, str]] = []
    while position < len(lines):
        line = lines[position]
        position += 1
        # Comments and empty lines inside an instruction are left out, as the builder does.
        if parts and (not line.strip() or line.lstrip().startswith("#")):
            continue
        stripped = line.rstrip()
        if not stripped.endswith(escape) or stripped.endswith(escape * 2):
            parts.append((position, stripped))
            break
        parts.append((position, stripped[: -len(escape)]))
    return _one_line(parts), position


def _one_line(parts: list[tuple[int, str]]) -> Text:
    """The numbered lines as one: a word that goes on at the very start of the next line is one word."""
    pieces: list[str] = []
    starts: list[tuple[int, int]] = []
    length, gap = 0, False
    for line, part in parts:
        plain = part.strip()
        gap = gap or part[:1].isspace()
        if plain:
            piece = f" {plain}" if gap and pieces else plain
            starts.append((length + len(piece) - len(plain), line))
            pieces.append(piece)
            length += len(piece)
            gap = part[-1:].isspace()
    return Text("".join(pieces), tuple(starts) or ((0, parts[0][0]),))


def _instruction(whole: Text, line: int) -> Instruction:
    text = whole.text
    word = _WORD.match(text)
    keyword = word.group(1).upper() if word else ""
    if word is None or not _KEYWORD.fullmatch(keyword):
        raise SourceError(f"line {line}: {text.split(' ')[0]!r} is not a Dockerfile instruction.", "Pass a Dockerfile.")
    position = word.end()
    flags: dict[str, list[str]] = {}
    while flag := _FLAG.match(text, position):
        flags.setdefault(flag.group(1), []).append((flag.group(2) or "").strip('"'))  # each --mount
        position = flag.end()
    joined = {name: " ".join(values) for name, values in flags.items()}
    return Instruction(line, keyword, whole.without(position), joined)


def _heredocs(text: str, lines: list[str], position: int, line: int) -> tuple[tuple[Text, ...], int]:
    bodies = []
    for heredoc in heredocs(text):
        end, first = heredoc.end, position + 1
        body: list[str] = []
        while True:
            if position >= len(lines):
                raise SourceError(f"line {line}: the heredoc {end} is never closed.", f"Add a line with {end} alone.")
            content = lines[position].lstrip("\t") if heredoc.strips_tabs else lines[position]
            position += 1
            if content == end:
                break
            body.append(content)
        bodies.append(lines_from(first, "\n".join(body)))
    return tuple(bodies), position
