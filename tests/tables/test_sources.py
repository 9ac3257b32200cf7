"""Every row of every table says where it comes from, in one table of sources that holds nothing else."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from envkit.base.errors import DataError
from envkit.tables.installer import PipRow
from envkit.tables.loader import TABLES, Source, read, source
from tests.tables.every import BY_FILE, FILES, rows_of

ENVKIT = Path(__file__).parents[2] / "envkit"
# tables of our own words, which hold no figure that somebody else could have published
OWN = {
    "sources.csv",
    "tables.csv",  # when each table was last compared with its sources
    "message_causes.csv",  # what a row of signatures.csv can also come from
    "message_ends.csv",  # words after which a row of signatures.csv counts no more
    "secret_words.csv",  # what a mask looks for: it hides more or less, and claims nothing
    "secret_commands.csv",
    "not_covered.csv",  # names of what the program does not hold
}
NO_PAGE = {
    "cuda-notes-13.4",
    "envkit-estimate",
    "github-cuda13-windows",
    "gpu-guide-2019",
    "inference",
    "legacy-help",
    "public-scripts",
}


def test_every_file_is_read_by_one_class() -> None:
    assert sorted(BY_FILE) == FILES
    assert len(TABLES) == len({form.file for form in TABLES.values()})


def test_only_the_loader_reads_a_table() -> None:
    """A second way to read one would know nothing of columns, types and sources."""
    others = re.compile(r"^\s*import csv$|\bDATA\b", re.MULTILINE)
    found = {path.relative_to(ENVKIT).as_posix() for path in ENVKIT.rglob("*.py") if others.search(path.read_text())}
    # the Matrix of another folder, programs of benchmarks, lists of words, a user's prices, a table that is written
    readers = {"tables/loader.py", "tables/__init__.py", "tables/bench.py", "privacy/words.py", "ingest/likeness.py"}
    readers |= {"advice/prices.py"}
    assert found == {*readers, "render/rows.py"}


@pytest.mark.parametrize("file", FILES)
def test_every_row_names_its_source(file: str) -> None:
    rows = rows_of(file)
    assert rows, "a table without rows says nothing"
    if file in OWN:
        assert not hasattr(rows[0], "sources")
    elif file == "signatures.csv":
        assert all(row.reference for row in rows)
    else:
        assert all(row.sources for row in rows)  # reading has shown that each is a key of sources.csv


def test_every_source_is_named_and_can_be_looked_up() -> None:
    used = {key for file in FILES for row in rows_of(file) for key in getattr(row, "sources", ())}
    rules = "".join(path.read_text() for folder in ("advice", "dockerfile") for path in (ENVKIT / folder).glob("*.py"))
    used |= {row.key for row in read(Source) if f'"{row.key}"' in rules}
    assert {row.key for row in read(Source)} == used
    for row in read(Source):
        assert row.title
        assert row.url.startswith(("https://", "pkg:pypi/")) or row.key in NO_PAGE, row.key


def test_a_source_is_one_line_by_which_its_key_finds_it() -> None:
    assert [source(row.key) for row in read(Source)] == [*read(Source)]
    with pytest.raises(DataError, match="no source 'nobody-wrote-it'"):
        source("nobody-wrote-it")


def test_two_keys_are_not_one_page() -> None:
    pages = [(row.title, row.url) for row in read(Source)]
    assert len(pages) == len(set(pages))


if TYPE_CHECKING:  # the type checker sees the type of each row; were it blind, the last line would need no excuse
    from typing_extensions import assert_type

    assert_type(read(PipRow), tuple[PipRow, ...])
    read(PipRow)[0].requirements  # type: ignore[attr-defined]  # noqa: B018 - a column that there is not
