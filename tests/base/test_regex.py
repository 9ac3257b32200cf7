"""Expressions compile when they are used, and then are what `re.compile` gives."""

from __future__ import annotations

import re

import pytest

from envkit._startup.regex import regex


def test_it_matches_as_the_compiled_one_does() -> None:
    number = regex(r"(\d+)\.(\d+)")
    match = number.search("CUDA 12.4")
    assert match is not None and match.groups() == ("12", "4")
    assert number.sub("N", "1.2 3.4") == "N N" and number.pattern == r"(\d+)\.(\d+)"


def test_flags_and_bytes() -> None:
    assert regex("^b", re.MULTILINE).findall("a\nb") == ["b"]
    found = regex(rb"GLIBC_(\d+)").search(b"\0GLIBC_2\0")
    assert found is not None and found[1] == b"2"


def test_a_wrong_expression_is_reported_when_it_is_used() -> None:
    wrong = regex("(")
    with pytest.raises(re.error):
        wrong.search("")
