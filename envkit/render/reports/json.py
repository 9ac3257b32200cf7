"""The JSON documents of the interface, the only format that is for programs: nothing in it is made inert."""

from __future__ import annotations

from collections.abc import Sequence

from envkit.documents.doctor import doctor_json, doctors_json
from envkit.render.reports import Diagnosed, Look


def report(machines: Sequence[Diagnosed], look: Look) -> str:
    """One document, or one that holds those of several machines."""
    return doctor_json(*machines[0]) if len(machines) == 1 else doctors_json(machines)
