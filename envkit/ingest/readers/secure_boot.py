"""`mokutil --sb-state`, SELinux's mode, the kernel's lockdown and a laptop's graphics switch: one word each.

SecureBoot enabled
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.ingest.clues import Clue, Fact, reader
from envkit.ingest.text import Text

_STATE = regex(r"^(?:SecureBoot|Secure Boot:?) (?P<state>enabled|disabled)\b", re.MULTILINE)
_SELINUX = regex(
    r"^(?:[^\n]{0,80}[$#] ?getenforce\n(?P<mode>Enforcing|Permissive|Disabled)$|Current mode: {2,40}"
    r"(?P<current>enforcing|permissive))",
    re.MULTILINE,
)
_LOCKDOWN = regex(
    r"^none \[(?P<mode>integrity|confidentiality)\]|^\[(?P<none>none)\] integrity confidentiality$", re.MULTILINE
)
_SWITCH = regex(
    r"(?:prime-select query|/etc/prime/current_type)\n(?P<profile>intel|nvidia|on-demand|offload|amd)$", re.MULTILINE
)


@reader("security state")
def read(text: Text) -> Iterator[Clue]:
    """Secure Boot, SELinux, lockdown, prime-select."""
    for match in text.matches(_STATE, "ecure"):
        yield Fact("system.secure_boot", match["state"] == "enabled", match.start())
    for match in text.matches(_SELINUX, "getenforce", "Current mode:", lines=2):
        yield Fact("system.selinux", (match["mode"] or match["current"]).lower(), match.start())
    for match in text.matches(_LOCKDOWN, "integrity"):
        yield Fact("system.lockdown", match["mode"] or "none", match.start())
    for match in text.matches(_SWITCH, "prime-select query", "/etc/prime/current_type", lines=2):
        yield Fact("system.prime_profile", match["profile"], match.start())
