"""A model that the GPU has too little memory for: its weights alone, before it computes anything."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.checks.engine.command import fixed
from envkit.checks.engine.evidence import known, passed
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import ONLY_TOLD, Outcome, Remedy, ok, skip
from envkit.checks.engine.messages import message_evidence, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.gpu.gpus import seen_gpus
from envkit.model import Environment, Message

if TYPE_CHECKING:
    from envkit.tables import Matrix

_ID = "model-larger-than-gpu"
_FULL = 0.8  # of the GPU's memory: what the program itself holds where its model does not fit
_MIB = 1024
_NUMBER = regex(r"[0-9]{1,7}(?:\.[0-9]{1,2})?")
_SMALLER = (
    "Use the model in fewer bits: 16 bits take about 2 GB for each billion parameters, 8 bits 1 GB, and 4 bits a "
    "little over 0.5 GB, and the program needs one to several GB more. Most models exist in quantized form (AWQ, GPTQ, "
    "GGUF, or bitsandbytes when they are loaded). Otherwise, choose a smaller model, or let a part of it stay in the "
    "machine's memory, which is much slower (llama.cpp: a lower -ngl; transformers: device_map='auto'). nvidia-smi "
    "shows whether another program takes memory, too."
)
_SPREAD = (
    " Or spread it over the GPUs (vLLM: --tensor-parallel-size, TGI: --num-shard, transformers: device_map='auto')."
)


def _fit(environment: Environment, matrix: Matrix) -> Remedy:
    several = len(seen_gpus(environment, matrix)) > 1
    return Remedy(f"{_SMALLER}{_SPREAD if several else ''}", (fixed("nvidia-smi"),))


_LARGER = Fault(
    _ID,
    "The model does not fit in the GPU's memory",
    impact="The program stops while it loads the model; the driver, CUDA, and the framework work.",
    remedy=_fit,
)


@check(
    _LARGER,
    layer=Layer.HEALTH,
    rank=54,
    fix="Load the model in fewer bits, spread it over several GPUs, or choose a smaller one.",
    references=threads("huggingface/text-generation-inference#1354", "AutoGPTQ/AutoGPTQ#291"),
)
def model_larger_than_gpu(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The weights of a model fit in the memory of the GPUs that it is loaded on.

    A program that runs out of memory while it computes usually needs a smaller batch; one that runs out of it while it
    loads the model, and holds most of the GPU's memory itself, needs another model or another GPU.
    """
    told = [message for message in seen(environment, _ID) if _too_large(environment, matrix, message)]
    if told:
        yield _LARGER.found(message_evidence(environment, told))
    elif passed(environment, "kernel"):
        yield ok("a framework computed on the GPU", evidence=[known(environment, "measurements", "kernel")])
    else:
        yield skip(ONLY_TOLD)


def _too_large(environment: Environment, matrix: Matrix, message: Message) -> bool:
    """Whether the program itself fills the GPU, or asks for more than any GPU here has."""
    own, total, wanted = (_number(message.values.get(name, "")) for name in ("own", "total", "wanted"))
    if own is not None and total is not None:
        return own >= _FULL * total
    sizes = [model.memory_gb for gpu in seen_gpus(environment, matrix) for model in gpu.models if model.memory_gb]
    return bool(sizes) and wanted is not None and wanted > _MIB * max(sizes)


def _number(text: str) -> float | None:
    """The number that a message names; None for anything else, as the words of a facts file may be anything."""
    return float(text) if _NUMBER.fullmatch(text) else None
