"""The formats of reports on files. Each module here is one, by its name, with a function `report`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from envkit._startup.records import record

if TYPE_CHECKING:
    from envkit.checks.engine.findings import Finding

FIRST = "text"  # the format of who asks for none


@record
class CheckedFile:
    """A file and the findings on it; `target` is what it was checked for, in words."""

    name: str
    findings: Sequence[Finding]
    target: str = ""


def formats() -> tuple[str, ...]:
    """The names of all formats, the usual one first."""
    import pkgutil

    others = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return (FIRST, *(name for name in others if name != FIRST))


def formatted(files: Sequence[CheckedFile], form: str) -> str:
    """The files in a format."""
    from importlib import import_module

    text: str = import_module(f"{__name__}.{form}").report(files)
    return text
