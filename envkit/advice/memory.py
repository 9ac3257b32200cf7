"""How much GPU memory a workload needs, part by part: weights, gradients, optimizer, activations and what is around."""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.records import record
from envkit.advice.ways import ALONE, Way
from envkit.advice.workload import Shape, Workload
from envkit.tables.advice import rules

GIB = 2**30  # what drivers and data sheets mean by the memory of a card
_PAPER = ("activation-recomputation-paper", "eleutherai-cookbook")
_ARITHMETIC = ("eleutherai-cookbook",)


@record
class Part:
    """One part of the need: its bytes, why so many, and how several cards share it.

    `shared`: "all", in pieces among all that hold one copy of the model; "copy", each copy has that of its share of the
    batch, and its cards divide that by layers and heads; "none", each card has it for itself.
    """

    name: str
    size: float
    why: str
    sources: tuple[str, ...]
    shared: str = "none"


@record
class Need:
    """What a workload needs; every figure is an estimate."""

    parts: tuple[Part, ...]
    batch: int
    margin: float
    least_gb: float | None = None

    def held(self, way: Way) -> float:
        """Bytes that each card holds of all parts, with the margin; the least that was asked for is no part."""
        of_a_copy = way.share(self.batch) / way.stages / way.parts
        pieces = {"copy": of_a_copy, "all": 1 / way.split, "none": 1.0}
        return sum(part.size * pieces[part.shared] for part in self.parts) * self.margin

    @property
    def counted(self) -> float:
        """Bytes of all parts on one card, with the margin."""
        return self.held(ALONE)

    @property
    def whole(self) -> float:
        """Bytes on one card, with the margin, and no fewer than were asked for."""
        return max(self.counted, (self.least_gb or 0) * GIB)


def need_of(workload: Workload, *, display: bool = False) -> Need:
    """The memory that a workload needs, `display` with a screen on the same card."""
    margin = rules()["memory-margin"]
    parts = tuple(part for part in _parts(workload, display) if part.size)
    return Need(parts, workload.batch, margin.value, workload.memory_gb)


def size_of(need: Need, name: str) -> float:
    """The bytes of the part of this name, 0 where the workload has none."""
    return sum(part.size for part in need.parts if part.name == name)


def _parts(workload: Workload, display: bool) -> Iterator[Part]:
    if workload.parameters:
        yield from _model(workload)
    if workload.network is not None:
        yield _outputs(workload)
    if workload.shape is not None:
        yield from _transformer(workload, workload.shape)
    if workload.parameters:
        context = rules()["context-gb"]
        yield Part("CUDA context", context.value * GIB, context.text, context.sources)
    if display:
        screen = rules()["display-gb"]
        yield Part("display", screen.value * GIB, screen.text, screen.sources)


def _model(workload: Workload) -> Iterator[Part]:
    count, precision = workload.parameters, workload.precision
    weight = max(precision.weight_bytes, precision.value_bytes if workload.task in ("train", "finetune") else 0)
    yield Part("weights", count * weight, f"{weight:g} bytes per parameter", precision.sources, shared="all")
    if workload.task == "lora":
        share, each = rules()["lora-share"], rules()["lora-bytes"]
        why = f"{each.value:g} bytes for each of {share.value:.0%} of the parameters"
        yield Part("LoRA", count * share.value * each.value, why, share.sources, shared="all")
        return
    if workload.optimizer is None:
        return
    mixed = precision.value_bytes < 4
    gradient = precision.value_bytes
    yield Part("gradients", count * gradient, f"{gradient} bytes per parameter", ("zero-paper",), shared="all")
    state = workload.optimizer.mixed_bytes if mixed else workload.optimizer.full_bytes
    copy = ", including the fp32 copy of the weights" if mixed else ""
    why = f"{workload.optimizer.name}: {state} bytes per parameter{copy}"
    yield Part("optimizer", count * state, why, workload.optimizer.sources, shared="all")


def _outputs(workload: Workload) -> Part:
    """The outputs of a network's layers; while it trains they are kept, and each has a gradient."""
    assert workload.network is not None
    held = 2 if workload.trains else 1
    each = workload.network.activations * workload.precision.value_bytes * held
    why = f"{workload.network.activations:,} outputs per sample" + (", and their gradients" if held == 2 else "")
    return Part("activations", each * workload.batch, why, workload.network.sources, "copy")


def _transformer(workload: Workload, shape: Shape) -> Iterator[Part]:
    """Activations, logits and cache of a transformer, by the formulas of the paper on recomputing activations."""
    width = workload.precision.value_bytes
    cell = workload.sequence * workload.batch * shape.hidden
    lean = cell * (16 * width + 2)
    whole = lean + cell * (2 * width + 1) * shape.heads * workload.sequence / shape.hidden
    if not workload.trains:
        tokens = workload.sequence * workload.batch
        at_once = rules()["prefill-tokens"]
        share = min(1.0, at_once.value / tokens)
        why = f"one layer at a time, for at most {at_once.value:.0f} tokens"
        yield Part("activations", lean * share, why, (*_PAPER, *at_once.sources))
        cache = 2 * shape.layers * shape.hidden * shape.kv_share * width * tokens
        yield Part("KV cache", cache, f"keys and values of {tokens} tokens", _ARITHMETIC, "copy")
        return
    by_way = {
        "none": (whole * shape.layers, "every value is stored"),
        "selective": (lean * shape.layers, "all but the scores of attention"),
        "full": (cell * width * shape.layers + whole, "the input of each layer, plus one layer while it is recomputed"),
    }
    size, why = by_way[workload.checkpointing]
    yield Part("activations", size, why, _PAPER, "copy")
    logits = workload.batch * workload.sequence * shape.vocabulary * 4 * 2
    yield Part("logits", logits, f"a vocabulary of {shape.vocabulary:,}, in fp32, and the gradient", _PAPER, "copy")
