"""A program that is missing before a pipe: a fault where what comes after it stops without input."""

from __future__ import annotations

import pytest

from tests.image.repaired import fixed
from tests.image.test_fix import errors

_WGET = "wget -qO- https://a.example/x"


@pytest.mark.parametrize("after", ["tar xz", "tar -xz -C /opt", "tar -xzf - -C /opt", "apt-key add -"])
def test_what_reads_nothing_stops(after: str) -> None:
    text = f"FROM ubuntu:22.04\nRUN {_WGET} | {after}\n"
    assert errors(text) == ["image.program-missing"]
    assert "apt-get install -y --no-install-recommends wget" in fixed(text)


@pytest.mark.parametrize("rest", ["| bash", "|| true; tar xzf x.tgz", "| tar xz || true", "| tar --extract --file=x"])
def test_what_goes_on_without_input_is_no_fault(rest: str) -> None:
    assert errors(f"FROM ubuntu:22.04\nRUN {_WGET} {rest}\n") == []
