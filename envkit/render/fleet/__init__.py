"""The formats of a fleet's report. Each module here is one, by its name, with a function `report`."""

from __future__ import annotations

from envkit.fleet.model import FleetReport
from envkit.render.reports import Look

FIRST = "text"  # the format of who asks for none


def formats() -> tuple[str, ...]:
    """The names of all formats, the usual one first."""
    import pkgutil

    others = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return (FIRST, *(name for name in others if name != FIRST))


def formatted(fleet: FleetReport, form: str, look: Look) -> str:
    """The report in a format."""
    from importlib import import_module

    text: str = import_module(f"{__name__}.{form}").report(fleet, look)
    return text
