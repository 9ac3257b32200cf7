"""The table files are canonical: one spelling, one order, no stray source, so that a difference shows only changes."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from envkit._startup.records import record
from envkit.tables import Matrix, tables

GENERAL = [value for value in vars(tables).values() if isinstance(value, tables.Table)]
FILES = [table.file for table in GENERAL] + sorted(
    f"frameworks/{path.name}" for path in (Path(tables.DATA) / "frameworks").iterdir()
)


def rows_of(name: str) -> list[dict[str, str]]:
    with (Path(tables.DATA) / name).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


@record
class Order:
    """The columns by which a file is sorted, and the type of each."""

    file: str
    columns: tuple[str, ...]


ORDERS = [
    Order("toolkits.csv", ("version",)),
    Order("runfiles.csv", ("cuda", "architecture", "order")),
    Order("driver_branches.csv", ("branch",)),
    Order("cudnn.csv", ("version", "cuda")),
    Order("image_tags.csv", ("cuda", "os_id", "cudnn", "flavor")),
    Order("sources.csv", ("key",)),
    *(Order(name, ("version", "cuda")) for name in FILES if name.startswith("frameworks/")),
]
NUMERIC = {"version", "cuda", "branch", "order"}


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_written_the_one_way(name: str) -> None:
    written = (Path(tables.DATA) / name).read_text(encoding="utf-8")
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(csv.reader(io.StringIO(written)))
    assert written == stream.getvalue()


@pytest.mark.parametrize("name", FILES)
def test_cells_hold_no_stray_spaces_or_empty_parts(name: str) -> None:
    for row in rows_of(name):
        for column, cell in row.items():
            assert cell == " ".join(cell.split()), (name, column, cell)
            if column in ("sources", "pythons", "companions", "aliases", "device_ids"):
                assert not cell or all(cell.split(";")), (name, column, cell)


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: order.file)
def test_rows_stand_in_order(order: Order) -> None:
    def key(row: dict[str, str]) -> list[list[int] | str]:
        return [_number(row[column]) if column in NUMERIC else row[column] for column in order.columns]

    keys = [key(row) for row in rows_of(order.file)]
    assert keys == sorted(keys)


def _number(text: str) -> list[int]:
    return [int(part) for part in text.split(".")] if text else [0]


def test_every_file_in_the_folder_of_builds_is_a_framework(matrix: Matrix) -> None:
    assert {f"frameworks/{framework.name}.csv" for framework in matrix.frameworks} == {
        name for name in FILES if name.startswith("frameworks/")
    }


def _sourced(matrix: Matrix) -> Iterator[tuple[str, tuple[str, ...]]]:
    for member in (
        "toolkits", "all_runfiles", "driver_branches", "gpus", "cudnns", "image_tags", "framework_images",
        "frameworks", "operating_systems", "python_sources", "package_requirements", "package_files",
    ):  # fmt: skip
        for row in getattr(matrix, member):
            yield member, row.sources
    for framework in matrix.frameworks:
        for build in matrix.builds(framework.name):
            yield framework.name, build.sources


def test_no_row_lacks_a_source_that_can_be_looked_up(matrix: Matrix) -> None:
    checked = 0
    for member, keys in _sourced(matrix):
        assert keys, member
        for key in keys:
            source = matrix.source(key)
            assert source.title and source.url.startswith(("https://", "pkg:pypi/")), key
        checked += 1
    assert checked > 4500


def test_no_source_is_left_over(matrix: Matrix) -> None:
    used = {key for _, keys in _sourced(matrix) for key in keys}
    assert {source.key for source in matrix.sources} == used


def test_two_keys_are_not_one_page(matrix: Matrix) -> None:
    pages = [(source.title, source.url) for source in matrix.sources]
    assert len(pages) == len(set(pages))


def test_the_package_holds_every_table() -> None:
    assert Path(tables.__file__).parent.parent / "data" == Path(tables.DATA)
    assert len(FILES) >= 34
