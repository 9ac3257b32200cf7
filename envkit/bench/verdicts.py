"""What a measurement says: its limit, whether it is low, the likely reason, and what was published."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from envkit._startup.records import record
from envkit.advice.cards import Card
from envkit.bench.jobs import Job
from envkit.bench.measurement import NO_FRAMEWORK, Measurement
from envkit.model import Gpu
from envkit.probe.pci import link_rate, link_width
from envkit.tables.bench import Reference, shares
from envkit.tables.codes import generation_of, gigabytes_per_second
from envkit.tables.loader import read

_NEARER = 1.15  # so many times as fast from the processors next to the GPU: it matters where the program runs
_SLOW_CLOCK = 0.8  # a clock below this share of the highest one explains a low rate
_STEADY = 0.10  # more spread than this share of the median allows no verdict
# bits of NVML's reasons for a clock that is not the highest
_SLOWED = {0x4: "the power cap", 0x8: "a hardware slowdown", 0x20: "heat", 0x40: "heat", 0x80: "the power brake"}


@record
class Device:
    """What was measured on: the processor, or a GPU with what is known of its card."""

    name: str
    gpu: Gpu | None = None
    card: Card | None = None
    excuse: str = ""  # why no limit of a data sheet counts here: WSL, a slice, a laptop
    driver: str = ""  # its version


@record
class Limit:
    """What is possible at most, and where that is written."""

    value: float
    why: str
    sources: tuple[str, ...]


@record
class Verdict:
    """A measurement judged. `status`: ok, low, unknown; '' where there is nothing to judge it by."""

    measurement: Measurement
    device: Device
    threads: int | None
    limit: Limit | None
    status: str
    because: str = ""
    references: tuple[Reference, ...] = ()
    baseline: float | None = None


def judged(
    measurement: Measurement, device: Device, threads: int | None, baseline: Mapping[str, float] | None = None
) -> Verdict:
    """The verdict on one measurement. With a baseline that does not name it, it is unknown how it compares."""
    limit = _limit(measurement, device)
    before = (baseline or {}).get(key_of(measurement, device, threads))
    references = tuple(published(measurement, device))
    status, because = _status(measurement, device, limit, before)
    if baseline is not None and before is None and measurement.value is not None and status in ("", "ok"):
        status, because = "unknown", "the baseline has no entry for this measurement on this device"
    return Verdict(measurement, device, threads, limit, status, because, references, before)


def not_measured(rows: Iterable[Verdict], device: Device, jobs: Iterable[Job]) -> list[Verdict]:
    """The jobs that no row is of, as nothing that could measure them was found."""
    tried = {row.measurement.job.id for row in rows}
    left = (job for job in jobs if job.id not in tried)
    return [
        Verdict(Measurement(job, "", "", problem=NO_FRAMEWORK, detail=_needs(job, device)), device, None, None, "")
        for job in left
    ]


def _needs(job: Job, device: Device) -> str:
    if job.kind == "train":
        return "needs PyTorch, TensorFlow, or MXNet"
    return "needs PyTorch" if device.gpu else "needs PyTorch or NumPy"


def left_to_driver(rows: Iterable[Verdict], jobs: Iterable[Job]) -> tuple[Job, ...]:
    """The copies that no framework made: the driver alone can make them."""
    made = {row.measurement.job.id for row in rows if row.measurement.value is not None}
    return tuple(job for job in jobs if job.kind in ("copy", "membw") and job.id not in made)


def key_of(measurement: Measurement, device: Device, threads: int | None) -> str:
    """What a baseline knows a measurement by."""
    return "|".join((measurement.job.id, measurement.framework, device.name, str(threads or "")))


def steady(verdict: Verdict) -> bool:
    """Whether the samples lie near enough to each other for a verdict."""
    return _is_steady(verdict.measurement.spread)


def _is_steady(spread: float | None) -> bool:
    return spread is not None and spread <= _STEADY


def share_verdict(kind: str, share: float) -> str:
    """Whether a share of the limit is in order; '' for a measure without a rule."""
    rule = shares().get(kind)
    if rule is None:
        return ""
    return "ok" if share >= rule.ok else ("low" if share < rule.low else "unknown")


def _status(measurement: Measurement, device: Device, limit: Limit | None, before: float | None) -> tuple[str, str]:
    value, spread = measurement.value, measurement.spread
    if value is None or (limit is None and before is None):
        return "", ""
    is_steady = _is_steady(spread)
    if before is not None and spread is not None:
        shares_of_it = [
            _share(one, before, measurement.unit) for one in ((value,) if is_steady else measurement.samples)
        ]
        if share_verdict("baseline", max(shares_of_it)) == "low":
            told = f"{_share(value, before, measurement.unit):.2f} of the baseline"
            return "low", _reason(measurement, device) or told
    if not is_steady:
        told = "one sample" if spread is None else f"the interquartile range is {spread:.0%} of the median"
        return "unknown", f"too noisy to judge: {told}"
    if limit is None:
        return "ok", ""
    if device.excuse:
        return "unknown", device.excuse
    status = share_verdict(measurement.job.kind, value / limit.value)
    return status, _reason(measurement, device) or "no cause was found" if status == "low" else ""


def _share(value: float, before: float, unit: str) -> float:
    """How fast it is next to the baseline: seconds are better where there are fewer."""
    return before / value if unit == "s" else value / before


def _limit(measurement: Measurement, device: Device) -> Limit | None:
    """What the data sheet or the link allows; none for a network, and none for a copy of pageable memory."""
    job, card = measurement.job, device.card
    if job.kind == "copy" and job.pinned:
        return _link_limit(measurement, device.gpu)
    if card is None:
        return None
    if job.kind == "membw" and card.model.memory_bandwidth_gbs:
        return Limit(card.model.memory_bandwidth_gbs, "data sheet", card.sources)
    if job.kind == "gemm":
        rate, known = card.tflops(job.precision)
        return Limit(rate, f"data sheet, {job.precision}", card.sources) if rate and known else None
    return None


def _link_limit(measurement: Measurement, gpu: Gpu | None) -> Limit | None:
    """The link as it was while the copy ran, otherwise the most that card and slot can agree on."""
    link = dict(measurement.link)
    speed, lanes = link_rate(link.get("current_link_speed", "")), link_width(link.get("current_link_width", ""))
    row = None if speed is None else generation_of(speed)
    generation, when = row.generation if row else None, "while it ran"
    if generation is None or lanes is None:
        generation, lanes, when = (gpu.link_generation_max, gpu.link_width_max, "at most") if gpu else (None, None, "")
    rate = gigabytes_per_second(generation, lanes) if generation and lanes else None
    return Limit(rate, f"PCIe {generation} x{lanes} {when}", ("kernel-pcie",)) if rate else None


def _reason(measurement: Measurement, device: Device) -> str:
    """The first reason that the facts hold, in the order in which they explain most."""
    return next(_reasons(measurement, device), "")


def _reasons(measurement: Measurement, device: Device) -> Iterator[str]:
    gpu = device.gpu
    if gpu is None:
        return
    if gpu.processes:
        yield f"other processes use this GPU: {', '.join(map(str, gpu.processes[:5]))}"
    for what in throttled_by(measurement, gpu) or ():
        yield f"its clocks are throttled by {what}"
    if gpu.power_limit_w and gpu.power_limit_default_w and gpu.power_limit_w < gpu.power_limit_default_w:
        yield f"its power limit is {gpu.power_limit_w:.0f} W of {gpu.power_limit_default_w:.0f}"
    if measurement.job.kind == "copy" and _narrow(gpu):
        yield "the slot provides fewer lanes than the card has: see pcie-width-degraded"
    if measurement.near and measurement.value and measurement.near > measurement.value * _NEARER:
        told = f"{measurement.near:.3g} {measurement.unit} from the processors next to the GPU"
        yield f"{told}: bind the program to them (with numactl or taskset)"
    meanwhile = dict(measurement.conditions)
    clock, highest = meanwhile.get("sm_clock"), meanwhile.get("sm_clock_max")
    if measurement.job.kind == "gemm" and clock and highest and clock < highest * _SLOW_CLOCK:
        yield f"its clock was {clock:.0f} of {highest:.0f} MHz during the measurement"


def throttled_by(measurement: Measurement, gpu: Gpu) -> list[str] | None:
    """What lowered the clocks while it was measured, or, where nobody looked then, before; None for not known."""
    bits = dict(measurement.conditions).get("throttle", gpu.throttle_reasons)
    return None if bits is None else list(dict.fromkeys(what for bit, what in _SLOWED.items() if int(bits) & bit))


def _narrow(gpu: Gpu) -> bool:
    return bool(gpu.link_width_current and gpu.link_width_max and gpu.link_width_current < gpu.link_width_max)


def published(measurement: Measurement, device: Device) -> Iterable[Reference]:
    """The published times of the same network and batch: those of the same device, otherwise the fastest one."""
    job = measurement.job
    if job.kind != "train" or job.precision != "fp32":
        return ()
    rows = [row for row in read(Reference) if row.network == job.network and row.batch == job.batch and row.seconds]
    kind = "gpu" if device.gpu else "cpu"
    same = [row for row in rows if _plain(row.device) == _plain(device.name)]
    if same:
        return same
    return sorted((row for row in rows if row.device_kind == kind), key=lambda row: row.seconds or 0)[:1]


def _plain(name: str) -> str:
    return name.lower().replace("nvidia", "").strip()
