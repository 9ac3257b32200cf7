"""The command blocks of a Markdown page: fences marked `sh`, with the exit status that they promise."""

from __future__ import annotations

import re
from pathlib import Path

from envkit._startup.records import record

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
_FENCE = re.compile(r"^```(\w*)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@record
class Block:
    """One fenced block: `language`, `marks` after it (`exit=1`, `make`), its text, and where it is."""

    page: str
    line: int
    language: str
    marks: tuple[str, ...]
    text: str

    @property
    def expected_exit(self) -> int:
        """The exit status that the page promises."""
        return next((int(mark[5:]) for mark in self.marks if mark.startswith("exit=")), 0)


def blocks(page: Path) -> list[Block]:
    """Every fenced block of the page, in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            str(page.relative_to(ROOT)),
            text.count("\n", 0, match.start()) + 1,
            match.group(1),
            tuple(match.group(2).split()),
            match.group(3),
        )
        for match in _FENCE.finditer(text)
    ]


def commands() -> list[Block]:
    """Every block of commands in every page."""
    return [block for page in PAGES for block in blocks(page) if block.language == "sh"]
