"""What releases require by their metadata: the tool that reads it, and the rows that it wrote."""

from __future__ import annotations

from envkit.base.requirements import marker
from envkit.compat.packages import requirement_of
from envkit.dockerfile.specifiers import Release
from envkit.tables.loader import read
from envkit.tables.pairs import PackageNeed
from tools.data.needs import need_rows

SERVER = (
    'torch==2.5.1; extra == "runtime-common"',
    'demo[runtime_common]; extra == "srt"',
    'demo[srt]; extra == "all"',
    'numpy; extra == "srt"',
)


def _told(rows: list[PackageNeed]) -> set[tuple[str, str, str, str]]:
    return {(row.first, row.last, row.requires, row.marker) for row in rows}


def test_releases_in_a_row_that_require_the_same_are_one() -> None:
    releases = {
        "1.0": ["protobuf<4,>=3.9", "six"],
        "1.1": ["protobuf<4,>=3.9", 'wrapt==1.0; python_version < "3.9"'],
        "1.1.post1": ["protobuf<5"],
        "1.10": ["protobuf<4,>=3.9"],
    }
    assert _told(list(need_rows("demo", releases))) == {
        ("1.0", "1.1", "protobuf>=3.9,<4", ""),
        ("1.1", "1.1", "wrapt==1.0", "python_version < '3.9'"),
        ("1.1.post1", "1.1.post1", "protobuf<5", ""),
        ("1.10", "1.10", "protobuf>=3.9,<4", ""),
    }


def test_what_other_tables_hold_and_what_brings_no_gpu_is_left_out() -> None:
    lines = [
        "numpy<2,>=1.23.5",
        'nvidia-cudnn-cu12==8.9.4.25; extra == "and-cuda"',
        "keras<2.16,>=2.15.0",  # of this release in package_pairs.csv
        'pytest==8.0; extra == "testing"',
        "wrapt<1.15,>=1.11.0",
        "git+https://example.org/x",
    ]
    assert _told(list(need_rows("tensorflow", {"2.15.0": lines}))) == {("2.15.0", "2.15.0", "wrapt>=1.11.0,<1.15", "")}


def test_an_extra_has_what_the_extras_that_it_asks_for_have() -> None:
    rows = _told(list(need_rows("sglang", {"9.9": [line.replace("demo", "sglang") for line in SERVER]})))
    assert rows == {("9.9", "9.9", "torch==2.5.1", f"extra == '{extra}'") for extra in ("srt", "all")}


def test_every_row_can_be_read() -> None:
    for row in read(PackageNeed):
        assert Release.parse(row.first).order <= Release.parse(row.last).order, row
        assert requirement_of(row.requires) is not None, row
        assert not row.marker or marker(row.marker) is not None, row
