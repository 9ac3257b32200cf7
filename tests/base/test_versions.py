"""Versions are ordered values; specs apply to what a user means by them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envkit.base.versions import ComputeCapability, Version, VersionSpec

numbers = st.lists(st.integers(0, 999), min_size=1, max_size=4)


def test_trailing_zeros_do_not_count_and_text_is_kept() -> None:
    assert Version.parse("9.0") == Version.parse("9.0.0")
    assert hash(Version.parse("9.0")) == hash(Version.parse("9"))
    assert str(Version.parse("580.65.06")) == "580.65.06"


def test_numbers_are_not_compared_as_text() -> None:
    assert Version.parse("10.2") > Version.parse("9.2")
    assert Version.parse("3.10") > Version.parse("3.9")


@given(numbers, numbers)
def test_order_is_total(one: list[int], other: list[int]) -> None:
    a, b = Version.of(*one), Version.of(*other)
    assert (a < b) + (a == b) + (a > b) == 1


@pytest.mark.parametrize("text", ["", "abc", "9.", "9.0rc1", "-1", "9..0", "9" * 5000, "1." * 5000 + "0"])
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a version: "):
        Version.parse(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("8.6", (8, 6)), ("86", (8, 6)), ("sm_120", (12, 0)), ("compute_103", (10, 3)), ("SM_75", (7, 5))],
)
def test_capability_is_read_in_every_spelling(text: str, expected: tuple[int, int]) -> None:
    capability = ComputeCapability.parse(text)
    assert (capability.major, capability.minor) == expected


def test_specific_target_is_kept() -> None:
    assert ComputeCapability.parse("sm_90a").sm == "sm_90a"


@pytest.mark.parametrize(
    ("spec", "version", "holds"),
    [
        ("9.0", "9.0.176", True),
        ("9.0", "9.1", False),
        ("12.4.1", "12.4.1", True),
        ("12.4.1", "12.4.0", False),
        (">=12", "12.0.0", True),
        (">=1.5,<2", "1.9.1", True),
        (">=1.5,<2", "2.0", False),
        ("<=12.4", "12.4.1", True),
        (">12.4", "12.4.1", False),
        ("!=9.0", "9.0.176", False),
        ("~=1.4", "1.9", True),
        ("~=1.4", "2.0", False),
        ("==1.12.*", "1.12.3", True),
    ],
)
def test_specs_mean_what_users_mean(spec: str, version: str, holds: bool) -> None:
    assert VersionSpec.parse(spec).holds(Version.parse(version)) is holds


@pytest.mark.parametrize("text", ["nine", ">=", "1.x.2", "=>1", f">={'9' * 100_000}", "x" * 100_000])
def test_bad_specs_are_refused_in_a_short_line(text: str) -> None:
    with pytest.raises(ValueError, match="not a version") as refused:
        VersionSpec.parse(text)
    assert len(str(refused.value)) < 300
