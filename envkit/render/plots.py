"""Bars as SVG, and the page of tables and plots that bench and recommend share; a page loads nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from envkit._startup.records import record

_WIDTH, _BAR, _GAP, _LABEL = 640, 16, 6, 250  # of a plot, in pixels
_LETTERS = 36  # that have room in a label
_COLORS = {"measured": "#2a6fb0", "possible": "#b8c4d0", "published": "#c98a2b"}
_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem}"
    ".wide{overflow-x:auto}"
    "table{border-collapse:collapse}td,th{padding:.2rem .6rem;border-bottom:1px solid #ddd;text-align:left}"
    "svg{max-width:100%;height:auto}.low{color:#b00020;font-weight:bold}"
)


@record
class Bar:
    """One bar: its label, its length, and what it is: measured, possible, published."""

    label: str
    value: float
    kind: str


@record
class Row:
    """A row of a table, and whether it is marked."""

    cells: tuple[str, ...]
    marked: bool = False


def bar_plot(title: str, bars: Sequence[Bar]) -> str:
    """The bars below each other as an SVG image, which may be in a page or in a file."""
    most = max((bar.value for bar in bars), default=1.0) or 1.0
    room = _WIDTH - _LABEL - 70
    parts = []
    for place, bar in enumerate(bars):
        top = place * (_BAR + _GAP)
        wide = max(1.0, bar.value / most * room)
        parts.append(
            f'<text x="{_LABEL - 8}" y="{top + 12}" font-size="12" text-anchor="end">{escape(_short(bar.label))}</text>'
            f'<rect x="{_LABEL}" y="{top}" width="{wide:.1f}" height="{_BAR}" fill="{_COLORS[bar.kind]}">'
            f"<title>{escape(bar.kind)}</title></rect>"
            f'<text x="{_LABEL + wide + 6:.1f}" y="{top + 12}" font-size="12">{bar.value:.3g}</text>'
        )
    frame = f'viewBox="0 0 {_WIDTH} {len(bars) * (_BAR + _GAP)}" width="{_WIDTH}"'
    font = 'font-family="system-ui,sans-serif"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(title)}" {font} {frame}>'
        f"{''.join(parts)}</svg>"
    )


def page(
    title: str, intro: str, headers: Sequence[str], rows: Iterable[Row], plots: Iterable[tuple[str, Sequence[Bar]]]
) -> str:
    """One HTML page: what it is about, a table, and the plots below their titles."""
    head = "".join(f"<th>{escape(name)}</th>" for name in headers)
    body = "".join(_row(row) for row in rows)
    told = f"<p>{escape(intro)}</p>" if intro else ""
    drawn = "".join(f"<h2>{escape(name)}</h2>{bar_plot(name, bars)}" for name, bars in plots)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>envkit: {escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<style>{_STYLE}</style></head><body><main><h1>{escape(title)}</h1>{told}"
        '<div class="wide" tabindex="0" role="region" aria-label="table">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{drawn}</main></body></html>\n"
    )


def _short(label: str) -> str:
    return label if len(label) <= _LETTERS else f"{label[: _LETTERS - 1]}…"


def _row(row: Row) -> str:
    marked = ' class="low"' if row.marked else ""
    return f"<tr{marked}>{''.join(f'<td>{escape(cell)}</td>' for cell in row.cells)}</tr>"
