"""The tables that checks read: every row has a source that can be looked up, and no source is left over."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from envkit.tables.loader import DATA, Table, read
from envkit.tables.rows import Source

FILES = ("error_codes.csv", "limits.csv", "module_flavours.csv", "pcie_generations.csv", "remedies.csv", "xid.csv")


def rows(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader((Path(DATA) / name).read_text(encoding="utf-8").splitlines()))


def known() -> dict[str, Source]:
    return {source.key: source for source in read(Table("check_sources.csv", Source, ("key",)))}


@pytest.mark.parametrize("name", FILES)
def test_every_row_has_sources_that_can_be_looked_up(name: str) -> None:
    for row in rows(name):
        for key in row["sources"].split(";"):
            assert known()[key].url.startswith("https://")


def test_no_source_is_left_over() -> None:
    used = {key for name in FILES for row in rows(name) for key in row["sources"].split(";")}
    assert set(known()) == used


def test_actions_are_used_and_every_used_action_is_there() -> None:
    import re
    from pathlib import Path

    import envkit.checks

    code = "\n".join(path.read_text("utf-8") for path in Path(envkit.checks.__file__).parent.rglob("*.py"))
    quoted = set(re.findall(r'"([a-z0-9-]+)"', code))
    assert {row["action"] for row in rows("remedies.csv")} - quoted == set()
