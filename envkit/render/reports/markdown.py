"""Markdown for an issue: one report below the other."""

from __future__ import annotations

from collections.abc import Sequence

from envkit.base.shown import inert
from envkit.render.markdown import doctor_markdown
from envkit.render.reports import Diagnosed, Look


def report(machines: Sequence[Diagnosed], look: Look) -> str:
    """The reports, one below the other."""
    return "\n".join(doctor_markdown(*inert(machine)) for machine in machines)
