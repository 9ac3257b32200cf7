"""The Python that a text's tracebacks run: the environment whose site-packages stand in their paths, where it is one.

uv names the environment that it installs into, too.

File "/home/kim/miniconda3/envs/tg/lib/python3.10/site-packages/torch/cuda/__init__.py", line 293, in _lazy_init
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.ingest.clues import Clue, Fact, reader
from envkit.ingest.text import Text

_UNIX = regex(
    r"(?<![^\s\"'(=])(?P<prefix>/[^\s:\"'()=,;]{1,160})/lib/python3\.\d{1,2}/(?:site-packages/|[a-z_]{2,30}\.py)"
)
_WINDOWS = regex(
    r"(?<![^\s\"'(=])(?P<prefix>[A-Za-z]:\\[^\s:\"'()=,;/]{1,160})\\[Ll]ib\\(?:site-packages\\|[a-z_]{2,30}\.py)"
)
_BY_UV = regex(r"\bUsing Python \d[\d.]{1,10} environment at:? (?P<prefix>/[^\s:\"'()=,;]{1,160})")
_TOLD = regex(
    r"^\*\* Python executable: (?P<python>(?:[A-Za-z]:\\|/)[^\s\"'<>|]{1,200})$", re.MULTILINE
)  # ComfyUI's line
_SHARED = ("/usr", "/usr/local")  # of the system, which every image has too
_USERS = "/.local"  # packages of a user, beside any Python
_FOR_A_WHILE = regex(r"[/\\]pip-build-env-")  # what pip builds in, and takes away
_WITHOUT_SCRIPTS = regex(
    r"(?i).*\\envs\\[^\\]{1,60}|.*\\(?:(?:ana|mini)conda|miniforge|mambaforge|conda|python)[\w.]{0,12}"
    r"|.*\\[^\\]{0,40}(?:embed|embeded|embedded|portable)[^\\]{0,20}"
)


@reader("traceback paths")
def read(text: Text) -> Iterator[Clue]:
    """The Python of these paths; none where they are of several, unless the program names its own."""
    for match in text.matches(_TOLD, "** Python executable: "):
        yield Fact("traceback_python", match["python"], match.start())
        return
    found: dict[str, int] = {}
    for match in text.matches(_UNIX, "/lib/python3."):
        prefix = match["prefix"]
        if prefix not in _SHARED and not prefix.endswith(_USERS) and not _FOR_A_WHILE.search(prefix):
            found.setdefault(f"{prefix}/bin/python", match.start())
    for match in text.matches(_BY_UV, "environment at"):
        found.setdefault(f"{match['prefix']}/bin/python", match.start())
    for match in text.matches(_WINDOWS, "\\lib\\", "\\Lib\\"):
        prefix = match["prefix"]
        if _FOR_A_WHILE.search(prefix):
            continue
        folder = "" if _WITHOUT_SCRIPTS.fullmatch(prefix) else "\\Scripts"  # where a venv of Windows has it
        found.setdefault(f"{prefix}{folder}\\python.exe", match.start())
    if len({path.lower() for path in found}) == 1:
        path, offset = next(iter(found.items()))
        yield Fact("traceback_python", path, offset)
