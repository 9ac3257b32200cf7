"""A benchmark as gauges for the textfile collector of Prometheus' node exporter."""

from __future__ import annotations

from collections.abc import Sequence

from envkit.bench.verdicts import Verdict
from envkit.render.gauges import Sample, gauges

_STATUS = {"ok": 0, "unknown": 1, "low": 2}


def bench_prometheus(verdicts: Sequence[Verdict]) -> str:
    """What was measured, what is possible, what is low, and what could not be measured."""
    measured = [row for row in verdicts if row.measurement.value is not None]
    told: list[tuple[str, str, list[Sample]]] = [
        (
            "envkit_bench",
            "Medians, in the unit of the label.",
            [(_labels(row), row.measurement.value or 0) for row in measured],
        ),
        (
            "envkit_bench_limit",
            "The highest possible value.",
            [(_labels(row), row.limit.value) for row in measured if row.limit],
        ),
        (
            "envkit_bench_status",
            "Verdicts: 0 ok, 1 unknown, 2 low.",
            [(_labels(row), _STATUS[row.status]) for row in measured if row.status],
        ),
        (
            "envkit_bench_problem",
            "What could not be measured; the value is always 1.",
            [({**_labels(row), "problem": row.measurement.problem}, 1) for row in verdicts if row.measurement.problem],
        ),
    ]
    return gauges(told)


def _labels(row: Verdict) -> dict[str, str]:
    one, device = row.measurement, row.device
    labels = {"id": one.job.id, "device": device.name, "framework": one.framework, "unit": one.unit}
    return {**labels, "threads": str(row.threads)} if row.threads else labels
