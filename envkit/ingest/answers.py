"""Which command of a pasted session a line answers."""

from __future__ import annotations

import re

from envkit._startup.regex import regex
from envkit.ingest.text import Text

PROMPT = regex(
    r"^(?:[^\n$#]{0,80}[$#]|[^\n$#❯➜»λ>]{0,60}(?:[❯➜»λ]|╰─[>❯➤$#])|(?:PS )?[A-Z]:\\[^\n>]{0,80}>"
    r"|In \[\d{1,4}\]:|>>>) ?(?=\S)"
)
_NOTE = regex(
    r"# ?(?:(?:right|yes|sure|expected|known|ok)[,:;.]|[^\n]{0,100}?\b(?:as expected"
    r"|(?:that|this|it)(?:'s| is) (?:expected|fine|normal|right)|we know|I know|on purpose|by design|harmless"
    r"|of course|not needed here)\b)",
    re.IGNORECASE,
)
_LONGEST = 100  # lines below a command that are looked through


def command_above(text: Text, offset: int) -> str:
    """The line with the prompt and the command whose answer holds `offset`; '' where no prompt stands above it."""
    index = text.index(offset)
    for line in reversed(text.lines[max(index - _LONGEST, 0) : index]):
        if PROMPT.match(line):
            return line
    return ""


def acknowledged(text: Text, offset: int) -> bool:
    """Whether the next thing that is typed below what stands at `offset` is a remark that it is as it should be."""
    index = text.index(offset) + 1
    for line in text.lines[index : index + _LONGEST]:
        if prompt := PROMPT.match(line):
            return _NOTE.match(line, prompt.end()) is not None
    return False
