"""This envkit and the packages that its probes need in one file that any Python that is new enough runs."""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution, metadata
from typing import BinaryIO

from envkit.base.versions import Version
from envkit.host.whole_file import replacing, take_mode

_PACKAGES = ("click", "packaging", "platformdirs", "pyelftools", "nvidia-ml-py")
_START = """import sys

if sys.version_info[:2] < {oldest}:
    sys.stderr.write("envkit needs a newer Python.\\n")
    sys.exit(2)
try:
    import ctypes, gettext
except ImportError:  # python3-minimal, or built where a library was missing
    sys.stderr.write("envkit needs Python's complete standard library.\\n")
    sys.exit(2)
from envkit.__main__ import main
main()
"""


def bundle(target: str) -> None:
    """Write the file, whole or not at all. Raises OSError."""
    with replacing(target) as stream:
        _write(stream)
        take_mode(stream, target)


def _write(stream: BinaryIO) -> None:
    own = _own_archive()
    if own:  # we run from such a file ourselves
        with open(own, "rb") as archive_of_ours:
            shutil.copyfileobj(archive_of_ours, stream)
        return
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("__main__.py", _START.format(oldest=_oldest()))
        for source, name in _files():
            archive.write(source, name)


def _oldest() -> tuple[int, ...]:
    """The first two numbers of the oldest Python that this envkit runs on."""
    return Version.parse(metadata("envkit")["Requires-Python"].removeprefix(">=")).release(2).parts


def _own_archive() -> str:
    """The zipped application that we run from, '' where we are installed."""
    home = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return home if os.path.isfile(home) else ""


def _files() -> Iterator[tuple[str, str]]:
    """The files to carry and their names in the archive: code and data, nothing compiled."""
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for folder, folders, names in os.walk(home):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(names):
            place = os.path.join(folder, name)
            yield place, os.path.join("envkit", os.path.relpath(place, home))
    for package in _PACKAGES:
        try:
            files = distribution(package).files or ()
        except PackageNotFoundError:
            continue
        for path in files:
            place = str(path.locate())
            if str(path).endswith(".py") and not str(path).startswith("..") and os.path.isfile(place):
                yield place, str(path)
