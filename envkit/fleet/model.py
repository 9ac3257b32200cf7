"""What a fleet's report is made of: one small record for each host, causes, drift. Plain data."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from envkit._startup.records import field, record


class State(str, Enum):
    """How a host ended. The first four were judged; the others were not, and are neither health nor failure."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"
    UNKNOWN = "unknown"  # its facts came, and are not enough for a verdict
    UNREACHABLE = "unreachable"  # refused, no route, no answer, name not found, authentication
    TIMED_OUT = "timed-out"  # the collector was still at work when its time was over, and was ended
    HUNG = "hung"  # it was told to end and did not
    NO_PYTHON = "no-python"
    NO_SPACE = "no-space"
    CRASHED = "crashed"  # the collector ended with an error
    UNREADABLE = "unreadable"  # what came is no result: nothing, a part of one, something else


JUDGED = frozenset((State.OK, State.WARN, State.FAIL, State.UNKNOWN))


@record
class Cause:
    """Why a host fails or warns, as the first look shows it; `subject` is without what differs from host to host."""

    id: str
    title: str
    subject: str = ""
    confidence: str = "certain"
    evidence: str = ""
    fix: str = ""
    commands: tuple[str, ...] = ()


@record
class HostResult:
    """One host, judged or not. `traits` are what like hosts are compared by, known ones alone."""

    name: str
    state: State
    reason: str = ""  # the headline of the verdict, or why there is none
    cause: Cause | None = None
    traits: Mapping[str, str] = field(default_factory=dict)
    explained: Mapping[str, str] = field(default_factory=dict)  # trait -> the failing check that rests on it
    troubles: tuple[tuple[str, str], ...] = ()  # the status and id of each check that failed, warned or broke
    seconds: float | None = None  # that collecting took
    collected_at: str = ""  # as an ISO time in UTC; '' where nobody noted it

    @property
    def judged(self) -> bool:
        """True where facts came."""
        return self.state in JUDGED


@record
class Shared:
    """A value that every host of a cluster has, as far as it is known, and few others."""

    key: str
    value: str
    inside: int
    outside: int
    others: int  # hosts outside of which the value is known


@record
class Cluster:
    """The hosts that one cause explains; `example` is the host whose words and evidence stand for all."""

    state: State
    cause: Cause
    hosts: tuple[str, ...]
    example: str
    shared: tuple[Shared, ...] = ()


@record
class Value:
    """One value of a trait and the hosts that have it; `because_of` is the failing check that explains it there."""

    value: str
    hosts: tuple[str, ...]
    because_of: str = ""


@record
class Drift:
    """A trait in which like hosts differ. `expected` is empty where no value is held by most."""

    group: str
    key: str
    expected: tuple[str, ...]
    count: int  # hosts with an expected value
    total: int  # hosts of which the value is known
    others: tuple[Value, ...]
    must: bool = False  # a baseline demands it


@record
class Gap:
    """Hosts that could not be compared, and why; `must` where a baseline demands what is not known of them."""

    reason: str
    hosts: tuple[str, ...]
    must: bool = False


@record
class FleetReport:
    """The whole report.

    `drifted` holds the hosts that differ from what a baseline demands, `short` those with fewer GPUs than most of their
    like.
    """

    hosts: tuple[HostResult, ...]
    causes: tuple[Cluster, ...]
    drift: tuple[Drift, ...]
    drifted: frozenset[str] = frozenset()
    baseline: str = "majority"
    gaps: tuple[Gap, ...] = ()
    short: frozenset[str] = frozenset()

    @property
    def alone(self) -> int:
        """How many judged hosts were compared with nothing."""
        return sum(len(gap.hosts) for gap in self.gaps if not gap.must)
