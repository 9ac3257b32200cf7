"""Run by each Python whose byte code the zipped application carries: `python compile_code.py FOLDER FILE`."""

from __future__ import annotations

import marshal
import sys
import zlib
from importlib.util import MAGIC_NUMBER
from pathlib import Path


def packed(folder: Path) -> bytes:
    """The byte code of every module below `folder`, each compressed, by its path; what cannot be read stays source."""
    codes = {}
    for path in sorted(folder.rglob("*.py")):
        place = path.relative_to(folder).as_posix()
        try:
            code = compile(path.read_bytes(), place, "exec", dont_inherit=True)
        except SyntaxError:  # for other Pythons alone
            continue
        codes[place] = zlib.compress(marshal.dumps(code), 9)
    return MAGIC_NUMBER + marshal.dumps(codes)


if __name__ == "__main__":
    Path(sys.argv[2]).write_bytes(packed(Path(sys.argv[1])))
