"""Names of hosts folded into ranges say exactly the names that went in."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envkit.fleet.names import folded


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["n001", "n002", "n003", "n044"], "n[001-003,044]"),
        (["n8", "n9", "n10", "n12"], "n[8-10,12]"),
        (["n08", "n09", "n10", "n100"], "n100,n[08-10]"),
        (["a1.lan", "a2.lan", "b1.lan"], "a[1-2].lan,b1.lan"),
        (["r1-n01", "r1-n02", "r2-n01"], "r1-n[01-02],r2-n01"),
        (["login"], "login"),
        (["n1", "n1"], "n1"),
        (["n[1-2]", "x,y"], "n[1-2],x,y"),
        ([], ""),
    ],
)
def test_ranges(names: list[str], expected: str) -> None:
    assert folded(names) == expected


def _unfolded(text: str) -> Iterator[str]:
    """The names again, by the rules of the notation."""
    for start, inside, end in re.findall(r"([^,\[\]]*)(?:\[([\d,-]+)\])?([^,\[\]]*)(?:,|$)", text):
        if not inside:
            yield from [start + end] if start + end else []
            continue
        for part in inside.split(","):
            low, _, high = part.partition("-")
            width = len(low) if low.startswith("0") or len(low) == len(high or low) else 0
            for number in range(int(low), int(high or low) + 1):
                yield f"{start}{number:0{width}}{end}"


@settings(max_examples=40, deadline=None)
@given(st.sets(st.from_regex(r"[a-z]{1,2}-?[0-9]{1,4}(\.lan)?", fullmatch=True), min_size=1, max_size=30))
def test_no_name_is_lost_and_none_is_made_up(names: set[str]) -> None:
    assert sorted(_unfolded(folded(names))) == sorted(names)
