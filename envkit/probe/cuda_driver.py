"""What libcuda answers: initialization, the number of devices with and without CUDA_VISIBLE_DEVICES."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from envkit.base.errors import SourceError
from envkit.base.versions import Version
from envkit.host.base import Host
from envkit.model import CallResult, Observed, Problem, found, missing
from envkit.model.facts_json import part_from_json
from envkit.probe.nvml import cuda_version
from envkit.probe.text import Facts, derived

PATHS = ("driver.cuda_init", "driver.cuda_device_count", "driver.cuda_visible_count")


def probe(host: Host, limit_s: float) -> Facts:
    """`driver.cuda_init`, `driver.cuda_device_count`, `driver.cuda_visible_count`, and libcuda's CUDA version."""
    answer = host.query("cuda", limit_s)
    if answer.value is None:
        problem: Observed[None] = derived(answer, lambda value: None)
        return dict.fromkeys((*PATHS, "cuda"), problem)
    if "load_error" in answer.value:
        absent: Observed[None] = missing(Problem.ABSENT, "libcuda", str(answer.value["load_error"]))
        return dict.fromkeys((*PATHS, "cuda"), absent)
    library = str(answer.value.get("library") or "libcuda")
    visible = answer.value.get("visible", answer.value)
    return {
        "driver.cuda_init": _init(answer.value, library),
        "driver.cuda_device_count": _count(answer.value, library),
        "driver.cuda_visible_count": _count(visible if isinstance(visible, Mapping) else {}, library),
        "cuda": _version(answer.value, library),
    }


def _init(answer: Mapping[str, Any], library: str) -> Observed[CallResult]:
    try:
        return found(part_from_json(CallResult, answer.get("init"), "cuda.init"), library)
    except SourceError as error:
        return missing(Problem.UNPARSABLE, library, error.message)


def _count(answer: Mapping[str, Any], library: str) -> Observed[int]:
    """The number of devices; error 100 is libcuda's way to say none."""
    count = answer.get("device_count")
    if isinstance(count, int):
        return found(count, library)
    first = answer.get("init")
    code = first.get("code") if isinstance(first, Mapping) else None
    return found(0, library) if code == 100 else missing(Problem.UNPARSABLE, library, f"cuInit answered {code}")


def _version(answer: Mapping[str, Any], library: str) -> Observed[Version]:
    version = cuda_version(answer.get("driver_cuda_version"))
    return found(version, library) if version else missing(Problem.UNPARSABLE, library, "no CUDA version")
