"""Asks NVML through the real `pynvml`, and prints what it says as lines of JSON, each as soon as it is known:

    {"call": "nvmlInit"}
    {"library": "/usr/lib/…/libnvidia-ml.so.535.247.01", "init": {"code": 0, "name": "NVML_SUCCESS", …}}
    {"call": "nvmlDeviceGetCount"}
    {"driver_version": "535.247.01", "driver_cuda_version": 12020, "count": 8}
    {"call": 0, "waiting": 7}
    {"device": {"index": 0, "name": "NVIDIA A100-SXM4-80GB", "pci_address": "00000000:65:00.0", …}}

A line with `call` is before what may never return: a call, or everything about one GPU, behind which others are
`waiting`. Arguments are the indexes of GPUs to leave out: an earlier child asked them.

The keys of a device are the fields of `envkit.model.Gpu`. A key is left out where NVML says "not supported"; `error`
names the failure of a device that could not be read at all, and `failed` those of single calls.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from envkit.host.child_output import loaded_file, print_lines
from envkit.host.nvml_questions import BROKEN, QUESTIONS, newest

Module: TypeAlias = Any  # pynvml, which has no types
Handle: TypeAlias = Any  # an error that pynvml made
_QUIET = {1, 3, 13}  # uninitialised feature, not supported, function not in this library: nothing to report


def main() -> None:
    """Print the answers."""
    print_lines(_lines(frozenset(int(word) for word in sys.argv[2:])))


def _lines(left_out: frozenset[int]) -> Iterator[dict[str, Any]]:
    import pynvml

    yield {"call": "nvmlInit"}
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        yield {"library": loaded_file("libnvidia-ml.so"), "init": _result(pynvml, error, "nvmlInit")}
        return
    yield {
        "library": loaded_file("libnvidia-ml.so"),
        "init": {"code": 0, "name": "NVML_SUCCESS", "call": "nvmlInit"},
    }
    yield {"call": "nvmlDeviceGetCount"}
    versions = _versions(pynvml)
    try:
        count = pynvml.nvmlDeviceGetCount()
    except pynvml.NVMLError as error:
        yield {**versions, "init": _result(pynvml, error, "nvmlDeviceGetCount")}
        return
    yield {**versions, "count": count}
    wanted = [index for index in range(count) if index not in left_out]
    for position, index in enumerate(wanted, 1):
        yield {"call": index, "waiting": len(wanted) - position}
        yield {"device": _device(pynvml, index)}


def _versions(pynvml: Module) -> dict[str, Any]:
    """The driver's version and the highest CUDA that it supports, where NVML tells."""
    questions = {
        "driver_version": ("nvmlSystemGetDriverVersion",),
        "driver_cuda_version": ("nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion"),
    }
    answer: dict[str, Any] = {}
    for key, names in questions.items():
        try:
            answer[key] = newest(pynvml, names)
        except (pynvml.NVMLError, *BROKEN):
            continue
    return answer


def _result(pynvml: Module, error: Handle, call: str) -> dict[str, Any]:
    return {"code": error.value, "name": _error_name(pynvml, error.value), "call": call, "text": str(error)}


def _error_name(pynvml: Module, code: int) -> str:
    names = (name for name in dir(pynvml) if name.startswith("NVML_ERROR_") and getattr(pynvml, name) == code)
    return next(names, f"NVML_ERROR_{code}")


def _device(pynvml: Module, index: int) -> dict[str, Any]:
    answer: dict[str, Any] = {"index": index, "name": ""}
    try:
        handle = pynvml.nvmlDeviceGetHandleByIndex(index)
    except pynvml.NVMLError as error:
        return {**answer, "error": _error_name(pynvml, error.value)}
    failed: dict[str, str] = {}
    for key, ask in QUESTIONS.items():
        try:
            value = ask(pynvml, handle)
        except pynvml.NVMLError as error:
            if error.value not in _QUIET:
                failed[key] = _error_name(pynvml, error.value)
            if key == "name":
                answer["error"] = _error_name(pynvml, error.value)
            continue
        except BROKEN as error:  # costs this answer alone: a name that the binding lacks, text that is none
            failed[key] = f"{type(error).__name__}: {error}"
            continue
        if isinstance(value, Mapping):
            answer |= value
        elif value is not None:
            answer[key] = value
    return {**answer, "failed": failed} if failed else answer
