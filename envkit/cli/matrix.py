"""`envkit matrix [TABLE]`: browse the compatibility data, each row with its source."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from envkit.base.errors import RequestError
from envkit.cli.output import one_format, output_option, say, write_output
from envkit.cli.terminal import table_width

if TYPE_CHECKING:
    from envkit.tables import Matrix
    from envkit.tables.browse import Listing

_FORMATS = ["table", "csv", "json", "markdown"]
_COMPARED = (
    "title",
    "last_release",
    "released",
    "archived_since",
    "newest_cuda",
    "oldest_gpu",
    "pythons",
    "systems",
    "language",
    "graph",
    "multi_gpu",
    "deployment",
)
_GUIDE_COLUMNS = ("last_cuda", "newest_pytorch", "newest_tensorflow")


def _complete_table(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    from envkit.tables import Matrix
    from envkit.tables.browse import table_names

    return [name for name in table_names(Matrix.load()) if name.startswith(incomplete.lower())]


@click.command(
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    epilog="""\b
Examples:
  envkit matrix
  envkit matrix pytorch --cuda 11.8 --python 3.10
  envkit matrix gpus 4090
  envkit matrix gpus --memory '>=24' --sort -memory-bandwidth-gbs
  envkit matrix gpus --tensorflow none
  envkit matrix cuda --format csv
  envkit matrix frameworks --compare --archived n
  envkit matrix --status""",
)
@click.argument("table", required=False, shell_complete=_complete_table)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[WORD]... [--COLUMN VALUE]...")
@click.option("--sort", metavar="COLUMN", help="Sort by COLUMN; prefix it with - for descending order.")
@click.option("--columns", metavar="A,B", help="Show only these columns; 'all' shows every column.")
@click.option(
    "--format",
    "form",
    type=click.Choice(_FORMATS),
    help="Output format. [default: from the --output file extension, else table]",
)
@click.option("--json", "as_json", is_flag=True, help="Same as --format json.")
@click.option("--compare", is_flag=True, help="With frameworks: what each one is, and what its newest release runs on.")
@click.option("--status", is_flag=True, help="Show the age of each table and warn about stale ones.")
@click.option("--max-age", type=click.IntRange(min=0), metavar="DAYS", help="Staleness limit for --status.")
@output_option
def matrix(
    table: str | None,
    words: tuple[str, ...],
    sort: str | None,
    columns: str | None,
    form: str | None,
    as_json: bool,
    compare: bool,
    status: bool,
    max_age: int | None,
    output: str | None,
) -> None:
    """Browse the compatibility data, each row with its source; without TABLE, list the tables.

    Filter on any column with --COLUMN VALUE (column name or header). Numbers and versions accept bounds such as
    '>=24'. In the output, ? means unknown (JSON null), and - means known not to exist
    (JSON "none").
    """
    from envkit.tables import Matrix

    data = Matrix.load()
    chosen = one_format(form, as_json, output, _FORMATS)
    for option, value in (("--sort", sort), ("--columns", columns)):
        if value == "":
            raise RequestError(f"{option}: the value must not be empty.", "Specify the name of a column.")
    if compare and (table is None or _listing(table, data).name != "frameworks"):
        raise RequestError("--compare compares the frameworks.", "Example: envkit matrix frameworks --compare")
    if status and table is not None:
        raise RequestError("--status covers all tables.", "Omit the table name.")
    if status:
        text = _status(data, chosen, max_age)
    elif table is None:
        text = _tables(data, chosen)
    else:
        listed = _compared(data) if compare else _listing(table, data)
        text = _rows(data, listed, words, sort, columns, chosen)
    write_output(text, output)


def _rows(data: Matrix, table: Listing, words: Sequence[str], sort: str | None, columns: str | None, form: str) -> str:
    from envkit.solver.gpu_name import is_named
    from envkit.tables.browse import column_of, ordered, selected

    filters, wanted = _filters(words)
    rows = selected(table, filters, wanted, *([is_named] if table.name == "gpus" else []))
    if sort:
        rows = ordered(rows, column_of(table, sort.lstrip("-")), descending=sort.startswith("-"))
    if columns == "all":
        shown: tuple[str, ...] = table.columns
    else:
        shown = tuple(column_of(table, word) for word in columns.split(",")) if columns else table.default
    return _rendered(data, table, rows, shown, form)


def _listing(name: str, data: Matrix) -> Listing:
    from envkit._startup.records import replace
    from envkit.tables.browse import listing

    table = listing(name, data)
    if table.name not in ("gpus", "toolkits", "driver_branches"):
        return table
    if table.name == "toolkits":
        from envkit.solver.release_guide import toolkit_guide

        return replace(
            table, rows=toolkit_guide(data), default=(*table.default[:4], "visual_studio", *table.default[4:])
        )
    if table.name == "driver_branches":
        from envkit.solver.release_guide import driver_guide

        return replace(table, rows=driver_guide(data), default=(*table.default[:4], "open_modules", *table.default[4:]))
    from envkit.solver.guide import gpu_guide

    default = (*table.default[:6], *_GUIDE_COLUMNS, *table.default[6:])
    return replace(table, rows=gpu_guide(data), default=default)


def _compared(data: Matrix) -> Listing:
    from envkit.solver.compared import comparison
    from envkit.tables.browse import Listing

    return Listing("frameworks", "Frameworks", _COMPARED, comparison(data))


def _filters(words: Sequence[str]) -> tuple[list[tuple[str, str]], list[str]]:
    """The `--column value` pairs among the words that click did not know, and the plain words."""
    filters: list[tuple[str, str]] = []
    plain: list[str] = []
    waiting = iter(words)
    for word in waiting:
        if not word.startswith("--"):
            plain.append(word)
            continue
        column, given, value = word[2:].partition("=")
        if not given:
            value = next(waiting, "")
            if not value:
                raise click.UsageError(f"--{column} needs a value.")
        filters.append((column, value))
    return filters, plain


def _rendered(data: Matrix, table: Listing, rows: tuple[Any, ...], shown: tuple[str, ...], form: str) -> str:
    from envkit.render.rows import csv_table, json_table
    from envkit.tables.browse import cells, texts

    names = tuple(dict.fromkeys((*shown, "sources"))) if "sources" in table.columns else shown
    if form == "json":
        keys = dict.fromkeys(key for row in rows for key in getattr(row, "sources", ()))
        cited = {key: {"title": data.source(key).title, "url": data.source(key).url} for key in keys}
        return json_table(table.name, (dict(zip(names, cells(row, names), strict=True)) for row in rows), cited)
    if form == "csv":
        return csv_table(names, (texts(row, names) for row in rows))
    return _for_people(data, table, rows, shown, markdown=form == "markdown")


_ABBREVIATED = {  # headers that say too little
    "CC": "compute capability",
    "lowest CC": "lowest supported compute capability",
    "ended": "when active development ended",
    "GB": "memory",
    "GB/s": "memory bandwidth",
    "TFLOPS": "peak FP32 throughput",
    "W": "board power",
    "VS": "Visual Studio that nvcc takes, up to the last update named",
}


_NEWEST_FOR_GPU = ("last_cuda", "newest_pytorch", "newest_tensorflow")
_ENDED = "archived_since"


def _legend(names: Sequence[str], lines: Iterable[Sequence[str]], headers: Sequence[str], hidden: Sequence[str]) -> str:
    """What the headers and the marks in the cells mean, of those that are printed."""
    cells = [
        (cell, header) for line in lines for cell, header in zip(line, headers, strict=True) if header not in hidden
    ]
    from envkit.tables.browse import header_of

    marks = {cell for cell, _ in cells}
    shown = [name for name in names if header_of(name) not in hidden]
    newest = [header_of(name) for name in shown if name in _NEWEST_FOR_GPU]
    developed = {header for cell, header in cells if cell in ("", "-")} == {header_of(_ENDED)}
    none = [word for mark, word in (("", "blank"), ("-", "-")) if mark in marks]
    meanings = [
        *(
            f"{header} = {_ABBREVIATED[header]}"
            for header in headers
            if header in _ABBREVIATED and header not in hidden
        ),
        *([f"{', '.join(newest)} = newest version that supports the GPU"] if newest else []),
        *(["? = unknown"] if "?" in marks else []),
        *([f"{' or '.join(none)} = {'still actively developed' if developed else 'none'}"] if none else []),
    ]
    return f" ({'; '.join(meanings)})" if meanings else ""


def _for_people(data: Matrix, table: Listing, rows: tuple[Any, ...], shown: tuple[str, ...], *, markdown: bool) -> str:
    """The rows, the number of each row's sources in its last column, and below what the numbers stand for."""
    from envkit.base.wrap import WIDTH, hang
    from envkit.render.rows import cell_for_people, left_out, markdown_table, text_table
    from envkit.tables.browse import NONE, cells, header_of, texts

    numbers: dict[str, int] = {}
    names = [name for name in shown if name != "sources"]
    lines = []
    for row in rows:
        cited = [numbers.setdefault(key, len(numbers) + 1) for key in getattr(row, "sources", ())]
        marks = ",".join(map(str, sorted(cited)))
        facts = zip(cells(row, names), texts(row, names), strict=True)
        given = ("?" if value is None else cell_for_people(value, text) for value, text in facts)
        lines.append([*("-" if text == NONE else text for text in given), marks])
    headers = [*(header_of(name, table.name) for name in names), "sources"]
    if table.name == "sources":
        headers, lines = headers[:-1], [line[:-1] for line in lines]
    width = table_width()
    body = markdown_table(headers, lines) if markdown else text_table(headers, lines, width)
    hidden = [] if markdown else left_out(headers, lines, width)
    count = f"{table.title}: {len(rows)} of {len(table.rows)} rows{_legend(names, lines, headers, hidden)}"
    parts = [body, count if markdown else "\n".join(hang("", count, width or WIDTH))]
    if hidden:
        chosen = "'A,B'" if any(" " in header for header in hidden) else "A,B"
        told = (
            f"{len(hidden)} columns do not fit: {', '.join(hidden)}. Choose columns with `--columns {chosen}`, or show "
            "all of them with `--format csv`."
        )
        parts.insert(1, "\n".join(hang("", told, width or WIDTH)))
    if numbers:
        parts.append("\n".join(f"[{number}] {data.source(key).citation}" for key, number in numbers.items()))
    return "\n\n".join(parts)


def _tables(data: Matrix, form: str) -> str:
    from envkit.tables.browse import listing, table_names

    found = [listing(name, data) for name in table_names(data)]
    return _plain_table(
        "tables", ("table", "rows", "contents"), ([table.name, len(table.rows), table.title] for table in found), form
    )


def _status(data: Matrix, form: str, max_age: int | None) -> str:
    from datetime import date

    from envkit.tables.age import ages

    found = ages(data, date.today(), max_age)
    stale = [age.table for age in found if age.stale]
    if stale:
        say(
            f"Warning: these tables are older than their limit: {', '.join(stale)}. A newer envkit may know more: pip "
            "install -U envkit"
        )
    lines = ([age.table, str(age.checked), age.days, age.limit_days, "old" if age.stale else "fresh"] for age in found)
    return _plain_table("status", ("table", "checked", "age_days", "limit_days", "state"), lines, form)


def _plain_table(name: str, headers: tuple[str, ...], lines: Iterable[list[Any]], form: str) -> str:
    from envkit.render.rows import csv_table, json_table, markdown_table, text_table

    if form == "json":
        return json_table(name, (dict(zip(headers, line, strict=True)) for line in lines), {})
    texts = [["" if cell is None else str(cell) for cell in line] for line in lines]
    if form == "csv":
        return csv_table(headers, texts)
    plain = [header.replace("_", " ") for header in headers]
    return markdown_table(plain, texts) if form == "markdown" else text_table(plain, texts, table_width())
