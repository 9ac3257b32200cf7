"""The one way to read a table of `envkit/data`: `read(RowType)`. A table that cannot be trusted is refused.

A table is a CSV file and the record that `@table` declares its rows with. The header is the fields of the record in
their order, so the record is the only schema; the type of a field says what its cells may hold (`cells.py`). A column
`sources` holds keys of `sources.csv`, the one table of sources.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, TypeVar

from envkit._startup.records import record, types_of
from envkit.base.errors import DataError
from envkit.tables.cells import PARSERS, text

Row = TypeVar("Row")
_FIRST_ROW = 2  # line 1 is the header
_PYPI = "pkg:pypi/"
DATA = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data")


@record
class Table:
    """How rows are in their file: the columns that identify one, and the words that a column may hold.

    A file name with `{}` stands for several files of one form; who reads one says which.
    """

    file: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    words: dict[str, tuple[str, ...]]


TABLES: dict[type, Table] = {}


def table(file: str, *key: str, **words: tuple[str, ...]) -> Callable[[type[Row]], type[Row]]:
    """Declare that the records of a class are the rows of `file`."""

    def declared(row: type[Row]) -> type[Row]:
        TABLES[row] = Table(file, tuple(types_of(row)), key, words)
        return row

    return declared


@table("sources.csv", "key")
@record
class Source:
    """Where a figure comes from."""

    key: str
    title: str
    url: str = ""

    @property
    def citation(self) -> str:
        """Title and address."""
        return f"{self.title} <{self.page}>" if self.url else self.title

    @property
    def page(self) -> str:
        """The address that a browser opens: of a package of the index, which is named by its kind, its page there."""
        if not self.url.startswith(_PYPI):
            return self.url
        return f"https://pypi.org/project/{self.url.removeprefix(_PYPI).replace('@', '/')}/"


def read(
    kind: type[Row], name: str = "", *, holding: str = "", folder: str | os.PathLike[str] = DATA
) -> tuple[Row, ...]:
    """Every row of the table of this class, in the order of the file, which is read but once.

    `name` says which file, for a class whose rows are in several. With `holding`, the rows whose line holds that text
    (the lines that an error names are then counted among those).

    Raises DataError, naming file and line, for a file that is missing, an unknown or missing column, a cell of the
    wrong type, a repeated key, and a source that is not in `sources.csv`.
    """
    row_type: Any = kind
    found: tuple[Row, ...] = _read(row_type, name, holding, os.fspath(folder))
    return found


def source(key: str, folder: str | os.PathLike[str] = DATA) -> Source:
    """The source of this key. Raises DataError when there is none."""
    return _source(key, os.fspath(folder))


@cache
def _source(key: str, folder: str) -> Source:
    line = _source_lines(folder).get(key)
    if line is None:
        raise DataError(f"{TABLES[Source].file}: no source {key!r}.")
    (found,) = _sources_file(folder).parsed([*csv.reader([line])])
    return found  # type: ignore[no-any-return]


@cache
def _source_lines(folder: str) -> dict[str, str]:
    """The line of each source by its key: every table is held against the keys, and few sources are printed."""
    return {line.partition(",")[0]: line for line in _sources_file(folder).lines()}


def _sources_file(folder: str) -> _File:
    return _File(TABLES[Source], Source, "", folder)


@cache
def _read(kind: type[Any], name: str, holding: str, folder: str) -> tuple[Any, ...]:
    return tuple(_File(TABLES[kind], kind, name, folder).rows(holding))


class _File:
    """One file that is being read."""

    def __init__(self, form: Table, kind: type[Any], name: str, folder: str) -> None:
        self._form = form
        self._kind = kind
        self._folder = folder
        self._name = form.file.format(name)

    def rows(self, holding: str) -> Iterator[Any]:
        """The rows, checked; with `holding`, those whose line holds that text."""
        return self.parsed([*csv.reader(self.lines(holding, keepends=True))])  # a quoted cell may hold a line's end

    def parsed(self, lines: list[list[str]]) -> Iterator[Any]:
        """The rows of these lines, checked."""
        self._require_whole_lines(lines)
        # column by column: each distinct cell is parsed and checked once, however many rows hold it
        header = self._form.columns
        columns = list(zip(*lines, strict=True)) or [()] * len(header)
        self._require_unique_keys(columns)
        types = types_of(self._kind)
        values = [self._values(column, types[column], cells) for column, cells in zip(header, columns, strict=True)]
        return self._made(zip(*values, strict=True))

    def lines(self, holding: str = "", *, keepends: bool = False) -> list[str]:
        """The lines below the header as they are written; with `holding`, those that hold that text."""
        try:
            content = file_bytes(os.path.join(self._folder, self._name)).decode("utf-8")
        except (OSError, ValueError) as error:
            raise DataError(f"{self._name}: cannot be read ({error}).", "Reinstall envkit.") from error
        header, *lines = content.splitlines(keepends=keepends) or [""]
        self._require_header(next(csv.reader([header]), []))
        return [line for line in lines if holding in line] if holding else lines

    def _made(self, filled: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """The rows, made without the checks of a call: the header has shown that each field has its value.

        A call of the record takes four times as long, which 2300 image tags feel.
        """
        names, kind, make = self._form.columns, self._kind, object.__new__
        for values in filled:
            row = make(kind)
            row.__dict__.update(zip(names, values, strict=True))
            yield row

    def _require_header(self, header: list[str]) -> None:
        expected = self._form.columns
        if tuple(header) != expected:
            unknown = [name for name in header if name not in expected]
            missing = [name for name in expected if name not in header]
            told = f"unknown {unknown}, missing {missing}" if unknown or missing else "columns are out of order"
            raise DataError(f"{self._name} line 1: wrong columns: {told}.")

    def _require_whole_lines(self, lines: list[list[str]]) -> None:
        width = len(self._form.columns)
        for number, line in enumerate(lines, start=_FIRST_ROW):
            if len(line) != width:
                raise self._error(number, f"{len(line)} cells, not {width}")

    def _require_unique_keys(self, columns: list[tuple[str, ...]]) -> None:
        form = self._form
        keys = list(zip(*(columns[form.columns.index(name)] for name in form.key), strict=True))
        if len(set(keys)) == len(keys):
            return
        first: dict[tuple[str, ...], int] = {}
        for number, key in enumerate(keys, start=_FIRST_ROW):
            if first.setdefault(key, number) != number:
                told = f"same {', '.join(form.key)} as line {first[key]}: {', '.join(key)}"
                raise self._error(number, told)

    def _values(self, column: str, kind: str, cells: tuple[str, ...]) -> list[Any]:
        parse, allowed = PARSERS[kind], self._form.words.get(column)
        if parse is text and allowed is None:
            return list(cells)
        parsed: dict[str, Any] = {}
        for cell in dict.fromkeys(cells):
            try:
                parsed[cell] = parse(cell)
                if allowed is not None and cell not in allowed:
                    raise ValueError(f"{cell!r} is not one of {', '.join(sorted(allowed))}")
                if column == "sources":
                    self._require_sources(parsed[cell])
            except ValueError as error:
                raise self._error(cells.index(cell) + _FIRST_ROW, f"{column}: {error}") from error
        return [parsed[cell] for cell in cells]

    def _require_sources(self, keys: tuple[str, ...]) -> None:
        if not keys:
            raise ValueError("no source")
        known = _source_lines(self._folder)
        for key in keys:
            if key not in known:
                raise ValueError(f"{key!r} is not in {TABLES[Source].file}")

    def _error(self, number: int, what: str) -> DataError:
        return DataError(f"{self._name} line {number}: {what}.")


def file_bytes(path: str) -> bytes:
    """The content of a data file, also of one inside a zipped application. Raises OSError."""
    loader = __spec__.loader if __spec__ else None
    archive = getattr(loader, "archive", None)
    if archive and path.startswith(archive + os.sep):
        content: bytes = loader.get_data(path)  # type: ignore[union-attr]  # importlib.resources would take 30 ms
        return content
    with open(path, "rb") as stream:
        return stream.read()
