"""Imports from the zipped application by its byte code, where it holds some for the running Python.

Python alone would compile each module of a zip at every start, and twice.
"""

from __future__ import annotations

import marshal
import os
import sys
import zlib
from collections.abc import Mapping
from importlib.util import MAGIC_NUMBER
from types import CodeType
from zipimport import zipimporter


class ByteCodeImporter(zipimporter):
    """An importer of the archive that takes a module's code from `packed`, by the path of its source in the archive."""

    packed: Mapping[str, bytes] = {}

    def get_code(self, fullname: str) -> CodeType:
        """The module's code, from its source where none is packed."""
        packed = self.packed.get(self._place(fullname))
        if packed is None:
            return super().get_code(fullname)
        code: CodeType = marshal.loads(zlib.decompress(packed))
        return code

    def get_filename(self, fullname: str) -> str:
        """The path of the module's source."""
        return os.path.join(self.archive, *self._place(fullname).split("/"))

    def _place(self, fullname: str) -> str:
        inside = self.prefix.replace(os.sep, "/") + fullname.rpartition(".")[2]
        return f"{inside}/__init__.py" if self.is_package(fullname) else f"{inside}.py"


def use(archive: str) -> None:
    """Import from `archive` by its byte code from now on; nothing changes where it holds none for this Python."""
    try:
        data = zipimporter(archive).get_data(f"{sys.implementation.cache_tag}.code")
    except OSError:
        return
    if not data.startswith(MAGIC_NUMBER):
        return
    ByteCodeImporter.packed = marshal.loads(data[len(MAGIC_NUMBER) :])

    def importer(path: str) -> ByteCodeImporter:
        if path != archive and not path.startswith(archive + os.sep):
            raise ImportError
        return ByteCodeImporter(path)

    sys.path_hooks.insert(0, importer)
    for path in [path for path in sys.path_importer_cache if path.startswith(archive)]:
        del sys.path_importer_cache[path]
