"""A GPU that is not NVIDIA's, named in a text: such a text may hold nothing else that envkit knows.

LACT shows half the PCIe speed of my 7800 XT
"""

from __future__ import annotations

from envkit._startup.regex import regex
from envkit.ingest.text import Text
from envkit.model import OTHER_MAKER, Message

_SHOWN = 200  # characters of a line
_NAMED = {
    "an AMD": (
        regex(r"\b(?:Radeon|RX ?[5-9]\d{2,3}|[67]\d00 ?XTX?|MI[123]\d{2}X?)\b"),
        ("Radeon", "RX", "XT", "MI"),
    ),
    "an Intel": (regex(r"\bIntel (?:Iris|UHD|HD Graphics|Arc)\b"), ("Intel",)),
}


def other_makers(text: Text) -> tuple[Message, ...]:
    """The first GPU of another maker that the text names, as a message that no check explains; none for none."""
    found = []
    for maker, (pattern, needles) in _NAMED.items():
        match = next(text.matches(pattern, *needles), None)
        if match is not None:
            file, number = text.place(match.start())
            line = " ".join(text.line_at(match.start()).split())[:_SHOWN]
            found.append((match.start(), Message(OTHER_MAKER, line, number, {"maker": maker}, file)))
    return tuple(message for _, message in sorted(found, key=lambda item: item[0])[:1])
