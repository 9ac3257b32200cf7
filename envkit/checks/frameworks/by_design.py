"""What a program refuses to run on an older GPU by its own design: no other build of it brings that."""

from __future__ import annotations

from collections.abc import Sequence

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.checks.engine.findings import Remedy
from envkit.model import Message

_SAY_LESS = {"capability-given", "needs-capability"}  # the same demand, without what it is made for
_OTHER_FORMAT = regex(r"(?!fp8)\w")  # a quantization or number type that is not FP8
_NO_BUILD = "The program compares the GPU's compute capability with what its code is written for, and stops."


@record
class Refusal:
    """What is refused, told by its messages, and what runs on the GPU in its place."""

    title: str
    remedy: Remedy
    variants: tuple[str, ...]
    impact: str = _NO_BUILD


_REFUSALS = (
    Refusal(
        "FlashAttention does not support a GPU this old",
        Remedy(
            "FlashAttention 2 is written for Ampere and newer: no build of it, and no other "
            "CUDA, runs it on this GPU. Load the model without it: transformers with attn_implementation='sdpa' (or "
            "'eager', for models that know no other), which PyTorch runs on every GPU. In vLLM and SGLang, remove the "
            "option or variable that asks for FlashAttention: they choose another backend on their own. "
            "text-generation-inference runs few models without it (USE_FLASH_ATTENTION=false): take vLLM or llama.cpp "
            "on this card. Use float16, since bfloat16 needs Ampere, too."
        ),
        ("flash-attn", "told-flash-refuses", "told-ampere", "tgi-flash", "tgi"),
    ),
    Refusal(
        "FlashAttention 3 does not support a GPU this old",
        Remedy(
            "FlashAttention 3 is written for Hopper. On other GPUs, use FlashAttention 2: "
            "install flash-attn from the package index, and choose it in the program (for vLLM, remove the variable "
            "VLLM_FLASH_ATTN_VERSION)."
        ),
        ("flashattention-three",),
    ),
    Refusal(
        "The model's number format needs a newer GPU",
        Remedy(
            "FP8 needs Ada or Hopper in hardware; vLLM can use FP8 weights on Ampere, and in newer releases on Turing. "
            "No driver, CUDA, or build changes what this GPU has. Take another variant of the model: FP16, AWQ or GPTQ "
            "(4 bits, from Turing on), INT8, or GGUF for llama.cpp, and remove options that ask for FP8, such as "
            "--quantization fp8 or --kv-cache-dtype fp8."
        ),
        ("quantization", "quantization-capability", "triton-type", "scaled-mm", "te-fp8", "fp8-models"),
    ),
)


def refusal_of(messages: Sequence[Message]) -> Refusal | None:
    """The refusal that all of these messages are of; None where one of them is of something else."""
    if any(message.signature.endswith("/told-ampere") and "flash" not in message.text.lower() for message in messages):
        return None
    if any(_OTHER_FORMAT.match(message.values.get(value, "")) for message in messages for value in ("method", "type")):
        return None
    names = {message.signature.partition("/")[2] for message in messages} - _SAY_LESS
    return next((refusal for refusal in _REFUSALS if names and names <= set(refusal.variants)), None)
