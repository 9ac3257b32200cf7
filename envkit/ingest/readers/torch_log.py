"""What PyTorch, Paddle, vLLM, JAX and CuPy say of the GPU, the driver's CUDA and their own build in warnings and logs.

NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch installation.
The current PyTorch install supports CUDA capabilities sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.base.versions import ComputeCapability, Version
from envkit.ingest.clues import Clue, Fact, Framework, GpuClue, GpusIncomplete, Listing, Package, reader
from envkit.ingest.text import Text

_INCOMPATIBLE = regex(
    r"(?P<name>(?:NVIDIA|GeForce|Tesla|Quadro|TITAN|Orin)[\w ./()-]{0,60}?) with CUDA capability sm_"
    r"(?P<sm>\d{2,3})\s{1,4}is not compatible with the current PyTorch"
)
_SUPPORTS = regex(
    r"PyTorch install supports CUDA capabilities (?P<names>(?:(?:sm|compute)_\d{2,3}[af]?\s{0,8}){1,20})\."
)
_OLD_GPU = regex(
    r"Found GPU(?P<index>\d{1,2}) (?P<name>[^\n]{2,60}?) which is of (?:compute capability \(CC\)"
    r"|cuda capability) (?P<capability>\d{1,2}\.\d)"
)
_BUILT = regex(
    r"The following list shows the CCs this version of PyTorch was built for[^\n]{0,160}:\s{1,8}(?P<names>"
    r"(?:- \d{1,2}\.\d[^\n]{0,100}\n\s{0,8}){1,20})Please "
)
_TOO_OLD = regex(r"driver on your system is too old \(found version (?P<found>\d{4,5})\)")
_JAX = regex(r"Found CUDA version (?P<found>\d{5}), but JAX was built against version (?P<built>\d{5})")
_PADDLE = regex(
    r"device: (?P<index>\d{1,2}), (?:GPU Compute Capability: (?P<capability>\d{1,2}\.\d)"
    r"|CUDA Capability: (?P<old>\d{2,3})), Driver API Version: "
    r"(?P<driver>\d{1,9}\.\d{1,9}), Runtime API Version: (?P<runtime>\d{1,9}\.\d{1,9})"
)
_PADDLE_ARCH = regex(
    r"PaddlePaddle package was compiled for (?P<built>(?:\d{2,3} ){1,12}\d{2,3}"
    r"|\d{2,3}), but your current GPU is (?P<sm>\d{2,3})"
)
_VLLM = regex(
    r"vLLM API server version (?P<version>\d{1,4}\.\d{1,4}\.\d{1,4})"
    r"|Initializing a V\d LLM engine \(v(?P<engine>\d{1,4}\.\d{1,4}\.\d{1,4})\)"
)
_BARE = regex(
    r"^(?P<key>torch|PyTorch|torch version|PyTorch version)[ ]{0,2}[:=][ ]{0,3}"
    r"(?P<version>\d{1,4}\.\d{1,4}\.\d{1,4}(?:\+"
    r"(?:cu\d{2,3}|cpu))?)\b",
    re.MULTILINE,
)


@reader("framework log")
def read(text: Text) -> Iterator[Clue]:
    """GPUs with their compute capability, architecture lists, versions."""
    for match in text.matches(_INCOMPATIBLE, "with CUDA capability sm_", lines=5):
        yield from _gpu(0, match["name"], ComputeCapability.parse(match["sm"]), match.start())
    for match in text.matches(_SUPPORTS, "supports CUDA capabilities", lines=20):
        yield _whole_list(match["names"], match.start())
    for match in text.matches(_OLD_GPU, "which is of"):
        yield from _gpu(int(match["index"]), match["name"], ComputeCapability.parse(match["capability"]), match.start())
    for match in text.matches(_BUILT, "this version of PyTorch was built for", lines=24):
        yield _arch_list(re.findall(r"- (\d{1,2}\.\d)", match["names"]), match.start())
    yield from _driver_cuda(text)
    yield from _paddle(text)
    for match in text.matches(_VLLM, "vLLM API server version", "LLM engine (v"):
        version = match["version"] or match["engine"]
        yield Package("vllm", version, match.start())
    for match in text.matches(_BARE, "torch", "PyTorch"):
        yield Package("torch", match["version"], match.start())


def _gpu(index: int, name: str, capability: ComputeCapability, offset: int) -> Iterator[Clue]:
    yield GpuClue(Listing.FRAMEWORK, index, {"name": name.strip(), "compute_capability": capability}, offset)
    yield GpusIncomplete(offset)


def _arch_list(names: list[str], offset: int) -> Clue:
    return Framework("pytorch", {"sm_arch_list": _capabilities(names)}, offset)


def _whole_list(names: str, offset: int) -> Clue:
    """All that the build holds code for: PyTorch lists its PTX (`compute_70`) beside its binaries, if it has any."""
    binary, ptx = (re.findall(rf"{kind}_(\d{{2,3}}[af]?)", names) for kind in ("sm", "compute"))
    values = {"sm_arch_list": _capabilities(binary), "ptx_arch_list": _capabilities(ptx)}
    return Framework("pytorch", values, offset)


def _capabilities(names: list[str]) -> tuple[ComputeCapability, ...]:
    return tuple(ComputeCapability.parse(name) for name in names)


def _driver_cuda(text: Text) -> Iterator[Clue]:
    """12040 is CUDA 12.4; 0 would mean that there is no driver and is left out."""
    for pattern, needle in ((_TOO_OLD, "found version"), (_JAX, "Found CUDA version")):
        for match in text.matches(pattern, needle):
            number = int(match["found"])
            version = Version.of(number // 1000, number % 1000 // 10)
            yield Fact("driver.driver_cuda_version", version, match.start())
    for match in text.matches(_JAX, "JAX was built against"):
        number = int(match["built"])
        built = Version.of(number // 1000, number % 1000 // 10)
        yield Framework("jax", {"cuda": built, "cuda_known": True}, match.start())


def _paddle(text: Text) -> Iterator[Clue]:
    for match in text.matches(_PADDLE, "GPU Compute Capability", "CUDA Capability: "):
        capability = ComputeCapability.parse(match["capability"] or match["old"])
        yield from _gpu(int(match["index"]), "", capability, match.start())
        yield Fact("driver.driver_cuda_version", Version.parse(match["driver"]), match.start())
        values = {"cuda": Version.parse(match["runtime"]), "cuda_known": True}
        yield Framework("paddlepaddle", values, match.start())
    for match in text.matches(_PADDLE_ARCH, "PaddlePaddle package was compiled for"):
        built = tuple(ComputeCapability.parse(name) for name in match["built"].split())
        yield Framework("paddlepaddle", {"sm_arch_list": built}, match.start())
        yield from _gpu(0, "", ComputeCapability.parse(match["sm"]), match.start())
