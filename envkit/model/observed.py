"""A fact is a value and where it was read, or the reason there is none."""

from __future__ import annotations

from enum import Enum
from typing import Generic, TypeVar

from envkit._startup.records import record
from envkit.model.privacy import FreeText

T = TypeVar("T")
TOLD = "told"  # what is in the source of a fact that somebody wrote in their own words


class Problem(str, Enum):
    """Why a fact has no value."""

    ABSENT = "absent"  # looked, and it is not there
    DENIED = "denied"  # the machine refused to tell
    UNPARSABLE = "unparsable"  # there, but not in a form that we can read
    TIMED_OUT = "timed-out"  # did not answer within its limit
    NOT_LOOKED = "not-looked"  # this source of facts does not tell (a pasted text, a mounted image)


@record
class Observed(Generic[T]):
    """A value and where it was read, or the problem that is in its place."""

    value: T | None = None
    source: FreeText = ""
    problem: Problem | None = Problem.NOT_LOOKED
    detail: FreeText = ""

    @property
    def known(self) -> bool:
        """True when there is a value."""
        return self.problem is None

    def get(self) -> T:
        """The value of a fact that is known. Raises LookupError for one that is not."""
        if self.problem is not None or self.value is None:
            raise LookupError(f"no value: {self.problem}")
        return self.value

    @property
    def absent(self) -> bool:
        """True when somebody looked and it is not there."""
        return self.problem is Problem.ABSENT


def is_told(source: str) -> bool:
    """Whether the source of a fact is somebody's own words, not what a program printed."""
    return source.endswith(f"({TOLD})")


def found(value: T, source: str) -> Observed[T]:
    """The fact that `source` holds `value`."""
    return Observed(value, source, None)


def missing(problem: Problem, source: str = "", detail: str = "") -> Observed[T]:
    """The fact that `source` gave no value, and why."""
    return Observed(None, source, problem, detail)


def unseen() -> Observed[T]:
    """A fact that nobody has looked for."""
    return Observed()
