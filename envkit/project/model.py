"""What a project's file asks for, whatever its format: packages with their places, and what it says of Python."""

from __future__ import annotations

from collections.abc import Callable

from envkit._startup.records import record
from envkit.base.versions import Version
from envkit.dockerfile.packages import Package

Beside = Callable[[str], "str | None"]  # reads a file by its name in the folder of the first one, or below it


@record
class Item:
    """One package that a file asks for, and where."""

    package: Package
    file: str  # '' for the file itself, otherwise the one that it includes
    written: str  # as it is in that line
    group: str = ""  # the extra or feature that it belongs to; '' for what everybody gets
    index_line: int = 0  # where the address of its own index is; 0: it names none


@record
class Unread:
    """Something that a file takes packages from and that was not looked at."""

    line: int
    name: str
    file: str = ""
    refused: bool = False  # its installer stops at it: it is not a requirement


@record
class Manifest:
    """A project's file, read."""

    kind: str  # requirements, pyproject, uv.lock …
    items: tuple[Item, ...]
    unread: tuple[Unread, ...] = ()
    requires_python: str = ""  # a specifier, as PEP 440 writes it
    python: Version | None = None  # the one that it installs, as an environment of conda does
    driver_cuda: Version | None = None  # the CUDA that it wants the driver to report
    undeclared: tuple[Unread, ...] = ()  # what needs a CUDA that its own solver is not told of
    extras: tuple[str, ...] | None = ()  # the names of its extras and features; None: the file does not tell them all
    idle_indexes: tuple[Unread, ...] = ()  # those that only packages which name them use, where none does
    locked: bool = False  # written by a tool: the change belongs into another file
    idle_sources: tuple[Unread, ...] = ()  # what it says of the index of packages that it does not ask for itself
