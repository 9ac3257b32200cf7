"""What was measured, what is possible and what was published, in one line each: as text, Markdown and HTML."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from envkit.base.wrap import hang
from envkit.bench.measurement import NO_FRAMEWORK
from envkit.bench.verdicts import Verdict
from envkit.bench.work import least_time, tflops_of
from envkit.checks.engine.evidence import many
from envkit.render.plots import Bar, Row, page
from envkit.render.rows import markdown_table
from envkit.tables.bench import Reference

_LEAST_TERA = 0.1  # TFLOPS; less is told in GFLOPS
_LABEL = 48  # letters of the widest label that others are aligned with
_MOST_CHANGED = 100  # times: a change beyond that is no change of the same machine
_HEADERS = ("device", "measurement", "measured", "verdict", "possible", "published")


def bench_text(verdicts: Sequence[Verdict], width: int) -> str:
    """Line by line, below the device that each is of."""
    lines: list[str] = []
    on_gpu = _fastest_on_gpus(verdicts)
    for _, group in groupby(verdicts, key=lambda row: row.device.name):
        rows = list(group)
        lines += [*([""] if lines else []), *hang("", " · ".join(_header(rows)), width)]
        left: dict[str, list[str]] = {}
        column = min(_LABEL, max(len(_label(row)) for row in rows))
        for row in rows:
            if row.measurement.problem == NO_FRAMEWORK:
                left.setdefault(row.measurement.detail, []).append(row.measurement.job.id)
            else:
                lines += _hung(
                    f"  {_label(row):<{column}}", " ".join([*filter(None, _told(row)), *_beside(row, on_gpu)]), width
                )
        for why, jobs in left.items():
            lines += hang("  not measured: ", f"{', '.join(jobs)}: {why}", width)
    return "\n".join(lines)


def _fastest_on_gpus(verdicts: Iterable[Verdict]) -> dict[str, float]:
    """The least time of each network on any GPU."""
    found: dict[str, float] = {}
    for row in verdicts:
        one = row.measurement
        if row.device.gpu and one.job.kind == "train" and one.value:
            found[one.job.id] = min(one.value, found.get(one.job.id, one.value))
    return found


def _beside(row: Verdict, on_gpu: dict[str, float]) -> Iterator[str]:
    """How many times as fast a GPU was with the same network, next to the time on the processor."""
    least = on_gpu.get(row.measurement.job.id)
    if row.device.gpu is None and row.measurement.value and least:
        yield f"  the GPU is {row.measurement.value / least:.3g} x as fast"


def _hung(label: str, told: str, width: int) -> Iterator[str]:
    """The first words next to the label; what does not fit there goes below it, and not into a narrow column."""
    first, *more = hang(f"{label}  ", told, width)
    yield first
    yield from hang("      ", " ".join(line.strip() for line in more), width) if more else ()


def _header(rows: Sequence[Verdict]) -> Iterator[str]:
    """The device, and how it was while its rows were measured: the highest clock, power and temperature."""
    device = rows[0].device
    yield device.name
    if device.gpu is None:
        return
    seen = [dict(row.measurement.conditions) for row in rows]
    most = {name: max(one[name] for one in seen if name in one) for name in {key for one in seen for key in one}}
    if device.driver:
        yield f"driver {device.driver}"
    for name, unit, limit in (
        ("sm_clock", "MHz", most.get("sm_clock_max")),
        ("power", "W", device.gpu.power_limit_w),
        ("temperature", "°C", None),
    ):
        if name in most:
            yield f"{most[name]:.0f} {unit}" + (f" of {limit:.0f}" if limit else "")
    if device.gpu.processes is not None:
        yield "already in use by other processes" if device.gpu.processes else "idle before"


def bench_markdown(verdicts: Sequence[Verdict]) -> str:
    """The same as a Markdown table."""
    return markdown_table(_HEADERS, [_row(row) for row in verdicts])


def bench_html(verdicts: Sequence[Verdict]) -> str:
    """The table and the plots on one page."""
    rows = [Row(_row(row), row.status == "low") for row in verdicts]
    return page("Measured, possible, published", "", _HEADERS, rows, plots_of(verdicts))


def _row(row: Verdict) -> tuple[str, ...]:
    verdict = f"{row.status}: {row.because}" if row.because else row.status
    possible = f"{row.limit.value:g} {row.measurement.unit} ({row.limit.why})" if row.limit else ""
    if least := least_time(row.measurement, row.device.card):
        possible = f"{least.seconds:.3g} s at best ({least.bound} bound)"
    return row.device.name, _label(row), _value(row), verdict, possible, "; ".join(map(_published, row.references[:3]))


def _told(row: Verdict) -> Iterable[str]:
    yield _value(row)
    if row.status:
        yield f"  {row.status}"
    if row.limit and row.measurement.value:
        share = row.measurement.value / row.limit.value
        yield f"  {share:.0%} of {row.limit.value:g} ({row.limit.why})"
    if row.baseline and row.measurement.value:
        change = row.measurement.value / row.baseline - 1
        told = f"{change:+.0%} from " if abs(change) < _MOST_CHANGED else ""
        yield f"  {told}the baseline's {row.baseline:.4g} {row.measurement.unit}"
    tflops, least = tflops_of(row.measurement), least_time(row.measurement, row.device.card)
    if tflops:
        yield f"  {tflops:.3g} TFLOPS" if tflops >= _LEAST_TERA else f"  {tflops * 1000:.3g} GFLOPS"
    if least:
        yield f"  at best {least.seconds:.3g} s ({least.bound} bound)"
    if row.because:
        yield f"  {row.because}"
    if row.references:
        yield f"  published: {_published(row.references[0])}"


def _label(row: Verdict) -> str:
    one = row.measurement
    threads = f", {row.threads} thread{'s' if row.threads != 1 else ''}" if row.threads else ""
    return f"{one.job.id} {one.framework} {one.version}".strip() + threads


def _value(row: Verdict) -> str:
    one = row.measurement
    if one.value is None:
        return f"{one.problem}: {one.detail}" if one.detail else one.problem
    spread = "" if one.spread is None else f" (spread {one.spread:.0%}, {many(len(one.samples), 'run')})"
    return f"{one.value:.4g} {one.unit}{spread}"


def _published(row: Reference) -> str:
    software = " ".join(filter(None, (row.framework, f"cuDNN {row.cudnn}" if row.cudnn[:1].isdigit() else "")))
    return f"{row.seconds:g} s ({row.device}, {software}, {row.published})"


def plots_of(verdicts: Sequence[Verdict]) -> Iterable[tuple[str, list[Bar]]]:
    """One plot for each network and device: by batch, by threads, with what was published; one for what has a limit."""
    groups: dict[str, list[Bar]] = {}
    for row in verdicts:
        one = row.measurement
        if one.value is None:
            continue
        if one.job.kind == "train":
            bars = groups.setdefault(f"{one.job.network} on {row.device.name}: seconds per mini-batch", [])
            bars.append(Bar(_of_bar(row), one.value, "measured"))
            bars += [Bar(_short(ref, one.job.batch), ref.seconds or 0, "published") for ref in row.references[:3]]
        elif row.limit:
            bars = groups.setdefault(f"{row.device.name}: {one.unit}", [])
            bars += [Bar(_label(row), one.value, "measured"), Bar(row.limit.why, row.limit.value, "possible")]
    return groups.items()


def _of_bar(row: Verdict) -> str:
    """What tells the bars of one network and device apart, in few letters, for a long label is cut at its end."""
    one = row.measurement
    precision = "" if one.job.precision == "fp32" else f" {one.job.precision}"
    release = one.version.partition("+")[0]
    threads = f", {row.threads} thread{'s' if row.threads != 1 else ''}" if row.threads else ""
    return f"b{one.job.batch}{precision} {one.framework} {release}".strip() + threads


def _short(row: Reference, batch: int) -> str:
    return f"b{batch} {row.framework}, {row.device} ({row.published})"
