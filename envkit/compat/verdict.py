"""What one relation says: a status, its reason and its sources."""

from __future__ import annotations

from enum import Enum

from envkit._startup.records import record


class DriverVerdict(str, Enum):
    """How a driver runs a CUDA version."""

    NATIVE = "native"
    MINOR_VERSION = "minor-version-compatibility"
    FORWARD = "forward-compatibility"
    INCOMPATIBLE = "incompatible"
    UNKNOWN = "unknown"


@record
class Verdict:
    """The judgment of one relation. `status` is ok, warn, fail, unknown or one of `DriverVerdict`'s words."""

    relation: str  # driver-runs-cuda, gpu-runs-build, python-has-wheel …
    status: str
    detail: str
    sources: tuple[str, ...] = ()  # keys of `sources.csv`
    parts: tuple[str, ...] = ()  # the reasons at the end of a long `detail`, which joins them with semicolons


def is_floor(verdict: Verdict) -> bool:
    """Whether a verdict says only which driver is needed, where none is there to be judged."""
    return verdict.relation == "minimum-driver" and verdict.status == "ok"
