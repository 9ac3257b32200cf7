"""What is to be computed, in the words of the options: a network, a transformer of a size, or just so much memory."""

from __future__ import annotations

from math import isfinite, log
from typing import TypeVar

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.base.errors import RequestError
from envkit.tables.advice import Network, Optimizer, Persona, Precision, Transformer
from envkit.tables.loader import read

Row = TypeVar("Row")
TASKS = ("train", "finetune", "lora", "infer")
CHECKPOINTING = ("none", "selective", "full")
_SIZE = regex(r"(\d{1,15}(?:\.\d{1,6})?)\s*([kmbt]?)")
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9, "t": 10**12}
_MOST_PARAMETERS = 10**14
_LONG, _SHORT = 2048, 512  # tokens of a sequence: of large models, and of those below a billion parameters
_LARGE = 10**9
_FEWEST_BARE = 10**4  # a smaller number without a unit was meant with one: 7 is 7B
_GUESS = "resnet-50"
_OF_TRANSFORMERS = {"layers": "layers", "hidden": "hidden", "heads": "heads", "kv-heads": "kv_heads",
                    "vocab": "vocabulary", "sequence": "sequence", "checkpointing": "checkpointing"}  # fmt: skip
_LAYER = 12  # parameters of a layer next to the square of its width: four matrices of attention, two of four times that
_ALIKE = 3  # times as many or as few parameters as the usual layer can have


@record
class WorkloadWords:
    """The options that describe a workload, as they were given."""

    network: str | None = None
    parameters: str | None = None
    active: str | None = None
    layers: int | None = None
    hidden: int | None = None
    heads: int | None = None
    kv_heads: int | None = None
    vocabulary: int | None = None
    task: str | None = None
    precision: str | None = None
    optimizer: str | None = None
    batch: int | None = None
    sequence: int | None = None
    checkpointing: str | None = None
    memory: float | None = None


@record
class Shape:
    """The inside of a transformer; one that is taken from another's by its size has parts of a layer."""

    layers: float
    hidden: float
    heads: int
    kv_share: float  # of the heads
    vocabulary: int
    looked_up: int = 0  # parameters of a table that is only looked up, no product


@record
class Workload:
    """One workload with everything that was left open filled in, and what was assumed for it."""

    title: str
    task: str
    precision: Precision
    optimizer: Optimizer | None
    batch: int
    parameters: int = 0
    active: int = 0  # parameters that a token uses: of a mixture of experts, not all
    sequence: int = 0
    checkpointing: str = "none"
    network: Network | None = None
    shape: Shape | None = None
    memory_gb: float | None = None  # the least that a card shall have
    tf32: bool = False  # fp32 whose convolutions use TF32 where the card has it
    assumed: tuple[str, ...] = ()

    @property
    def computes_in(self) -> str:
        """The precision of most of its operations, on a card that has units for it."""
        return "tf32" if self.tf32 else self.precision.computes_in

    @property
    def looked_up(self) -> int:
        """The parameters of which a token reads one row and computes nothing."""
        return min(self.shape.looked_up, self.active // 2) if self.shape else 0

    @property
    def trains(self) -> bool:
        """Whether gradients are computed."""
        return self.task != "infer"


def workload_of(words: WorkloadWords, persona: Persona | None = None) -> Workload:
    """The workload that the options mean. Raises RequestError for a word or a number that cannot be."""
    if words.network and words.parameters:
        raise RequestError("--network and --parameters describe two different workloads.", "Use only one of them.")
    if words.active and not words.parameters:
        raise RequestError("--active needs --parameters: memory has to hold all parameters.", "Add --parameters 30B.")
    parameters = words.parameters or (str(persona.parameters) if persona and persona.parameters else None)
    network = words.network or (persona.network if persona and not parameters else None)
    if words.parameters is not None or (parameters and not words.network):
        return _transformer(words, _parameter_count(parameters or ""), persona)
    if network is None and words.memory is not None:
        return _by_memory(words)
    return _network(words, network, persona)


def named(kind: type[Row], option: str, word: str) -> Row:
    """The row of this name in the small table of a class. Raises RequestError with the nearest names."""
    rows = {getattr(row, "name", ""): row for row in read(kind)}
    found = rows.get(word.lower())
    if found is None:
        error = RequestError.unknown_value(option, word, rows)
        raise RequestError(error.message, f"{error.hint} Known: {', '.join(rows)}.".strip())
    return found


def _network(words: WorkloadWords, name: str | None, persona: Persona | None) -> Workload:
    for option, field in _OF_TRANSFORMERS.items():
        if getattr(words, field) is not None:
            raise RequestError(f"--{option} describes a transformer.", "Add --parameters, such as 7B.")
    network = named(Network, "--network", name or _GUESS)
    assumed = [] if name else [f"no workload was given, so {network.title} is used"]
    task = words.task or (persona.task if persona else "train")
    if task == "lora":
        raise RequestError(f"--task lora: {network.title} is not a transformer.", "Pass --parameters, such as 7B.")
    precision = _precision(words, persona, task, "fp32")
    tf32 = words.precision is None and precision.name == "fp32" and network.convolves
    if tf32:
        assumed.append(
            "convolutions use TF32 on cards that support it, as PyTorch does by default (turn off with "
            "--precision fp32)"
        )
    return Workload(
        network.title,
        task,
        precision,
        _optimizer(words, task, "momentum"),
        words.batch or (persona.batch if persona and persona.batch else network.batch),
        network.parameters,
        network.parameters,
        network.tokens or 0,
        "none",
        network,
        None,
        _least(words, persona),
        tf32,
        tuple(assumed),
    )


def _transformer(words: WorkloadWords, parameters: int, persona: Persona | None) -> Workload:
    task = words.task or (persona.task if persona else "finetune")
    active = _parameter_count(words.active, "--active") if words.active else parameters
    if active > parameters:
        raise RequestError(
            f"--active: {words.active} is more than all parameters.", "Specify the parameters that one token uses."
        )
    shape, told = _shape(words, parameters)
    sequence = words.sequence or (_LONG if parameters >= _LARGE else _SHORT)
    checkpointing = words.checkpointing or {"lora": "full", "infer": "none"}.get(task, "selective")
    precision = _precision(words, persona, task, "fp16")
    assumed = [told] if told else []
    if words.sequence is None:
        assumed.append(f"sequences of {sequence} tokens (--sequence)")
    if words.checkpointing is None and task != "infer":
        assumed.append(_CHECKPOINTING_TOLD[checkpointing])
    return Workload(
        f"{_size_told(parameters)} parameters" + (f" ({_size_told(active)} active)" if active < parameters else ""),
        task,
        precision,
        _optimizer(words, task, "adam"),
        words.batch or (persona.batch if persona else 1),
        parameters,
        active,
        sequence,
        checkpointing,
        None,
        shape,
        _least(words, persona),
        assumed=tuple(assumed),
    )


_CHECKPOINTING_TOLD = {
    "selective": "attention does not store its scores, as in FlashAttention (with --checkpointing none, it does)",
    "full": "full gradient checkpointing, as is usual for LoRA (--checkpointing)",
}


def _by_memory(words: WorkloadWords) -> Workload:
    precision = named(Precision, "--precision", words.precision or "fp32")
    task = words.task or "train"
    return Workload("any workload", task, precision, None, 1, memory_gb=_least(words, None))


def _optimizer(words: WorkloadWords, task: str, usual: str) -> Optimizer | None:
    if task == "infer" and words.optimizer:
        raise RequestError("--optimizer: inference has none.", "Omit it, or use a different --task.")
    return None if task == "infer" else named(Optimizer, "--optimizer", words.optimizer or usual)


def _least(words: WorkloadWords, persona: Persona | None) -> float | None:
    if words.memory is None:
        return persona.memory_gb if persona else None
    if not isfinite(words.memory) or words.memory <= 0:
        raise RequestError(f"--memory: {words.memory:g} is not a valid size.", "Specify gigabytes, such as 24.")
    return words.memory


def _parameter_count(text: str, option: str = "--parameters") -> int:
    match = _SIZE.fullmatch(text.strip().lower())
    count = round(float(match[1]) * _UNITS[match[2]]) if match else 0
    if not 0 < count <= _MOST_PARAMETERS:
        raise RequestError(
            f"{option}: {text!r} is not a valid number of parameters.", "Write it as 7B, 350M or 124000000."
        )
    if count < _FEWEST_BARE and match and not match[2]:
        raise RequestError(f"{option}: {text} parameters are too few for a transformer.", f"{text}B or {text}M?")
    return count


def _precision(words: WorkloadWords, persona: Persona | None, task: str, usual: str) -> Precision:
    """The precision that is asked for, otherwise the usual one. Weights that are only stored in it cannot be
    trained."""
    found = named(Precision, "--precision", words.precision or (persona.precision if persona else usual))
    if task in ("train", "finetune") and found.computes_in != found.name:
        raise RequestError(
            f"--precision {found.name}: weights stored that way cannot be trained.", "Use fp16 or --task lora."
        )
    return found


def _size_told(parameters: int) -> str:
    for unit in "tbmk":
        if parameters >= _UNITS[unit]:
            return f"{parameters / _UNITS[unit]:.3g}{unit.upper()}"
    return str(parameters)


def _shape(words: WorkloadWords, parameters: int) -> tuple[Shape, str]:
    """The shape that was given; what is open comes from the published model nearest in size, and is said."""
    alike = [row for row in read(Transformer) if (row.active is not None) is (words.active is not None)]
    near = min(alike, key=lambda row: abs(log(row.parameters / parameters)))
    grown = (parameters / near.parameters) ** (1 / 3)  # parameters grow as layers times width squared
    heads = words.heads or near.heads  # not grown: models have even numbers of them, which cards divide
    if words.kv_heads and words.kv_heads > heads:
        raise RequestError(f"--kv-heads: {words.kv_heads} is more than the {heads} heads.", "Give fewer.")
    told = _against(words, parameters, near.vocabulary)
    hidden, vocabulary = words.hidden or near.hidden * grown, words.vocabulary or near.vocabulary
    shape = Shape(
        words.layers or near.layers * grown,
        hidden,
        heads,
        words.kv_heads / heads if words.kv_heads else (1.0 if words.heads else _kv_share(near)),
        vocabulary,
        0 if near.tied else round(vocabulary * hidden),
    )
    whole = words.layers and words.hidden and words.heads
    like = "" if whole else f"the shape of {near.title} (--layers, --hidden, --heads)"
    return shape, "; ".join(filter(None, (like, told)))


def _kv_share(row: Transformer) -> float:
    """What a layer keeps of a token's keys, next to its width."""
    return row.kv_width / row.hidden if row.kv_width else row.kv_heads / row.heads


def _against(words: WorkloadWords, parameters: int, vocabulary: int) -> str:
    """What the parameters are that the given layers do not have. Raises RequestError where the layers have far more."""
    if not words.layers or not words.hidden or words.active:
        return ""
    usual = _LAYER * words.layers * words.hidden**2 + (words.vocabulary or vocabulary) * words.hidden
    told = f"{words.layers} layers of width {words.hidden} usually have about {_size_told(usual)} parameters"
    if usual > _ALIKE * parameters:
        raise RequestError(f"--layers, --hidden: {told}, not {_size_told(parameters)}.", "Check the three numbers.")
    return f"{told}, the rest are experts (--active)" if parameters > _ALIKE * usual else ""
