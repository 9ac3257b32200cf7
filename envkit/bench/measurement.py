"""What a child measured, and how its lines are read: one that hangs, dies or prints rubbish keeps what it had said."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from math import isfinite
from statistics import median, quantiles
from typing import TYPE_CHECKING, Any

from envkit._startup.records import record
from envkit.bench.jobs import Job

if TYPE_CHECKING:
    from envkit.host.bench import BenchChild

NO_FRAMEWORK = "no-framework"
_LATE = "no result within the time limit (--limit)"
_NO_START = "it did not start measuring within the time limit (--limit)"
_PROBLEMS = (NO_FRAMEWORK, "no-gpu", "out-of-memory", "timed-out", "hung", "other-process", "denied", "failed")


@record
class Measurement:
    """One job with its samples, or the problem that it had."""

    job: Job
    framework: str
    version: str
    samples: tuple[float, ...] = ()
    unit: str = ""
    parameters: int | None = None
    link: tuple[tuple[str, str], ...] = ()
    conditions: tuple[tuple[str, float], ...] = ()  # of the GPU meanwhile: clock, power, temperature, throttle bits
    near: float | None = None  # the median of a copy from the processors next to the GPU, where others made it first
    problem: str = ""
    detail: str = ""

    @property
    def value(self) -> float | None:
        """The median of the samples."""
        return median(self.samples) if self.samples else None

    @property
    def spread(self) -> float | None:
        """The interquartile range of the samples, as a share of their median."""
        if len(self.samples) < 2:
            return None
        low, _, high = quantiles(self.samples, n=4, method="inclusive")
        return (high - low) / median(self.samples)


def measured(
    jobs: Sequence[Job], framework: str, start: Callable[[Sequence[Job]], BenchChild]
) -> tuple[Measurement, ...]:
    """Every job measured, or with its problem. A job that ends its child costs itself alone: the others go on again."""
    pending = list(jobs)
    found: dict[str, Measurement] = {}
    version = ""
    while pending:
        done = start(pending)
        lines = [line for line in map(_line, done.lines) if line is not None]
        version = next((str(line["version"]) for line in lines if "version" in line), version)
        waiting = {job.id: job for job in pending}
        for line in lines:
            job = waiting.pop(str(line.get("id")), None)
            if job is not None:
                found[job.id] = _read(job, framework, version, line)
        begun = [str(line["start"]) for line in lines if "start" in line]
        stopped = waiting.pop(begun[-1], None) if begun else None
        if stopped is not None:
            problem = "timed-out" if done.silent else "failed"
            detail = _LATE if done.silent else done.ending or "it exited without a result"
            found[stopped.id] = Measurement(stopped, framework, version, problem=problem, detail=detail)
        if stopped is None:
            problem = done.problem or ("hung" if done.silent else "failed")
            detail = _NO_START if done.silent else done.ending or "it exited without a result"
            for job in waiting.values():
                found[job.id] = Measurement(job, framework, version, problem=problem, detail=detail)
            break
        pending = list(waiting.values())
    return tuple(found[job.id] for job in jobs)


def _line(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):  # cut off, or not ours
        return None
    return found if isinstance(found, dict) else None


def _read(job: Job, framework: str, version: str, line: dict[str, Any]) -> Measurement:
    problem = line.get("problem")
    if isinstance(problem, str):
        known = problem if problem in _PROBLEMS else "failed"
        return Measurement(job, framework, version, problem=known, detail=str(line.get("detail", ""))[:300])
    samples = line.get("samples")
    if not _are_samples(samples) or not isinstance(line.get("unit"), str):
        return Measurement(job, framework, version, problem="failed", detail="its result has no samples")
    parameters, link = line.get("parameters"), line.get("link")
    return Measurement(
        job,
        framework,
        version,
        tuple(samples or ()),
        line["unit"],
        parameters if isinstance(parameters, int) else None,
        tuple((str(name), str(value)) for name, value in link.items()) if isinstance(link, dict) else (),
        _conditions(line.get("conditions")),
        median(near) if isinstance(near := line.get("near"), list) and _are_samples(near) else None,
    )


def _conditions(given: object) -> tuple[tuple[str, float], ...]:
    pairs = given.items() if isinstance(given, dict) else ()
    return tuple((str(name), value) for name, value in pairs if type(value) in (int, float) and isfinite(value))


def _are_samples(samples: object) -> bool:
    return (
        isinstance(samples, list)
        and 0 < len(samples) <= 10_000
        and all(type(one) in (int, float) and isfinite(one) and one > 0 for one in samples)
    )
