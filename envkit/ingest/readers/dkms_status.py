"""`dkms status`, with `/` between module and version (3.x) or a comma (2.x).

nvidia/535.183.01, 6.5.0-41-generic, x86_64: installed
nvidia, 390.157, 5.4.0-190-generic, x86_64: built
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.ingest.clues import Clue, Item, reader
from envkit.ingest.text import Text
from envkit.model import DkmsEntry

_LINE = regex(
    r"^(?P<module>nvidia[\w-]{0,40})(?:/|, )(?P<version>\d{3}(?:\.\d{1,9}){0,2})(?:, "
    r"(?P<kernel>\d[\w.+~-]{2,80}), (?P<arch>\w{2,12}))?: (?P<state>added|built|installed|broken)\b",
    re.MULTILINE,
)


@reader("dkms status")
def read(text: Text) -> Iterator[Clue]:
    """One entry per line on an nvidia module."""
    for match in text.matches(_LINE, "nvidia"):
        kernel = match["kernel"] or ""
        entry = DkmsEntry(match["module"], match["version"], kernel, match["state"])
        yield Item("kernel.dkms", f"{match['module']} {match['version']} {kernel}", entry, match.start())
