"""A build of CUDA code that nobody told what to compile for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.checks.cuda.toolkit import build_nvcc
from envkit.checks.engine.command import fixed
from envkit.checks.engine.evidence import known
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Outcome, ok, skip
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.frameworks.installs import gpu_present
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix

_NO_TARGET = Fault(
    "cuda-architecture-not-chosen",
    "The build was not given a GPU architecture to compile for",
    impact="The build fails during configuration or at the first CUDA file. The toolkit itself may be fine.",
    remedy=(
        "Pass the GPU's compute capability without the dot, for example 86: a build without a GPU (docker build, a "
        "login node) cannot detect it. Use a fresh build directory. If CMake cannot identify the CUDA compiler, look "
        "at the first error in its log."
    ),
    steps=(
        fixed("nvidia-smi --query-gpu=compute_cap --format=csv,noheader"),
        fixed("cmake -B build -DCMAKE_CUDA_ARCHITECTURES=NN"),
    ),
)


@check(
    _NO_TARGET,
    layer=Layer.TOOLKIT,
    rank=33,
    references=threads("ggml-org/llama.cpp#18430", "NVlabs/instant-ngp#1044", "NVlabs/instant-ngp#1320"),
)
def cuda_architecture_not_chosen(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """A build that detects the GPU's architecture runs on a machine with a GPU.

    Without a GPU, as in docker build, CMake passes on an empty or invalid architecture, and nvcc stops.
    """
    if reported := _NO_TARGET.reported(environment):
        yield reported
    elif build_nvcc(environment) and gpu_present(environment):
        yield ok("builds can detect a GPU", evidence=[known(environment, "nvcc")])
    else:
        yield skip("no build for a GPU on this machine was seen")
