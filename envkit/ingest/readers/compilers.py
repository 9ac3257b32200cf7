"""`gcc --version`, `ldd --version`, and what `strings libstdc++.so.6 | grep GLIBCXX` lists.

gcc (Ubuntu 13.2.0-23ubuntu4) 13.2.0
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.ingest.clues import Clue, Fact, Item, reader
from envkit.ingest.text import Text
from envkit.model import HostCompiler

_GCC = regex(
    r"^(?P<name>gcc|g\+\+|cc|c\+\+)(?:-(?P<suffix>\d{1,2}))? \([^)\n]{1,60}\) "
    r"(?P<version>\d{1,3}\.\d{1,3}(?:\.\d{1,3})?)\b",
    re.MULTILINE,
)
_KERNELS = regex(
    r"^ {0,4}The kernel was built by: [^\n]{0,40}gcc[^\n]{0,80}\) (?P<version>\d{1,3}\.\d{1,3}\.\d{1,3})$", re.MULTILINE
)
_DKMS_USES = regex(
    r"^ {0,4}You are using: {1,12}(?:g?cc|[\w-]{1,30}gcc(?:-\d{1,2})?) [^\n]{0,80}\) "
    r"(?P<version>\d{1,3}\.\d{1,3}\.\d{1,3})$",
    re.MULTILINE,
)
_CLANG = regex(r"^(?:[A-Z][\w ]{1,20} )?clang version (?P<version>\d{1,9}\.\d{1,9}(?:\.\d{1,9})?)", re.MULTILINE)
_LDD = regex(r"^ldd \((?:GNU libc|[\w ]{0,12}E?GLIBC [^)\n]{1,40})\) (?P<version>\d\.\d{1,2})$", re.MULTILINE)
_GLIBCXX = regex(r"^GLIBCXX_(?P<version>\d{1,9}\.\d{1,9}(?:\.\d{1,9})?)$", re.MULTILINE)


@reader("compiler versions")
def read(text: Text) -> Iterator[Clue]:
    """Host compilers, glibc, and the highest GLIBCXX listed."""
    for match in text.matches(_GCC, "gcc", "cc (", "cc-", "++ (", "++-"):
        default = match["suffix"] is None
        name = "gcc" if default else f"gcc-{match['suffix']}"
        compiler = HostCompiler("gcc", Version.parse(match["version"]), name, default)
        yield Item("host_compilers", name, compiler, match.start())
    for match in text.matches(_KERNELS, "The kernel was built by:"):
        yield Fact("kernel.compiler", Version.parse(match["version"]), match.start())
    for match in text.matches(_DKMS_USES, "You are using:"):
        compiler = HostCompiler("gcc", Version.parse(match["version"]), "gcc", default=True)
        yield Item("host_compilers", "gcc", compiler, match.start())
    for match in text.matches(_CLANG, "clang version"):
        compiler = HostCompiler("clang", Version.parse(match["version"]), "clang")
        yield Item("host_compilers", "clang", compiler, match.start())
    for match in text.matches(_LDD, "ldd ("):
        yield Fact("system.glibc", Version.parse(match["version"]), match.start())
    symbols = list(text.matches(_GLIBCXX, "GLIBCXX_"))
    if len(symbols) > 4:  # a listing, not the one symbol that an error names
        highest = max(Version.parse(match["version"]) for match in symbols)
        yield Fact("system.glibcxx", highest, symbols[0].start())
