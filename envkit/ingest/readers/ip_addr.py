"""`ip -br addr`: the network interfaces of each host that has an address.

enp4s0           UP             192.168.50.11/24
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.ingest.clues import Clue, Fact, reader
from envkit.ingest.text import Text

_UP = regex(r"^(?P<name>[a-z][\w.@-]{1,20}) {1,20}UP {1,20}\d{1,3}\.\d{1,3}\.\d", re.MULTILINE)


@reader("ip -br addr")
def read(text: Text) -> Iterator[Clue]:
    """Those that are up, in the order in which they stand, of all hosts together."""
    found = {match["name"].partition("@")[0]: match.start() for match in text.matches(_UP, " UP ")}
    if found:
        yield Fact("network_interfaces", tuple(found), min(found.values()))
