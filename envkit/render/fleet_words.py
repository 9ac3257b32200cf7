"""What the reports of a fleet say alike in every format for people."""

from __future__ import annotations

from envkit.base.sentences import series
from envkit.checks.engine.evidence import many
from envkit.fleet.model import Drift, FleetReport, Gap, Shared, State
from envkit.fleet.report import MAJORITY
from envkit.fleet.traits import GPU, trait_label

COLUMNS = (GPU, "gpu_count", "driver", "kernel", "os")  # of the table of hosts, next to name, state and reason


def shared_words(item: Shared) -> str:
    """What the hosts of a cluster have in common, and how rare it is elsewhere."""
    elsewhere = f"{item.outside} of {item.others} others" if item.outside else f"none of {many(item.others, 'other')}"
    return f"{trait_label(item.key)} {item.value}: all {item.inside}, and {elsewhere}"


def expectation(item: Drift) -> str:
    """What is expected of a trait, and how many have it."""
    if not item.expected:
        return f"no majority, {many(len(item.others), 'value')} among {many(item.total, 'host')}"
    return f"{series(item.expected, 'or')} expected, {item.count} of {item.total} have it"


def compared(fleet: FleetReport) -> str:
    """What the hosts were compared with."""
    return "against the majority" if fleet.baseline == MAJORITY else f"against {fleet.baseline}"


def gap_words(fleet: FleetReport, gap: Gap) -> str:
    """Which hosts were compared with nothing, or not in what a baseline demands."""
    return f"{many(len(gap.hosts), 'host')} not compared {compared(fleet)} ({gap.reason})"


def left_words(state: State, hosts: int) -> str:
    """How many hosts have no verdict, in the words of the headline."""
    return f"{many(hosts, 'host')} {'unknown' if state is State.UNKNOWN else f'not checked ({state.value})'}"


def explained(because_of: str) -> str:
    """Which finding explains a difference, where one does."""
    return f", explained by {because_of}" if because_of else ""
