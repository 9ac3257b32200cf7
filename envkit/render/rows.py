"""Rows of a table as text for people, or as CSV, JSON and Markdown for other programs."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import Any

from envkit.base.versions import ComputeCapability, Version

_GAP = "  "
_READABLE = 10  # a column is cut to this width before another one is left out
_READABLE_FIRST = 26  # the first one says what the row is
_LINE = 2  # the parts of a release line, such as 3.10


def text_table(headers: Sequence[str], lines: Sequence[Sequence[str]], width: int | None = None) -> str:
    """An aligned table; with a `width` the widest columns are cut, and the last ones left out, until it fits."""
    kept, widths = _fitted(headers, lines, width)
    shown = [_line(headers, kept, widths), _line(["-" * cell for cell in widths], range(len(widths)), widths)]
    shown += [_line(line, kept, widths) for line in lines]
    return "\n".join(shown)


def left_out(headers: Sequence[str], lines: Sequence[Sequence[str]], width: int | None = None) -> list[str]:
    """The headers of the columns that `text_table` leaves out to fit the width."""
    kept, _ = _fitted(headers, lines, width)
    return [header for column, header in enumerate(headers) if column not in kept]


def _fitted(
    headers: Sequence[str], lines: Sequence[Sequence[str]], width: int | None
) -> tuple[Sequence[int], list[int]]:
    kept = list(range(len(headers)))
    widths = [max([len(headers[column])] + [len(line[column]) for line in lines]) for column in kept]
    if width is None:
        return kept, widths
    least = [min(size, _READABLE if column else _READABLE_FIRST) for column, size in enumerate(widths)]
    while len(kept) > 2 and _total(least) > width:
        for sizes in (kept, widths, least):
            sizes.pop(-2)  # the last column names the sources and stays
    while _total(widths) > width and widths != least:
        widest = max(range(len(widths)), key=lambda column: widths[column] - least[column])
        widths[widest] -= 1
    return kept, widths


def _total(widths: Iterable[int]) -> int:
    sizes = list(widths)
    return sum(sizes) + len(_GAP) * (len(sizes) - 1)


def _line(cells: Sequence[str], kept: Iterable[int], widths: Sequence[int]) -> str:
    parts = (_cut(cells[column], size).ljust(size) for column, size in zip(kept, widths, strict=True))
    return _GAP.join(parts).rstrip()


def _cut(text: str, size: int) -> str:
    return text if len(text) <= size else text[: size - 1] + "…"


def cell_for_people(value: object, text: str) -> str:
    """The text of a cell; a list with commas, and releases that follow each other as 3.10-3.13."""
    if not isinstance(value, tuple) or not value:
        return text
    if not all(isinstance(one, Version) and len(one.parts) == _LINE for one in value):
        return ", ".join(map(str, value))
    runs: list[list[Version]] = []
    for one in value:
        if runs and (one.major, one.minor) == (runs[-1][-1].major, runs[-1][-1].minor + 1):
            runs[-1].append(one)
        else:
            runs.append([one])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def markdown_table(headers: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """The rows as a Markdown table."""
    escaped = ([cell.replace("|", r"\|") for cell in line] for line in (headers, *lines))
    written = [f"| {' | '.join(line)} |" for line in escaped]
    return "\n".join([written[0], "|" + "---|" * len(headers), *written[1:]])


def csv_table(headers: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """The rows as CSV with a header."""
    import csv

    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows((headers, *lines))
    return stream.getvalue()


def json_table(name: str, rows: Iterable[dict[str, Any]], sources: dict[str, dict[str, str]]) -> str:
    """The rows as one JSON object; unknown is null, `sources` explains the keys that the rows name."""
    from envkit.base.json_text import dumps

    document = {"schema": 1, "table": name, "rows": [_plain(row) for row in rows], "sources": sources}
    return dumps(document)


def _plain(value: Any) -> Any:  # noqa: ANN401 - whatever a cell holds
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, (Version, ComputeCapability)) else value
