"""Reads the compatibility tables of `envkit/data` into typed rows, and refuses a table that cannot be trusted.

The header of a CSV is the field names of its row type in their order, so the row type is the only schema. A cell holds
one value or several joined by `;`; blank is unknown, and `-` is certainly none where a list may also be unknown.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, Generic, TypeVar

from envkit._startup.records import record, types_of
from envkit.base.errors import DataError
from envkit.base.versions import ComputeCapability, Version
from envkit.tables import rows

Row = TypeVar("Row")
Cell = TypeVar("Cell")
SEPARATOR = ";"
CERTAINLY_NONE = "-"
_FIRST_ROW = 2  # line 1 is the header
DATA = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data")


@record
class Table(Generic[Row]):
    """One CSV file: its row type, the columns that identify a row, and the words that a column may hold."""

    file: str
    row: type[Row]
    key: tuple[str, ...]
    words: tuple[tuple[str, frozenset[str]], ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The header that the file must have."""
        return tuple(types_of(self.row))


def _words(column: str, *allowed: str) -> tuple[str, frozenset[str]]:
    return column, frozenset(allowed)


SOURCES = Table("sources.csv", rows.Source, ("key",))
TOOLKITS = Table("toolkits.csv", rows.Toolkit, ("version",), (_words("installer_style", "legacy", "new"),))
RUNFILES = Table(
    "runfiles.csv",
    rows.Runfile,
    ("cuda", "architecture", "order"),
    (_words("kind", "toolkit", "patch"), _words("architecture", "x86_64", "aarch64")),
)
DRIVER_BRANCHES = Table(
    "driver_branches.csv",
    rows.DriverBranch,
    ("branch",),
    (_words("open_kernel_module", "none", "available", "default", "only"),),
)
GPUS = Table("gpus.csv", rows.GpuModel, ("name", "variant"))
CUDNNS = Table("cudnn.csv", rows.CudnnRelease, ("version", "cuda", "architecture"))
IMAGE_TAGS = Table(
    "image_tags.csv",
    rows.ImageTag,
    ("repository", "tag"),
    (_words("state", "supported", "unsupported", "deleted", "seen", "never"),),
)
FRAMEWORK_IMAGES = Table(
    "framework_images.csv",
    rows.FrameworkImage,
    ("repository", "tag"),
    (_words("state", "supported", "unsupported", "deleted", "seen", "never", "derived"),),
)
FRAMEWORKS = Table("frameworks.csv", rows.Framework, ("name",))
PACKAGE_REQUIREMENTS = Table(
    "package_requirements.csv", rows.PackageRequirements, ("package", "place", "architectures")
)
PACKAGE_FILES = Table("package_files.csv", rows.PackageFile, ("file", "package"))
OPERATING_SYSTEMS = Table(
    "operating_systems.csv",
    rows.OperatingSystem,
    ("os_id",),
    (_words("package_manager", "apt", "dnf", "yum", "zypper", ""),),
)
PYTHON_SOURCES = Table(
    "python_sources.csv",
    rows.PythonSource,
    ("way", "python", "os_ids"),
    (_words("way", "system", "deadsnakes", "standalone", "conda"),),
)

TABLE_STATUS = Table("tables.csv", rows.TableStatus, ("table",))


def builds_table(framework: str) -> Table[rows.FrameworkBuild]:
    """The table of one framework's builds, each identified by its version, CUDA variant, place and platform."""
    return Table(
        f"frameworks/{framework}.csv",
        rows.FrameworkBuild,
        ("version", "cuda", "cudnn", "package", "index_url", "find_links", "architectures", "platforms", "note"),
    )


def read(
    table: Table[Row],
    folder: str | os.PathLike[str] = DATA,
    known_sources: frozenset[str] | None = None,
    holding: str = "",
) -> tuple[Row, ...]:
    """Every row of `table`, in the order of the file; with `holding`, those whose line holds that
    text (the lines that an error names are then counted among those).

    Raises DataError, naming file and line, for a file that is missing, an unknown or missing column, a cell of the
    wrong type, a repeated key, and a source that is not one of `known_sources` (not checked when None).
    """
    header, *lines = _lines(table, folder, holding)
    _require_header(table, header)
    _require_whole_lines(table, lines)
    # column by column: each distinct cell is parsed and checked once, however many rows hold it
    columns = list(zip(*lines, strict=True)) or [()] * len(header)
    _require_unique_keys(table, columns)
    values = [_values(table, position, cells, known_sources) for position, cells in enumerate(columns)]
    return tuple(_rows(table, zip(*values, strict=True)))


def _rows(table: Table[Row], filled: Iterable[tuple[Any, ...]]) -> Iterator[Row]:
    """The rows, made without the checks of a call: the header has shown that each field has its value.

    A call of the record takes four times as long, which 2300 image tags feel.
    """
    names, make = table.columns, object.__new__
    for values in filled:
        row = make(table.row)
        row.__dict__.update(zip(names, values, strict=True))
        yield row


def _lines(table: Table[Any], folder: str | os.PathLike[str], holding: str) -> list[list[str]]:
    try:
        text = file_bytes(os.path.join(folder, table.file)).decode("utf-8")
    except (OSError, ValueError) as error:
        raise DataError(f"{table.file}: cannot be read ({error}).", "Reinstall envkit.") from error
    lines = text.splitlines()
    if holding:
        lines = [*lines[:1], *(line for line in lines[1:] if holding in line)]
    return list(csv.reader(lines)) or [[]]


def file_bytes(path: str) -> bytes:
    """The content of a data file, also of one inside a zipped application. Raises OSError."""
    loader = __spec__.loader if __spec__ else None
    archive = getattr(loader, "archive", None)
    if archive and path.startswith(archive + os.sep):
        content: bytes = loader.get_data(path)  # type: ignore[union-attr]  # importlib.resources would take 30 ms
        return content
    with open(path, "rb") as stream:
        return stream.read()


def _require_header(table: Table[Any], header: list[str]) -> None:
    expected = table.columns
    if tuple(header) != expected:
        unknown = [name for name in header if name not in expected]
        missing = [name for name in expected if name not in header]
        told = f"unknown {unknown}, missing {missing}" if unknown or missing else "columns are out of order"
        raise DataError(f"{table.file} line 1: wrong columns: {told}.")


def _require_whole_lines(table: Table[Any], lines: list[list[str]]) -> None:
    width = len(table.columns)
    for number, line in enumerate(lines, start=_FIRST_ROW):
        if len(line) != width:
            raise _error(table, number, f"{len(line)} cells, not {width}")


def _require_unique_keys(table: Table[Any], columns: list[tuple[str, ...]]) -> None:
    keys = list(zip(*(columns[table.columns.index(name)] for name in table.key), strict=True))
    if len(set(keys)) == len(keys):
        return
    first: dict[tuple[str, ...], int] = {}
    for number, key in enumerate(keys, start=_FIRST_ROW):
        if first.setdefault(key, number) != number:
            told = f"same {', '.join(table.key)} as line {first[key]}: {', '.join(key)}"
            raise _error(table, number, told)


def _values(
    table: Table[Any], position: int, cells: tuple[str, ...], known_sources: frozenset[str] | None
) -> list[Any]:
    name = table.columns[position]
    # annotations are text in `rows` (postponed), so they name a parser without being evaluated
    parse = PARSERS[types_of(table.row)[name]]
    allowed = dict(table.words).get(name)
    if parse is _text and allowed is None:
        return list(cells)
    parsed: dict[str, Any] = {}
    for cell in dict.fromkeys(cells):
        try:
            parsed[cell] = parse(cell)
            if allowed is not None and cell not in allowed:
                raise ValueError(f"{cell!r} is not one of {', '.join(sorted(allowed))}")
            if name == "sources":
                _require_sources(parsed[cell], known_sources)
        except ValueError as error:
            raise _error(table, cells.index(cell) + _FIRST_ROW, f"{name}: {error}") from error
    return [parsed[cell] for cell in cells]


def _require_sources(keys: tuple[str, ...], known: frozenset[str] | None) -> None:
    if not keys:
        raise ValueError("no source")
    for key in keys:
        if known is not None and key not in known:
            raise ValueError(f"{key!r} is not in {SOURCES.file}")


def _error(table: Table[Any], number: int, what: str) -> DataError:
    return DataError(f"{table.file} line {number}: {what}.")


def _text(cell: str) -> str:
    return cell


def _flag(cell: str) -> bool:
    if cell not in ("y", "n"):
        raise ValueError(f"not y or n: {cell!r}")
    return cell == "y"


@cache
def _version(cell: str) -> Version:
    return Version.parse(cell)


@cache
def _capability(cell: str) -> ComputeCapability:
    return ComputeCapability.parse(cell)


def _or_unknown(parse: Callable[[str], Cell]) -> Callable[[str], Cell | None]:
    return lambda cell: parse(cell) if cell else None


def _several(parse: Callable[[str], Cell]) -> Callable[[str], tuple[Cell, ...]]:
    @cache
    def split(cell: str) -> tuple[Cell, ...]:
        return tuple(parse(part) for part in cell.split(SEPARATOR)) if cell else ()

    return split


def _several_or_unknown(parse: Callable[[str], Cell]) -> Callable[[str], tuple[Cell, ...] | None]:
    split = _several(parse)

    def read_cell(cell: str) -> tuple[Cell, ...] | None:
        if cell == CERTAINLY_NONE:
            return ()
        return split(cell) if cell else None

    return read_cell


PARSERS: dict[str, Callable[[str], Any]] = {
    "str": _text,
    "str | None": _or_unknown(_text),
    "bool": _flag,
    "bool | None": _or_unknown(_flag),
    "int": int,
    "int | None": _or_unknown(int),
    "float | None": _or_unknown(float),
    "Version": _version,
    "Version | None": _or_unknown(_version),
    "ComputeCapability": _capability,
    "ComputeCapability | None": _or_unknown(_capability),
    "tuple[str, ...]": _several(_text),
    "tuple[str, ...] | None": _several_or_unknown(_text),
    "tuple[int, ...]": _several(int),
    "tuple[int, ...] | None": _several_or_unknown(int),
    "tuple[Version, ...]": _several(_version),
    "tuple[ComputeCapability, ...]": _several(_capability),
    "tuple[ComputeCapability, ...] | None": _several_or_unknown(_capability),
}
