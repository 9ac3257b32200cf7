"""Text in short lines; `textwrap` takes a millisecond to import, which every script would wait for."""

from __future__ import annotations

from collections.abc import Iterator

WIDTH = 80


def hang(head: str, text: str, width: int = WIDTH) -> Iterator[str]:
    """The text after its head, broken at spaces; later lines are under the text's first word."""
    line, indent = head, " " * len(head)
    for word in text.split():
        if line.strip() and len(line) + len(word) + 1 > width and line not in (head, indent):
            yield line.rstrip()
            line = indent
        line += word if line in (head, indent) else f" {word}"
    yield line.rstrip()


def excerpt(text: str, start: int, width: int) -> tuple[str, int]:
    """As much of the text as `width` holds, with what begins at `start`, and where that is then; cut at …."""
    if len(text) <= width:
        return text, start
    if start <= width // 2:
        return f"{text[: width - 1]}…", start
    begin = min(start - width // 8, len(text) - width + 1)
    space = text.find(" ", begin, start)
    begin = space + 1 if space >= 0 else begin
    kept = text[begin:] if len(text) - begin < width else f"{text[begin : begin + width - 2]}…"
    return f"…{kept}", start - begin + 1
