"""Reads the YAML of conda's and pixi's files: mappings, lists, plain and quoted scalars, brackets on one line.

Every scalar stays text. Anchors, tags and several documents are refused, not guessed at; block scalars are skipped.
The time is linear in the text, and the depth is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.base.errors import SourceError

_DEPTH = 24
_BLOCK = regex(r"[|>][+-]?\d?[+-]?")
_REFUSED = regex(r"[&*!%@`]")


class Text(str):
    """A scalar that knows the line on which it is."""

    line: int = 0


@record
class _Line:
    number: int
    indent: int
    text: str


def parse(text: str) -> Any:  # noqa: ANN401 - what a document holds is its own
    """The document as dicts, lists and `Text`. Raises SourceError."""
    lines = list(_lines(text))
    if not lines:
        return {}
    value, end = _node(lines, 0, lines[0].indent, 0)
    if end < len(lines):
        raise _refusal(lines[end].number, "its indentation is invalid")
    return value


def _refusal(line: int, why: str) -> SourceError:
    return SourceError(f"line {line}: {why}.", "envkit reads the YAML that conda, mamba and pixi write.")


def _lines(text: str) -> Iterator[_Line]:
    """The lines that say something; what is inside block scalars says nothing here."""
    skipped_below: int | None = None
    for number, raw in enumerate(text.splitlines(), 1):
        stripped = raw.strip()
        if not stripped or stripped.startswith("#"):
            continue
        indent = len(raw) - len(raw.lstrip(" "))
        if skipped_below is not None and indent > skipped_below:
            continue
        skipped_below = None
        if stripped in ("---", "...") or stripped.startswith("%"):
            continue
        if raw[indent] == "\t":
            raise _refusal(number, "a tab indents it")
        body = _without_comment(stripped)
        if _BLOCK.fullmatch(body.rpartition(" ")[2]) and (": " in body or body.startswith("- ")):
            skipped_below = indent
            body = body[: body.rindex(body.rpartition(" ")[2])].rstrip()
        yield _Line(number, indent, body)


def _without_comment(text: str) -> str:
    """A line without the comment at its end; a `#` inside quotes or a word is none."""
    if " #" not in text:
        return text
    quote = ""
    for place, sign in enumerate(text):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "\"'" and (place == 0 or text[place - 1] in " [{,:"):
            quote = sign
        elif sign == "#" and place and text[place - 1] in " \t":
            return text[:place].rstrip()
    return text


def _node(lines: list[_Line], place: int, indent: int, depth: int) -> tuple[Any, int]:
    if depth > _DEPTH:
        raise _refusal(lines[place].number, "it is nested too deeply")
    if lines[place].text == "-" or lines[place].text.startswith("- "):
        return _sequence(lines, place, indent, depth)
    if _key(lines[place].text) is not None:
        return _mapping(lines, place, indent, depth)
    value = _scalar(lines[place].text, lines[place].number, depth)
    return _continued(value, lines, place + 1, indent - 1)


def _continued(value: Any, lines: list[_Line], place: int, indent: int) -> tuple[Any, int]:  # noqa: ANN401
    """A plain scalar with the lines that go on with it, which are further in than `indent`."""
    if isinstance(value, Text):
        parts: list[str] = [value]
        while place < len(lines) and lines[place].indent > indent:
            parts.append(lines[place].text)
            place += 1
        if len(parts) > 1:
            value = _text(" ".join(parts), value.line)
    return value, place


def _sequence(lines: list[_Line], place: int, indent: int, depth: int) -> tuple[list[Any], int]:
    found: list[Any] = []
    while place < len(lines) and lines[place].indent == indent:
        line = lines[place]
        if line.text != "-" and not line.text.startswith("- "):
            break
        rest = line.text[1:].lstrip()
        if not rest:
            value, place = _below(lines, place + 1, indent, depth, line.number)
        else:
            inner = indent + len(line.text) - len(rest)
            lines[place] = _Line(line.number, inner, rest)
            value, place = _node(lines, place, inner, depth + 1)
        found.append(value)
    return found, place


def _mapping(lines: list[_Line], place: int, indent: int, depth: int) -> tuple[dict[str, Any], int]:
    found: dict[str, Any] = {}
    while place < len(lines) and lines[place].indent == indent:
        line = lines[place]
        split = _key(line.text)
        if split is None:
            break
        key, rest = split
        if rest:
            value, place = _continued(_scalar(rest, line.number, depth), lines, place + 1, indent)
        else:
            value, place = _below(lines, place + 1, indent, depth, line.number)
        found[key] = value
    return found, place


def _key(text: str) -> tuple[str, str] | None:
    """The key that a line starts with, and what follows its colon; None for a line without one."""
    if text[0] in "\"'":
        end = text.find(text[0], 1) + 1
        colon = end if end and text[end : end + 1] == ":" else -1
    elif text[0] in "[{&*!|>%@`":
        colon = -1
    else:
        colon = text.find(": ")
        colon = len(text) - 1 if colon < 0 and text.endswith(":") else colon
    if colon <= 0 or (len(text) > colon + 1 and text[colon + 1] != " "):
        return None
    return _unquoted(text[:colon].strip()), text[colon + 1 :].strip()


def _below(lines: list[_Line], place: int, indent: int, depth: int, number: int) -> tuple[Any, int]:
    """What is under a key or a dash: further in, or a list in line with its key."""
    if place < len(lines):
        inner = lines[place].indent
        if inner > indent or (inner == indent and lines[place].text.startswith("-") and lines[place].text[1:2] in " "):
            return _node(lines, place, inner, depth + 1)
    return _text("", number), place


def _scalar(text: str, number: int, depth: int) -> Any:  # noqa: ANN401
    if text[0] in "[{":
        value, end = _flow(text, 0, number, depth)
        if text[end:].strip():
            raise _refusal(number, "the text after the bracket is invalid")
        return value
    if _REFUSED.match(text):
        raise _refusal(number, f"{text[0]!r} starts YAML syntax that these files do not use")
    return _text(_unquoted(text), number)


def _flow(text: str, place: int, number: int, depth: int) -> tuple[Any, int]:
    """A list or mapping in brackets on one line, from its opening bracket on."""
    if depth > _DEPTH:
        raise _refusal(number, "it is nested too deeply")
    opened = text[place]
    closing = "]" if opened == "[" else "}"
    found: list[Any] = []
    place += 1
    while True:
        place = _skipped(text, place)
        if place >= len(text):
            raise _refusal(number, f"{opened!r} is not closed on its line")
        if text[place] == closing:
            break
        if text[place] == ",":
            place += 1
        elif text[place] in "[{":
            value, place = _flow(text, place, number, depth + 1)
            found.append(value)
        else:
            word, place = _flow_word(text, place, number)
            found.append(word)
            if opened == "{" and text[place : place + 1] == ":":
                place += 1
    return (found if opened == "[" else dict(zip(map(str, found[::2]), found[1::2], strict=False))), place + 1


_PLAIN = regex(r"[^\[\]{},:]+(?::+[^\s\[\]{},:]+)*")


def _flow_word(text: str, place: int, number: int) -> tuple[Text, int]:
    if text[place] in "\"'":
        end = text.find(text[place], place + 1)
        if end < 0:
            raise _refusal(number, "a quote is not closed on its line")
        return _text(text[place + 1 : end], number), end + 1
    found = _PLAIN.match(text, place)
    if found is None:
        raise _refusal(number, "it is not understood")
    return _text(found.group().strip(), number), found.end()


def _skipped(text: str, place: int) -> int:
    while place < len(text) and text[place] in " \t":
        place += 1
    return place


def _text(value: str, number: int) -> Text:
    text = Text(value)
    text.line = number
    return text


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1].replace("''", "'") if text[0] == "'" else re.sub(r'\\(["\\/])', r"\1", text[1:-1])
    return text
