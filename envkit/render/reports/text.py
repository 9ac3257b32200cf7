"""Plain text for a terminal: one report below the other."""

from __future__ import annotations

from collections.abc import Sequence

from envkit.base.shown import inert
from envkit.render.reports import Diagnosed, Look
from envkit.render.text import doctor_text


def report(machines: Sequence[Diagnosed], look: Look) -> str:
    """The reports, each below the name of its machine where there are several."""
    shown = [inert(machine) for machine in machines]
    texts = [doctor_text(*machine, verbose=look.verbose, color=look.color, width=look.width) for machine in shown]
    if len(texts) == 1:
        return texts[0]
    return "\n".join(f"=== {machine[0].origin} ===\n{text}" for machine, text in zip(shown, texts, strict=True))
