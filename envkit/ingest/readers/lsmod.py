"""`lsmod`, whole or filtered: module names, and in the last column the modules that use each.

Module                  Size  Used by
nvidia_uvm           1531904  2
nvidia              56823808  130 nvidia_uvm,nvidia_modeset
"""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.ingest.clues import Clue, Fact, reader
from envkit.ingest.text import Text

_ROW = regex(r"^(?P<name>[a-z][\w]{1,60}) {2,40}\d{3,10} {2,8}-?\d{1,6}(?: (?P<users>[\w,]{2,400}))?$")
_HEAD = regex(r"^Module {2,40}Size {2}Used by$")
_WHOLE = 12  # rows under a header: fewer are no machine's whole list


@reader("lsmod")
def read(text: Text) -> Iterator[Clue]:
    """The loaded modules, where a list names nvidia or is plainly whole (more text follows it)."""
    if not text.holds("Used by") and not text.holds("nvidia"):
        return
    names: dict[str, None] = {}
    position, start, rows, ended = 0, -1, -1, False
    for line in text.lines:
        match = _ROW.match(line)
        if match:
            start = position if start < 0 else start
            rows += 1 if rows >= 0 else 0
            names[match["name"]] = None
            names.update(dict.fromkeys((match["users"] or "").split(",")))
        elif _HEAD.match(line):
            rows = 0
        elif rows >= _WHOLE and line:
            ended = True
        position += len(line) + 1
    names.pop("", None)
    if any(name.startswith("nvidia_") for name in names):
        names["nvidia"] = None  # the others cannot be loaded without it
    if names and ("nvidia" in names or ended):
        yield Fact("kernel.loaded_modules", tuple(names), start)
