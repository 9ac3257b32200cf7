"""The formats of the doctor's report. Each module here is one, by its name, with a function `report`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from envkit._startup.records import record

if TYPE_CHECKING:
    from envkit.checks.engine.findings import Finding
    from envkit.model import Environment

Diagnosed: TypeAlias = "tuple[Environment, Sequence[Finding]]"
FIRST = "text"  # the format of who asks for none


@record
class Look:
    """How a report is to look where its format leaves that open."""

    verbose: bool
    color: bool
    width: int


def formats() -> tuple[str, ...]:
    """The names of all formats, the usual one first."""
    import pkgutil

    others = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return (FIRST, *(name for name in others if name != FIRST))


def formatted(machines: Sequence[Diagnosed], form: str, look: Look) -> str:
    """The machines in a format. Raises RequestError for several where the format holds one."""
    from importlib import import_module

    text: str = import_module(f"{__name__}.{form}").report(machines, look)
    return text
