"""What was measured, what is possible and what was published, in one line each: as text, Markdown and HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import groupby

from envkit.base.wrap import hang
from envkit.bench.measurement import NO_FRAMEWORK
from envkit.bench.verdicts import Verdict
from envkit.render.rows import markdown_table
from envkit.tables.bench import Reference

_WIDTH, _BAR, _GAP, _LABEL = 640, 16, 6, 250  # of a plot, in pixels
_COLORS = {"measured": "#2a6fb0", "possible": "#b8c4d0", "published": "#c98a2b"}
_HEADERS = ("device", "measurement", "measured", "verdict", "possible", "published")
_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem}"
    ".wide{overflow-x:auto}"
    "table{border-collapse:collapse}td,th{padding:.2rem .6rem;border-bottom:1px solid #ddd;text-align:left}"
    "svg{max-width:100%;height:auto}.low{color:#b00020;font-weight:bold}"
)


def bench_text(verdicts: Sequence[Verdict], width: int) -> str:
    """Line by line, below the device that each is of."""
    lines: list[str] = []
    for device, rows in groupby(verdicts, key=lambda row: row.device.name):
        lines += [*([""] if lines else []), *hang("", device, width)]
        left: dict[str, list[str]] = {}
        for row in rows:
            if row.measurement.problem == NO_FRAMEWORK:
                left.setdefault(row.measurement.detail, []).append(row.measurement.job.id)
            else:
                lines += hang(f"  {_label(row):<34} ", " ".join(filter(None, _told(row))), width)
        for why, jobs in left.items():
            lines += hang("  not measured: ", f"{', '.join(jobs)}: {why}", width)
    return "\n".join(lines)


def bench_markdown(verdicts: Sequence[Verdict]) -> str:
    """The same as a Markdown table."""
    return markdown_table(_HEADERS, [_row(row) for row in verdicts])


def bench_html(verdicts: Sequence[Verdict]) -> str:
    """The table and the plots on one page, which loads nothing."""
    head = "".join(f"<th>{name}</th>" for name in _HEADERS)
    body = "".join(_html_row(row) for row in verdicts)
    plots = "".join(_plot(title, bars) for title, bars in _plots(verdicts))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>envkit bench</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<style>{_STYLE}</style></head><body><main><h1>Measured, possible, published</h1>"
        '<div class="wide" tabindex="0" role="region" aria-label="measurements">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{plots}</main></body></html>\n"
    )


def _html_row(row: Verdict) -> str:
    low = ' class="low"' if row.status == "low" else ""
    return f"<tr{low}>{''.join(f'<td>{escape(cell)}</td>' for cell in _row(row))}</tr>"


def _row(row: Verdict) -> tuple[str, ...]:
    verdict = f"{row.status}: {row.because}" if row.because else row.status
    possible = f"{row.limit.value:g} {row.measurement.unit} ({row.limit.why})" if row.limit else ""
    return row.device.name, _label(row), _value(row), verdict, possible, "; ".join(map(_published, row.references[:3]))


def _told(row: Verdict) -> Iterable[str]:
    yield _value(row)
    if row.status:
        yield f"  {row.status}"
    if row.limit and row.measurement.value:
        share = row.measurement.value / row.limit.value
        yield f"  {share:.0%} of {row.limit.value:g} ({row.limit.why})"
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
    spread = "" if one.spread is None else f" (spread {one.spread:.0%}, n {len(one.samples)})"
    return f"{one.value:.4g} {one.unit}{spread}"


def _published(row: Reference) -> str:
    software = " ".join(filter(None, (row.framework, f"cuDNN {row.cudnn}" if row.cudnn[:1].isdigit() else "")))
    return f"{row.seconds:g} s ({row.device}, {software}, {row.published})"


def _plots(verdicts: Sequence[Verdict]) -> Iterable[tuple[str, list[tuple[str, float, str]]]]:
    """One plot for each network and device: by batch, by threads, with what was published; one for what has a limit."""
    groups: dict[str, list[tuple[str, float, str]]] = {}
    for row in verdicts:
        one = row.measurement
        if one.value is None:
            continue
        if one.job.kind == "train":
            bars = groups.setdefault(f"{one.job.network} on {row.device.name}: seconds per mini-batch", [])
            bars.append((_label(row), one.value, "measured"))
            bars += [(_short(ref, one.job.batch), ref.seconds or 0, "published") for ref in row.references[:3]]
        elif row.limit:
            bars = groups.setdefault(f"{row.device.name}: {one.unit}", [])
            bars += [(_label(row), one.value, "measured"), (row.limit.why, row.limit.value, "possible")]
    return groups.items()


def _short(row: Reference, batch: int) -> str:
    return f"b{batch} {row.framework}, {row.device} ({row.published})"


def _plot(title: str, bars: Sequence[tuple[str, float, str]]) -> str:
    most = max((value for _, value, _ in bars), default=1.0) or 1.0
    room = _WIDTH - _LABEL - 70
    parts = []
    for place, (label, value, kind) in enumerate(bars):
        top = place * (_BAR + _GAP)
        wide = max(1.0, value / most * room)
        parts.append(
            f'<text x="{_LABEL - 8}" y="{top + 12}" font-size="12" text-anchor="end">{escape(label[:42])}</text>'
            f'<rect x="{_LABEL}" y="{top}" width="{wide:.1f}" height="{_BAR}" fill="{_COLORS[kind]}">'
            f"<title>{escape(kind)}</title></rect>"
            f'<text x="{_LABEL + wide + 6:.1f}" y="{top + 12}" font-size="12">{value:.3g}</text>'
        )
    frame = f'viewBox="0 0 {_WIDTH} {len(bars) * (_BAR + _GAP)}" width="{_WIDTH}"'
    name = escape(title)
    return f'<h2>{name}</h2><svg role="img" aria-label="{name}" {frame}>{"".join(parts)}</svg>'
