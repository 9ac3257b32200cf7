"""The verdicts of a benchmark as a JSON document, and the medians as a baseline for later ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from envkit.base.errors import SourceError
from envkit.bench.measurement import Measurement
from envkit.bench.verdicts import Device, Verdict, key_of, throttled_by
from envkit.bench.work import least_time, tflops_of
from envkit.documents.citations import citations
from envkit.probe.cpu import Cpu
from envkit.tables.bench import Reference

SCHEMA = 1


def bench_document(verdicts: Iterable[Verdict], cpu: Cpu, notes: Iterable[str]) -> dict[str, object]:
    """Everything that was measured, with limit, verdict and published figures."""
    rows = list(verdicts)
    machine = {"cpu": {"name": cpu.name, "cores": cpu.cores, "usable": cpu.usable, "quota": cpu.quota}}
    return {
        "schema": SCHEMA,
        "machine": machine,
        "measurements": [_measurement(row) for row in rows],
        "notes": list(notes),
        "summary": {status: sum(row.status == status for row in rows) for status in ("ok", "low", "unknown")},
    }


def baseline_document(verdicts: Iterable[Verdict]) -> dict[str, object]:
    """The medians, by what a later run knows them by."""
    medians = {
        key_of(row.measurement, row.device, row.threads): row.measurement.value
        for row in verdicts
        if row.measurement.value is not None
    }
    return {"schema": SCHEMA, "baseline": medians}


def read_baseline(document: object, path: str) -> dict[str, float]:
    """The medians of a baseline. Raises SourceError for what is none."""
    found = document.get("baseline") if isinstance(document, dict) else None
    if not isinstance(found, dict) or not all(_is_median(value) for value in found.values()):
        raise SourceError(f"--baseline: {path} is not a baseline.", "Create one with --save-baseline.")
    return {str(name): float(value) for name, value in found.items()}


def _is_median(value: object) -> bool:
    return type(value) in (int, float) and 0 < value < float("inf")  # type: ignore[operator]


def _measurement(row: Verdict) -> dict[str, Any]:
    one = row.measurement
    least = least_time(one, row.device.card)
    return {
        "id": one.job.id,
        "device": (row.device.gpu.pci_address or str(row.device.gpu.index)) if row.device.gpu else "cpu",
        "device_name": row.device.name,
        "framework": one.framework,
        "version": one.version or None,
        "threads": row.threads,
        "value": one.value,
        "unit": one.unit or None,
        "samples": list(one.samples),
        "median": one.value,
        "min": min(one.samples, default=None),
        "spread": one.spread,
        "n": len(one.samples),
        "parameters": one.parameters,
        "tflops": tflops_of(one),
        "at_best": {"seconds": least.seconds, "bound": least.bound} if least else None,
        "limit": _limit(row),
        "verdict": row.status or None,
        "because_of": row.because or None,
        "baseline": row.baseline,
        "reference": [_reference(reference) for reference in row.references],
        "conditions": _conditions(row.device, one),
        "near": one.near,
        "problem": one.problem or None,
        "detail": one.detail or None,
    }


def _limit(row: Verdict) -> dict[str, object] | None:
    if row.limit is None:
        return None
    return {"value": row.limit.value, "why": row.limit.why, "source": "; ".join(citations(row.limit.sources))}


def _reference(row: Reference) -> dict[str, object]:
    return {
        "framework": row.framework,
        "version": row.framework_version or None,
        "device": row.device,
        "cuda": row.cuda or None,
        "cudnn": row.cudnn or None,
        "seconds": row.seconds,
        "published": row.published,
        "sources": citations(row.sources),
    }


def _conditions(device: Device, one: Measurement) -> dict[str, object] | None:
    """What held while it was measured; where nobody looked meanwhile, as it was before."""
    gpu = device.gpu
    if gpu is None:
        return None
    meanwhile = dict(one.conditions)
    return {
        "sm_clock": meanwhile.get("sm_clock"),
        "sm_clock_max": meanwhile.get("sm_clock_max"),
        "power": meanwhile.get("power"),
        "power_limit": gpu.power_limit_w,
        "power_limit_default": gpu.power_limit_default_w,
        "temperature": meanwhile.get("temperature", gpu.temperature_c),
        "throttle": throttled_by(one, gpu),
        "other_processes": None if gpu.processes is None else len(gpu.processes),
        "link": dict(one.link) or None,
    }
