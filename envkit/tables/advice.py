"""What advice on cards and machines counts with: networks, precisions, rules of thumb. Every figure has its source."""

from __future__ import annotations

from functools import cache

from envkit._startup.records import record
from envkit.base.versions import ComputeCapability
from envkit.tables.loader import read, table
from envkit.tables.rows import GpuModel


@table("advice/networks.csv", "name")
@record
class Network:
    """One network: its size, the work of a training step and the outputs of its layers, both for one sample."""

    name: str
    title: str
    parameters: int
    step_gflop: float
    activations: int
    batch: int  # of the published figures
    tokens: int | None  # of a sample, for one that reads text
    convolves: bool  # most of its work is convolutions
    sources: tuple[str, ...]


@table("advice/transformers.csv", "title")
@record
class Transformer:
    """The shape of a published transformer; `active`: the parameters that a token of a mixture of experts uses."""

    title: str
    parameters: int
    active: int | None
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    kv_width: int | None  # values of a key, and of a value, that a layer keeps of a token; None: as the heads say
    vocabulary: int
    tied: bool  # one table serves to look tokens up and to score them
    sources: tuple[str, ...]


@table("advice/precisions.csv", "name")
@record
class Precision:
    """One precision: bytes of a weight and of a value, in which precision is computed, and the first GPU with units.

    A weight takes `weight_bytes` in the usual format, scales and what stays in 16 bits counted, and no format takes
    fewer than `least_bytes`.
    From `stored_from` on, GPUs without units run models whose weights are stored so, and compute in fp16.
    """

    name: str
    weight_bytes: float
    least_bytes: float
    value_bytes: int
    computes_in: str
    from_capability: ComputeCapability
    stored_from: ComputeCapability | None
    library_from: ComputeCapability | None  # of bitsandbytes, which most programs load such weights with
    sources: tuple[str, ...]


@table("advice/tensor_ratios.csv", "family", "names")
@record
class TensorRatio:
    """How many times its fp32 rate the tensor cores of a line of cards reach: dense, with sums in fp32.

    The line is the cards of a GPU family whose names begin with `names`, without those in `but`.
    """

    family: str
    names: str
    but: tuple[str, ...]
    fp16: float
    bf16: float | None
    tf32: float | None
    fp8: float | None
    sources: tuple[str, ...]

    def holds(self, model: GpuModel) -> bool:
        """Whether a GPU model is of this line."""
        return self.family == model.family and model.name.startswith(self.names) and model.name not in self.but


@table("advice/optimizers.csv", "name")
@record
class Optimizer:
    """Bytes of its state for a parameter: in full precision, and in mixed precision with the fp32 copy of weights."""

    name: str
    full_bytes: int
    mixed_bytes: int
    sources: tuple[str, ...]


@table("advice/rules.csv", "name")
@record
class Rule:
    """One figure of experience, and what it says."""

    name: str
    value: float
    text: str
    sources: tuple[str, ...]


@table("advice/power_plugs.csv", "gpu")
@record
class PowerPlug:
    """How a board is fed next to the slot. A board without a row is unknown: makers differ."""

    gpu: str
    plug: str
    sources: tuple[str, ...]


@table("advice/restricted_sales.csv", "gpu")
@record
class RestrictedSale:
    """A card that most people cannot buy, and why."""

    gpu: str
    text: str
    sources: tuple[str, ...]


@table("advice/build_sizes.csv", "cards")
@record
class BuildSize:
    """What a machine with this many cards is advised to have."""

    cards: int
    supply_watts: int
    memory_gb: int
    cores: int | None
    sources: tuple[str, ...]


@table("advice/personas.csv", "name")
@record
class Persona:
    """Someone's usual work: the options that stand for it."""

    name: str
    title: str
    network: str
    parameters: int | None
    task: str
    precision: str
    batch: int
    memory_gb: float
    form: str
    line: str  # of cards that such a buyer looks at, empty for all
    text: str
    sources: tuple[str, ...]


@table("advice/cloud_instances.csv", "provider", "instance")
@record
class CloudInstance:
    """An instance type that carries GPUs. One without a row is unknown."""

    provider: str
    instance: str
    gpu: str
    gpus: int
    as_of: str
    sources: tuple[str, ...]


@cache
def rules() -> dict[str, Rule]:
    """Every rule of experience by its name."""
    return {row.name: row for row in read(Rule)}
