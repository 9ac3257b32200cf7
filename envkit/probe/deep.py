"""Measurements of `--deep`: does the stack work, and how fast are copies."""

from __future__ import annotations

from envkit.base.errors import SourceError
from envkit.host.base import Host
from envkit.model import Measurement, Observed, Problem, found, missing
from envkit.model.facts_json import part_from_json
from envkit.probe.text import derived


def measurements(host: Host, limit_s: float) -> Observed[tuple[Measurement, ...]]:
    """One measurement per step of each framework that is installed, and one per copy direction of each device."""
    answer = host.query("deep", limit_s)
    if answer.value is None:
        return derived(answer, lambda value: None)
    try:
        parts: tuple[Measurement, ...] = part_from_json(
            tuple[Measurement, ...], answer.value.get("measurements"), "measurements"
        )
    except SourceError as error:
        return missing(Problem.UNPARSABLE, answer.source, error.message)
    return found(parts, answer.source)
