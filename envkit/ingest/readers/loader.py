"""`ldconfig -p`: which files the loader's cache holds for the driver's libraries.

libcuda.so.1 (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libcuda.so.1
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.ingest.answers import PROMPT
from envkit.ingest.clues import Clue, Fact, Item, reader
from envkit.ingest.sessions import inside_container
from envkit.ingest.text import Text
from envkit.model import DriverLibrary

_CACHED = regex(
    r"^[ \t]{0,12}(?P<name>libcuda\.so\.1|libnvidia-ml\.so\.1|libnvidia-ptxjitcompiler\.so\.1) \((?:libc6"
    r"|ELF)[^)\n]{0,60}\) => (?P<path>/\S{1,200})$",
    re.MULTILINE,
)
_FILE = regex(
    r"(?P<path>(?:/[\w.+-]{1,80}){1,12}/(?P<name>libcuda|libnvidia-ml)\.so\.(?P<version>\d{3}\.\d{1,9}(?:\.\d{1,9})?))\b"
)
_LINK = regex(
    r"(?P<folder>(?:/[\w.+-]{1,80}){1,12}/)?(?P<name>libcuda|libnvidia-ml)\.so(?:\.1)? -> "
    r"(?P<file>(?:libcuda|libnvidia-ml)\.so\.(?P<version>\d{3}\.\d{1,9}(?:\.\d{1,9})?))$",
    re.MULTILINE,
)  # as `ls -l` shows it
_HEADING = regex(r"(?P<folder>/[\w./+-]{1,200}):")
_LS = regex(r"[#$>;&] ?(?:sudo )?ls(?: -{1,2}[\w=-]{1,20}){0,4} (?P<folder>/[\w./+-]{1,200})(?=\s{0,4}(?:[;|&]|$))")
_LONGEST = 60  # files of a folder


@reader("loader")
def read(text: Text) -> Iterator[Clue]:
    """Libraries of the driver with their versions where a file name shows one."""
    wsl = text.says("microsoft-standard")
    for match in text.matches(_FILE, "libcuda.so.", "libnvidia-ml.so."):
        version = Version.parse(match["version"])
        compat, path = "/compat/" in match["path"], match["path"]
        library = DriverLibrary(f"{match['name']}.so.1", path, version, "/stubs/" in path, compat)
        yield Item("driver.libraries", path, library, match.start())
        if not compat:
            yield Fact("driver.user_space", version, match.start())
    for match in text.matches(_LINK, "libcuda.so", "libnvidia-ml.so"):
        folder, version = match["folder"] or _listed(text, match.start()), Version.parse(match["version"])
        compat = "/compat/" in folder
        library = DriverLibrary(f"{match['name']}.so.1", folder + match["file"], version, "/stubs/" in folder, compat)
        yield Item("driver.libraries", library.path, library, match.start())
        if not compat and folder:
            yield Fact("driver.user_space", version, match.start())
    for match in text.matches(_CACHED, "=> /"):
        path = match["path"]
        if wsl and inside_container(text, match.start()):
            continue  # the Windows driver's, which the container engine put there
        library = DriverLibrary(match["name"], path, None, "/stubs/" in path, "/compat/" in path, True)
        yield Item("driver.libraries", path, library, match.start())


def _listed(text: Text, offset: int) -> str:
    """The folder whose files `ls` lists there, with its slash: the heading above them, or the command's only word."""
    for number in range(text.index(offset) - 1, max(text.index(offset) - _LONGEST, -1), -1):
        line = text.lines[number]
        found = _HEADING.fullmatch(line) or _LS.search(line)
        if found:
            return f"{found['folder'].rstrip('/')}/"
        if not line.strip() or PROMPT.match(line):
            return ""
    return ""
