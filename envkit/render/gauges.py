"""The text format of Prometheus, for the textfile collector of its node exporter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

Sample = tuple[dict[str, str], float]


def gauges(told: Iterable[tuple[str, str, Iterable[Sample]]]) -> str:
    """A page of metrics, each with its name, what it tells, and its samples."""
    return "\n".join(line for name, help_text, samples in told for line in _gauge(name, help_text, samples)) + "\n"


def _gauge(name: str, help_text: str, samples: Iterable[Sample]) -> Iterator[str]:
    yield f"# HELP {name} {help_text}"
    yield f"# TYPE {name} gauge"
    for labels, number in samples:
        inside = ",".join(f'{key}="{_escaped(value)}"' for key, value in labels.items())
        yield f"{name}{{{inside}}} {number}"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
