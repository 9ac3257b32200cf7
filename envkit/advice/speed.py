"""How long a step takes at best: its operations, its bytes of memory, or what cards send each other.

The longest of these bounds holds. Of several cards it is the least of all ways to share the work (`ways.py`), so that
no program can be faster: overlaps are taken to be perfect, and latencies none.
"""

from __future__ import annotations

from math import inf

from envkit._startup.records import record
from envkit.advice.cards import Card
from envkit.advice.links import Link, link_of
from envkit.advice.memory import GIB, Need, size_of
from envkit.advice.ways import ALONE, Way, ways_of
from envkit.advice.workload import Workload
from envkit.tables.advice import rules

_FORWARD, _BACKWARD = 2, 4  # operations a parameter and token: a multiply-add is two, and each has two gradients
_OF_A_LAYER = 2  # sums over the cards that share a layer, in each direction: after attention, and after the rest
_SUMMED = 2  # passes over what cards sum up in a ring: one to sum, one to return


@record
class Step:
    """The least time of a step on some cards, what it waits for, and how the cards share the work."""

    compute_seconds: float
    memory_seconds: float
    link_seconds: float
    rate_known: bool  # False: the card has faster units whose rate is not known, and it would matter
    way: Way = ALONE
    sent: float = 0.0  # bytes that each card sends
    link: str = ""

    @property
    def seconds(self) -> float:
        """The longest of the bounds."""
        return max(self.compute_seconds, self.memory_seconds, self.link_seconds)

    @property
    def bound(self) -> str:
        """What the step waits for."""
        if self.link_seconds > max(self.compute_seconds, self.memory_seconds):
            return "link"
        return "compute" if self.compute_seconds >= self.memory_seconds else "bandwidth"


@record
class Load:
    """What each card holds in one way to share a workload, and, where that is known, what it does in a step."""

    way: Way
    held: float  # bytes
    precision: str
    operations: float | None
    moved: float
    sent: float


def loads_of(workload: Workload, need: Need, cards: int) -> tuple[Load, ...]:
    """The load of each card for every way to use up to so many of them."""
    effort = _effort(workload, need) if workload.parameters else None
    return tuple(_load(way, workload, need, effort) for way in ways_of(workload, cards))


def step_on(card: Card, loads: tuple[Load, ...]) -> Step | None:
    """The least time of a step in any of these ways; None where a rate or the work is not known.

    Where the rate of faster units is not known, their step is that of the fp32 rate if no faster one could
    shorten it.
    """
    bandwidth = card.model.memory_bandwidth_gbs
    rate, known = card.tflops(loads[0].precision) if loads else (None, True)
    if not rate or not bandwidth or loads[0].operations is None:
        return None
    found = _fastest(loads, rate, bandwidth, link_of(card), True)
    if known or _fastest(loads, inf, bandwidth, link_of(card), True).seconds == found.seconds:
        return found
    return _fastest(loads, rate, bandwidth, link_of(card), False)


def times_as_fast(one: Step, other: Step) -> float:
    """How many times as fast the first is as the second."""
    return other.seconds / one.seconds


def _fastest(loads: tuple[Load, ...], rate: float, bandwidth: float, link: Link | None, known: bool) -> Step:
    def bounds(load: Load) -> tuple[float, float, float]:
        sent = load.sent / (link.rate * 1e9) if link else 0.0
        return (load.operations or 0) / (rate * 1e12), load.moved / (bandwidth * 1e9), sent

    best = min(loads, key=lambda load: (max(bounds(load)), load.way.trouble, load.sent, load.way.cards))
    return Step(*bounds(best), known, best.way, best.sent, link.name if link else "")


@record
class _Effort:
    """What a step costs: operations, and bytes by who has to move them."""

    operations: float
    read: float  # weights that every copy reads, stage after stage
    kept: float  # gradients and optimizer: each card has those of what it holds
    by_sample: float  # activations and cache
    gathered: float  # weights as they are sent to where they are needed
    gradients: float
    summed: float  # outputs that the cards of a layer sum up
    passed: float  # outputs that a stage hands to the next


def _effort(workload: Workload, need: Need) -> _Effort:
    passes = 2 if workload.trains else 1  # forward, and backward
    weights = workload.parameters * workload.precision.least_bytes
    outputs = size_of(need, "activations") if workload.network is not None or workload.trains else 0
    # of a table of embeddings a token reads one row, of experts those that it uses
    used = (workload.active - workload.looked_up) / workload.parameters
    rest = (rules()["weight-passes"].value - passes) * weights if workload.optimizer and workload.task != "lora" else 0
    width = workload.precision.value_bytes * workload.batch
    tokens = workload.sequence if workload.trains else 1
    cell, layers = (width * tokens * workload.shape.hidden, workload.shape.layers) if workload.shape else (0, 0)
    return _Effort(
        _operations(workload),
        passes * used * weights,
        rest + 2 * size_of(need, "optimizer"),
        2 * outputs + (0 if workload.trains else size_of(need, "KV cache")),
        passes * weights,
        size_of(need, "gradients"),
        _SUMMED * _OF_A_LAYER * layers * cell * passes,
        cell * passes,
    )


def _load(way: Way, workload: Workload, need: Need, effort: _Effort | None) -> Load:
    precision = workload.computes_in
    held = max(need.held(way), (need.least_gb or 0) * GIB / way.cards)
    if effort is None:
        return Load(way, held, precision, None, 0.0, 0.0)
    # a copy has its share of the batch; of its stages no more work at once than it has samples
    alike = way.share(workload.batch) / way.at_once(workload.batch)
    others = (way.copies - 1) / way.copies
    traffic = effort.gathered + effort.gradients if way.gathered else _SUMMED * effort.gradients
    sent = (
        others * traffic / (way.stages * way.parts)
        + (way.parts - 1) / way.parts * effort.summed * alike
        + (way.stages - 1) * effort.passed * alike
    )
    moved = effort.read / way.parts + effort.kept / way.split + effort.by_sample * alike / way.parts
    return Load(way, held, precision, effort.operations * alike / way.parts, moved, sent)


def _operations(workload: Workload) -> float:
    if workload.network is not None:
        step = workload.network.step_gflop * 1e9 * workload.batch
        return step if workload.trains else step / 3
    counted = workload.active - workload.looked_up
    if workload.task == "infer":
        return _FORWARD * counted * workload.batch  # the next token of each sequence
    backward = _BACKWARD / 2 if workload.task == "lora" else _BACKWARD  # frozen weights need no gradient
    again = _FORWARD if workload.checkpointing == "full" else 0
    return (_FORWARD + backward + again) * counted * workload.batch * workload.sequence
