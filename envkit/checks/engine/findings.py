"""What a check says: findings with status, evidence, impact and a remedy. Plain data, no printing."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import TYPE_CHECKING

from envkit._startup.records import field, record
from envkit.checks.engine.command import Command

if TYPE_CHECKING:
    from envkit.checks.engine.faults import Fault


class Status(str, Enum):
    """The verdict of one check on one subject."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"
    SKIP = "skip"  # does not apply here
    UNKNOWN = "unknown"  # could not look
    ERROR = "error"  # the check itself broke


class Confidence(str, Enum):
    """How sure a finding that fails or warns is of its cause."""

    CERTAIN = "certain"  # facts of the machine show it, or a message that has one cause
    LIKELY = "likely"  # the most frequent of several causes of a message
    POSSIBLE = "possible"  # one of several, none of them much more frequent


# Why a check has no answer of its own.
ONLY_TOLD = "the input contains none of the error messages that these checks look for"
_SEVERITY = {Status.FAIL: "error", Status.WARN: "warning"}


@record
class Evidence:
    """One fact that the verdict rests on: its path in the environment, its value, where it was read.

    A value that comes from a row of the tables has the keys of that row's sources in place of a file or command.
    """

    fact: str
    value: str
    source: str = ""
    sources: tuple[str, ...] = ()
    start: int = 0  # where in a quoted line the telling words begin: reports that cut it keep these


@record
class Remedy:
    """What to do, least invasive first. Steps that need root begin with sudo."""

    advice: str
    steps: tuple[Command, ...] = ()

    @property
    def commands(self) -> tuple[str, ...]:
        """What may be pasted, in this order; nothing where a step cannot be given, as half a recipe would do harm."""
        return () if self._problem else tuple(step.line for step in self.steps)

    @property
    def summary(self) -> str:
        """The advice, with the reason where its commands cannot be given."""
        return f"{self.advice} No command is given: {self._problem}." if self._problem else self.advice

    @property
    def _problem(self) -> str:
        return next((step.problem for step in self.steps if step.problem), "")


@record
class Alternative:
    """Another cause that the evidence allows: the check that looks for it, and the command whose output decides."""

    id: str
    title: str
    tell_apart: str


@record
class Finding:
    """One verdict. `because_of` names the check whose finding explains this one.

    `references` are addresses, `sources` the keys of the rows that the verdict rests on.
    """

    id: str
    status: Status
    title: str
    subject: str = ""
    evidence: tuple[Evidence, ...] = ()
    impact: str = ""
    remedy: Remedy | None = None
    references: tuple[str, ...] = ()
    because_of: str | None = None
    sources: tuple[str, ...] = ()
    confidence: Confidence = Confidence.CERTAIN
    alternatives: tuple[Alternative, ...] = ()
    plugin: str = ""  # name and version of the distribution whose check it is; '' for envkit's own

    @property
    def severity(self) -> str:
        """`error` for a fail, `warning` for a warn, `info` otherwise."""
        return _SEVERITY.get(self.status, "info")


@record
class Outcome:
    """What a check function yields: a finding without the parts that its declaration already holds."""

    status: Status
    title: str
    subject: str = ""
    evidence: tuple[Evidence, ...] = ()
    impact: str = ""
    remedy: Remedy | None = None
    references: tuple[str, ...] = field(default=())
    fault: Fault | None = None  # whose words the runner adds
    blanks: tuple[tuple[str, object], ...] = ()  # of the commands of its remedy


def ok(title: str, *, subject: str = "", evidence: Iterable[Evidence] = ()) -> Outcome:
    """Healthy, and looked at."""
    return Outcome(Status.OK, title, subject, tuple(evidence))


def skip(title: str, *, subject: str = "", evidence: Iterable[Evidence] = ()) -> Outcome:
    """Does not apply here; the title says why."""
    return Outcome(Status.SKIP, title, subject, tuple(evidence))


def unknown(title: str, *, subject: str = "", evidence: Iterable[Evidence] = ()) -> Outcome:
    """Could not be decided; the title says what was missing."""
    return Outcome(Status.UNKNOWN, title, subject, tuple(evidence))
