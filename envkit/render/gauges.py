"""The text format of Prometheus, for the textfile collector of its node exporter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

Sample = tuple[dict[str, str], float]


def gauge(name: str, help_text: str, samples: Iterable[Sample]) -> Iterator[str]:
    """One metric with its samples."""
    yield f"# HELP {name} {help_text}"
    yield f"# TYPE {name} gauge"
    for labels, number in samples:
        inside = ",".join(f'{key}="{_escaped(value)}"' for key, value in labels.items())
        yield f"{name}{{{inside}}} {number}"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
