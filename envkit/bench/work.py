"""A network's step on one scale with the other measures: the rate that it reached, and the least time of the card."""

from __future__ import annotations

from envkit.advice.cards import Card
from envkit.advice.memory import need_of
from envkit.advice.speed import Load, Step, loads_of, step_on
from envkit.advice.workload import WorkloadWords, workload_of
from envkit.bench.measurement import Measurement


def tflops_of(measurement: Measurement) -> float | None:
    """The operations of a training step by its time; None for what is no network."""
    for load in _load(measurement):
        return load.operations / measurement.value / 1e12 if load.operations and measurement.value else None
    return None


def least_time(measurement: Measurement, card: Card | None) -> Step | None:
    """What a step takes on the card at best, and what it waits for there; None where a rate is not known."""
    loads = _load(measurement)
    step = step_on(card, loads) if card and loads else None
    return step if step and step.rate_known else None


def _load(measurement: Measurement) -> tuple[Load, ...]:
    """The load of the one card on which it was measured; empty for what is no network."""
    job = measurement.job
    if job.kind != "train":
        return ()
    words = WorkloadWords(network=job.network, batch=job.batch, precision=job.precision, optimizer="sgd", task="train")
    workload = workload_of(words)
    return loads_of(workload, need_of(workload), 1)
