"""What `--fix` makes of a Dockerfile, for the tests of its repairs."""

from __future__ import annotations

from envkit.dockerfile.change import change_for
from tests.checks.software import matrix
from tests.image.test_fix import check, errors


def fixed(text: str) -> str:
    """The text as `--fix` leaves it."""
    change = change_for(text, check(text), check, matrix())
    return change.text if change is not None else text


def assert_repaired(text: str, *parts: str) -> None:
    """The text has errors, and as `--fix` leaves it each of the parts and none of them."""
    assert errors(text)
    changed = fixed(text)
    for part in parts:
        assert part in changed
    assert errors(changed) == []
