"""A GPU that Ollama's builds leave out: llama.cpp, which it runs, compiled for that GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.base.versions import ComputeCapability, Version
from envkit.checks.cuda.ptx import reported_by
from envkit.checks.engine.ask import install_cuda
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import managed_by
from envkit.checks.engine.remedies import on_windows, steps
from envkit.model import Environment
from envkit.tables.codes import limit

if TYPE_CHECKING:
    from envkit.tables import Matrix


def of_old_gpu(environment: Environment, matrix: Matrix, capabilities: str) -> Remedy | None:
    """The remedy where Ollama's builds have no code for one of these GPUs; None elsewhere."""
    from envkit.compat.gpu import target_span

    oldest = limit("ollama-oldest-gpu")
    told = (Version.find(each) for each in capabilities.split(";"))
    owns = [own for own in told if own is not None and own < oldest]
    if not owns or not managed_by(environment, "ollama"):
        return None
    own = min(owns)
    why = (
        f"Ollama's CUDA builds start at compute capability {oldest.release(2)}, and the GPU with {own} gets no code "
        "from any release of it: it runs on the CPU, or on Vulkan (OLLAMA_VULKAN=1) where its driver has that."
    )
    driver = environment.driver.driver_cuda_version.value or reported_by(environment, matrix)
    last = target_span(ComputeCapability.parse(str(own.release(2))), matrix)[1]
    cuda = min((each for each in (driver, last) if each is not None), default=None)
    if cuda is None or cuda < limit("llama-source-first-cuda") or on_windows(environment):
        return Remedy(why)
    return Remedy(
        f"{why} llama.cpp, which Ollama contains, can be compiled for it: CUDA {cuda.release(2)} is the newest toolkit "
        "that serves both this GPU and its driver. The build takes a GCC that this CUDA accepts. Then "
        "llama.cpp/build/bin/llama-server -m MODEL.gguf -ngl 99 serves a model, and its log names the GPU.",
        (
            *install_cuda(environment, cuda.release(2)),
            *steps(environment, "llama-source", number=str(own.release(2)).replace(".", "")),
        ),
    )
