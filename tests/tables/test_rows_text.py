"""Tables as text: aligned, fitted to the terminal, or as CSV, JSON and Markdown."""

from __future__ import annotations

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envkit.base.versions import ComputeCapability, Version
from envkit.render.rows import csv_table, json_table, left_out, markdown_table, text_table

HEADERS = ["name", "CC", "note", "source"]
LINES = [["NVIDIA GeForce RTX 4090", "8.9", "a long remark that goes on and on", "1,2"], ["Tesla K80", "3.7", "", "3"]]


def test_columns_are_aligned() -> None:
    shown = text_table(HEADERS, LINES).splitlines()
    assert [line.index(cell) for line, cell in zip(shown[2:], ("8.9", "3.7"), strict=True)] == [25, 25]
    assert all(line == line.rstrip() for line in shown)


@pytest.mark.parametrize("width", [40, 60, 80])
def test_a_table_fits_the_terminal_and_keeps_its_sources(width: int) -> None:
    shown = text_table(HEADERS, LINES, width).splitlines()
    assert max(map(len, shown)) <= width
    assert shown[0].split()[-1] == "source"
    assert shown[2].endswith("1,2")


def test_the_columns_that_do_not_fit_are_reported() -> None:
    assert left_out(HEADERS, LINES, 40) == ["note"]
    assert left_out(HEADERS, LINES, 80) == left_out(HEADERS, LINES) == []
    assert "note" not in text_table(HEADERS, LINES, 40)


def test_a_cut_cell_says_so() -> None:
    assert "…" in text_table(HEADERS, LINES, 50)
    assert "…" not in text_table(HEADERS, LINES)


CELL = st.text(alphabet="ab|,\"' é;", max_size=12)


@given(st.lists(st.lists(CELL, min_size=3, max_size=3), max_size=5), st.integers(min_value=36, max_value=120))
def test_no_table_is_wider_than_asked(lines: list[list[str]], width: int) -> None:
    assert max(map(len, text_table(["a", "b", "c"], lines, width).splitlines())) <= width


@given(st.lists(st.lists(CELL, min_size=2, max_size=2), max_size=5))
def test_csv_can_be_read_back(lines: list[list[str]]) -> None:
    assert list(csv.reader(io.StringIO(csv_table(["a", "b"], lines)))) == [["a", "b"], *lines]


@given(st.lists(st.lists(CELL, min_size=2, max_size=2), max_size=5))
def test_every_markdown_line_has_as_many_cells(lines: list[list[str]]) -> None:
    for line in markdown_table(["a", "b"], lines).splitlines():
        assert line.replace(r"\|", "").count("|") == 3


def test_json_keeps_unknown_apart_and_versions_as_text() -> None:
    rows = [{"version": Version.parse("580.65.06"), "cc": (ComputeCapability.parse("8.6"),), "date": None, "yes": True}]
    found = json.loads(json_table("x", rows, {"key": {"title": "T", "url": "U"}}))
    assert found == {
        "schema": 1,
        "table": "x",
        "rows": [{"version": "580.65.06", "cc": ["8.6"], "date": None, "yes": True}],
        "sources": {"key": {"title": "T", "url": "U"}},
    }
