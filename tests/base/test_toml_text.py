"""One reader of TOML, whatever the text: a table, or one line that says why there is none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import envkit
from envkit.base.toml_text import toml_table

_CODE = Path(envkit.__file__).parent


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a = [", "end of document"),
        ("a\n= 1", "line 1"),
        (f"a = {'[' * 50_000}", "nested too deeply"),
        (f"a = {'9' * 5000}", "a number has too many digits"),
        (f"a = 0x{'f' * 5000}", "a number has too many digits"),
        (f"a = [[0o{'7' * 5000}]]", "a number has too many digits"),
        (f"a.b = [{{c = 0b{'1' * 64}}}]", "a number has too many digits"),
    ],
    ids=["cut off", "no value", "deep", "long number", "hexadecimal", "octal in lists", "binary in a table"],
)
def test_a_text_that_cannot_be_read_says_why_in_one_line(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=told) as caught:
        toml_table(text)
    assert "\n" not in str(caught.value)


def test_a_table_is_read() -> None:
    assert toml_table("a = 1\n[b]\nc = 'x'\n") == {"a": 1, "b": {"c": "x"}}


@pytest.mark.parametrize("number", [-(2**63), 2**63 - 1, 0xFFFF])
def test_numbers_of_64_bits_are_read(number: int) -> None:
    assert toml_table(f"a = {number}") == {"a": number}


def test_nothing_else_reads_toml() -> None:
    reads = re.compile(r"^\s*(?:import|from) toml", re.MULTILINE)
    files = {str(path.relative_to(_CODE)) for path in _CODE.rglob("*.py") if reads.search(path.read_text("utf-8"))}
    assert files == {"base/toml_text.py"}
