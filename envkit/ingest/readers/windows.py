"""Signs of Windows and WSL: paths of tracebacks, `wsl -l -v`, WSL's own library folder.

  NAME            STATE           VERSION
* Ubuntu-22.04    Running         1
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.ingest.clues import Clue, Fact, reader
from envkit.ingest.text import Text
from envkit.model import MachineKind, OsRelease

_TRACE = regex(
    r"^ {0,8}File \"[A-Za-z]:\\[^\"\n]{3,300}\", line \d{1,6}|^(?:\([\w.-]{1,40}\) )?"
    r"(?:PS )?[A-Z]:\\[\w. ()~\\-]{0,300}> ?\S|^venv \"[A-Za-z]:\\[^\"\n]{3,200}\\[Pp]ython\.exe\"",
    re.MULTILINE,
)
_SHELL = regex(
    r"'[\w.-]{1,40}' is not recognized as an internal or external command"  # cmd.exe, then PowerShell
    r"|The term '[\w.-]{1,40}' is not recognized as (?:the|a) name of a cmdlet"
)
_SITE = regex(r"(?<![\w:])[A-Za-z]:\\[^\"\n:<>|]{1,200}?\\site-packages\\")
_FORM = regex(r"^#{1,5} (?:OS|Operating [Ss]ystem|Platform)\n{1,2}Windows(?: 1[01])?$", re.MULTILINE)
_LISTED = regex(r"^\* (?P<name>[\w.-]{2,40}) {2,30}(?:Running|Stopped) {2,20}(?P<version>[12])$", re.MULTILINE)
_WSL = regex(
    r"/usr/lib/wsl/(?:lib|drivers)/(?![\w.]{0,40}\*)|microsoft-standard-WSL2"
    r"|^WSL version: [12]\.|^[^\n]{0,40}:/mnt/c/(?:Users|Windows)",
    re.MULTILINE,
)


@reader("Windows and WSL")
def read(text: Text) -> Iterator[Clue]:
    """Windows where paths or prompts of it stand; WSL where its folders do."""
    for match in text.matches(_LISTED, "Running", "Stopped") if text.holds("VERSION") else ():
        kind = MachineKind.WSL1 if match["version"] == "1" else MachineKind.WSL2
        yield Fact("system.machine_kind", kind, match.start())
    for wsl in text.matches(_WSL, "/usr/lib/wsl/", "microsoft-standard-WSL2", "WSL version: ", ":/mnt/c/"):
        yield Fact("system.machine_kind", MachineKind.WSL2, wsl.start())
        return
    for match in (
        *text.matches(_TRACE, ":\\"),
        *text.matches(_SHELL, "is not recognized as"),
        *text.matches(_SITE, "\\site-packages\\"),
        *(text.matches(_FORM, "# OS", "# Operating ", "# Platform", lines=3) if not text.says("wsl") else ()),
    ):
        yield Fact("system.os", OsRelease("windows", "windows", ""), match.start())
