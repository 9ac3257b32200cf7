"""How long a step takes at best: the work by the rate, or the bytes by the bandwidth, whichever takes longer."""

from __future__ import annotations

from envkit._startup.records import record
from envkit.advice.cards import Card
from envkit.advice.memory import Need, size_of
from envkit.advice.workload import Workload
from envkit.tables.advice import rules

_FORWARD, _BACKWARD = 2, 4  # operations a parameter and token: a multiply-add is two, and each has two gradients


@record
class Step:
    """The least time of a step on some cards, and which bound holds."""

    seconds: float
    compute_seconds: float
    memory_seconds: float
    rate_known: bool  # False: the card has faster units whose rate is not on record

    @property
    def bound(self) -> str:
        """What the step waits for."""
        return "compute" if self.compute_seconds >= self.memory_seconds else "bandwidth"


@record
class Effort:
    """The operations of one step, and the bytes that it reads and writes in GPU memory."""

    operations: float
    bytes_moved: float
    precision: str


def effort_of(workload: Workload, need: Need) -> Effort | None:
    """What a step of the workload costs, None for one that is told by its memory alone."""
    if not workload.parameters:
        return None
    weights = size_of(need, "weights")
    if workload.task == "infer":
        # one token of each sequence: what a prompt holds while it is read is no part of that step
        outputs = size_of(need, "activations") if workload.network is not None else 0
        moved = weights + size_of(need, "KV cache") + 2 * outputs
    else:
        passes = rules()["weight-passes"].value * weights
        # the need holds each activation of a network with its gradient, and each is written and read
        moved = passes + 2 * (size_of(need, "optimizer") + size_of(need, "activations"))
    return Effort(_operations(workload), moved, workload.computes_in)


def _operations(workload: Workload) -> float:
    if workload.network is not None:
        step = workload.network.step_gflop * 1e9 * workload.batch
        return step if workload.trains else step / 3
    if workload.task == "infer":
        return _FORWARD * workload.parameters * workload.batch  # the next token of each sequence
    backward = _BACKWARD / 2 if workload.task == "lora" else _BACKWARD  # frozen weights need no gradient
    again = _FORWARD if workload.checkpointing == "full" else 0
    return (_FORWARD + backward + again) * workload.parameters * workload.batch * workload.sequence


def step_on(card: Card, gpus: int, effort: Effort) -> Step | None:
    """The least time of a step on so many of this GPU, nothing lost between them; None where a rate is not known."""
    rate, known = card.tflops(effort.precision)
    bandwidth = card.model.memory_bandwidth_gbs
    if not rate or not bandwidth:
        return None
    compute = effort.operations / (rate * 1e12) / gpus
    memory = effort.bytes_moved / (bandwidth * 1e9) / gpus
    return Step(max(compute, memory), compute, memory, known)


def times_as_fast(one: Step, other: Step) -> float:
    """How many times as fast the first is as the second."""
    return other.seconds / one.seconds
