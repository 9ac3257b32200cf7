"""Whether the dynamic loader could find a library, told from its index and folders, so that no child need try."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

_INDEX = "/etc/ld.so.cache"
_TRIPLET = f"{os.uname().machine}-linux-gnu"
# searched without an index entry too, and what is linked into the interpreter of a Conda environment
_FOLDERS = ("/lib", "/usr/lib", "/lib64", "/usr/lib64", f"/lib/{_TRIPLET}", f"/usr/lib/{_TRIPLET}")


def may_load(name: str, variables: Mapping[str, str]) -> bool:
    """False only where the loader surely finds no library `name`; in doubt True, and a child has to try."""
    if name.encode() + b"\0" in _index(name):
        return True
    searched = filter(None, variables.get("LD_LIBRARY_PATH", "").split(":"))
    prefixes = {f"{prefix}/lib" for prefix in (sys.prefix, sys.base_prefix)}
    return any(os.path.lexists(os.path.join(folder, name)) for folder in (*searched, *prefixes, *_FOLDERS))


def _index(name: str) -> bytes:
    """The loader's index; where it cannot be read, bytes that hold the name."""
    try:
        with open(_INDEX, "rb") as stream:
            return stream.read()
    except OSError:
        return name.encode() + b"\0"
