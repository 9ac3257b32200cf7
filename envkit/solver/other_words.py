"""Words that people copy from wheels, indexes and drivers, for what the options say in others."""

from __future__ import annotations

from envkit._startup.regex import regex
from envkit.base.errors import RequestError
from envkit.base.versions import ComputeCapability

PYTORCH_FOR_CPU = "https://download.pytorch.org/whl/cpu"
_CUDA = regex(r"(?:cu|cuda)[-_]?(\d{1,2}\.\d{1,2}|\d{2,3})")
_CPU = regex(r"cpu(?:only)?|none|no")
_OTHER_VENDOR = regex(r"(?:rocm|hip|xpu|mps|metal)[\d.]*")
_FREE_THREADED = regex(r"(\d+\.\d+)t")


def cuda_words(text: str) -> str:
    """The version in `cu118`, `cu92`, `cu12`, `cu11.8` or `cuda118`; other words as they are.

    Raises RequestError for `cpu` and `rocm`.
    """
    word = text.strip().lower()
    found = _CUDA.fullmatch(word)
    if found is not None:
        digits = found[1]
        whole = "." in digits or (len(digits) == 2 and digits[0] == "1")  # cu12 is a line, cu92 was 9.2
        return digits if whole else f"{digits[:-1]}.{digits[-1]}"
    if _CPU.fullmatch(word):
        raise RequestError(
            f"--cuda: {text!r} asks for a CPU build, but envkit plans for GPUs.",
            f"Install the package from the default index or, for PyTorch, from {PYTORCH_FOR_CPU}.",
        )
    if _OTHER_VENDOR.fullmatch(word):
        raise RequestError(
            f"--cuda: {text!r} is not for NVIDIA GPUs, and envkit knows builds for CUDA only.",
            "See the vendor's documentation for such builds.",
        )
    return text


def python_words(text: str) -> str:
    """A Python version as it is. Raises RequestError for a free-threaded one such as `3.13t`."""
    found = _FREE_THREADED.fullmatch(text.strip())
    if found is not None:
        from envkit.tables.loader import read
        from envkit.tables.names import FreeThreaded

        rows = [row for row in read(FreeThreaded) if row.python == text.strip()]
        known = "; ".join(f"{row.framework} {row.first} to {row.last or 'the newest'}" for row in rows)
        told = f"the default index has wheels for it for {known}" if known else "no wheels for it are known"
        raise RequestError(
            f"--python: envkit does not plan for the free-threaded Python {text}; {told}.",
            f"Install with pip yourself, or use the regular build: --python {found[1]}",
        )
    return text


def refuse_target(capability: ComputeCapability, text: str) -> None:
    """Raises RequestError for a target such as sm_86a, which no compiler has."""
    from envkit.tables.codes import limit

    if capability.specific:
        first = limit(f"first-{capability.specific}-target")
        if (capability.major, capability.minor) < (first.major, first.minor):
            plain = f"{capability.major}.{capability.minor}"
            raise RequestError(
                f"--gpu: there is no target {text}: those with {capability.specific!r} begin with {first}.",
                f"Use --gpu {plain}",
            )
