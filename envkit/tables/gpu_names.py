"""The names that drivers give to parts and variants of a board: what is left of them names the board itself."""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.regex import regex

# `GRID T4-16Q`, `NVIDIA A100-3-20C`, `A30-1-6CME`, `GRID M60-1B4`: share of a board that a virtual machine was given
_VIRTUAL = regex(r"^(?P<board>.{2,60}?)(?:-\d)?-\d{1,3}(?:[abcq]4?|cme)")
_GRID = regex(r"^(?P<board>grid .{2,60}?|rtxa\d{4})-\d{1,3}")  # the same without a letter
_INSTANCE = regex(r"^(?P<board>.{2,60}?) mig (?:\d{1,2}c\.)?\d{1,2}g\.\d{1,4}gb(?:\+[\w.+-]{1,12})?")
_SUFFIXES = (" with max-q design", " lite hash rate")


def board_names(name: str) -> Iterator[str]:
    """`name` (in lower case, without the maker) and, where it says more than the board, the board's name."""
    yield name
    for pattern in (_INSTANCE, _VIRTUAL, _GRID):
        match = pattern.fullmatch(name)
        if match:
            # a share is named after another board than a card of that name: `H100-80C` is one of an H100 PCIe
            yield from () if pattern is _INSTANCE else (f"grid {match['board']}",)
            yield match["board"]
    for suffix in _SUFFIXES:
        if name.endswith(suffix):
            yield name.removesuffix(suffix)
