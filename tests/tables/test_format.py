"""The table files are canonical: one spelling, one order, no stray source, so that a difference shows only changes."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

import envkit
from envkit._startup.records import record
from envkit.tables import Matrix
from tests.tables.every import FILES, FOLDER


def rows_of(name: str) -> list[dict[str, str]]:
    with (FOLDER / name).open(encoding="utf-8", newline="") as stream:
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
AS_PRINTED = {("signatures.csv", name) for name in ("example", "pattern", "unless", "also")}  # messages of programs
NUMERIC = {"version", "cuda", "branch", "order"}


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_written_the_one_way(name: str) -> None:
    written = (FOLDER / name).read_text(encoding="utf-8")
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(csv.reader(io.StringIO(written)))
    assert written == stream.getvalue()


@pytest.mark.parametrize("name", FILES)
def test_cells_hold_no_stray_spaces_or_empty_parts(name: str) -> None:
    for row in rows_of(name):
        for column, cell in row.items():
            if (name, column) in AS_PRINTED:
                continue
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


def test_the_package_holds_every_table() -> None:
    assert Path(envkit.__file__).parent / "data" == FOLDER
    assert len(FILES) >= 34
