"""Text in short lines; `textwrap` takes a millisecond to import, which every script would wait for."""

from __future__ import annotations

from collections.abc import Iterator

WIDTH = 80


def hang(head: str, text: str, width: int = WIDTH) -> Iterator[str]:
    """The text after its head, broken at spaces; later lines stand under the text's first word."""
    line, indent = head, " " * len(head)
    for word in text.split():
        if line.strip() and len(line) + len(word) + 1 > width and line not in (head, indent):
            yield line.rstrip()
            line = indent
        line += word if line in (head, indent) else f" {word}"
    yield line.rstrip()
