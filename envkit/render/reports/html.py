"""One HTML page."""

from __future__ import annotations

from collections.abc import Sequence

from envkit.base.errors import RequestError
from envkit.base.shown import inert
from envkit.render.html import doctor_html
from envkit.render.reports import Diagnosed, Look


def report(machines: Sequence[Diagnosed], look: Look) -> str:
    """The page. Raises RequestError for several machines."""
    if len(machines) > 1:
        raise RequestError(f"--format html is for one report, not {len(machines)}.", "Use one --from at a time.")
    return doctor_html(*inert(machines[0]))
