"""A build of CUDA code that nobody told what to compile for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.checks.cuda.toolkit import build_nvcc
from envkit.checks.engine.command import CAPABILITY_LIST, TARGETS, Command, export, fixed
from envkit.checks.engine.evidence import known
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Outcome, Remedy, ok, skip
from envkit.checks.engine.managers import managers
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import steps
from envkit.checks.frameworks.installs import capable_gpus, gpu_present
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix

_FRESH = (
    "a build without a GPU (docker build, a login node) cannot detect it. Use a fresh build directory. If CMake cannot "
    "identify the CUDA compiler, look at the first error in its log."
)
_BEFORE_BUILD = (
    "Set the GPU's compute capability, because a build without a GPU (docker build, a login node) cannot detect it; "
    "then repeat the build in the same shell. In a Dockerfile, write it as an ENV line before the build."
)
_IN_SHELLS = (
    "In PowerShell: $env:TCNN_CUDA_ARCHITECTURES = 86; in cmd: set TCNN_CUDA_ARCHITECTURES=86; elsewhere: export "
    "TCNN_CUDA_ARCHITECTURES=86."
)
_BINARY_ALONE = "21"
_OF_TORCH = ("torch", "arch-list-empty", "detail-torch-extension")  # messages of PyTorch's own way to build


def _name_target(environment: Environment, matrix: Matrix) -> Remedy:
    """In the words of what builds: with the number of the GPU that the text names."""
    if never := _never(environment):
        return _without(never, steps(environment, "find-target", number=never))
    owns = sorted({str(own) for _, own in capable_gpus(environment, matrix)})
    numbers = ";".join(own.replace(".", "") for own in owns)
    if seen(environment, _NO_TARGET.id, "visual-studio"):
        pairs = ";".join(f"compute_{number},sm_{number}" for number in numbers.split(";") if number)
        return Remedy(
            "In Visual Studio, open the project's Properties > CUDA C/C++ > Device > Code Generation, for all "
            f"configurations, and enter {pairs or 'compute_NN,sm_NN'} (NN is the GPU's compute capability without the "
            "dot, which the command prints; on an old driver, the deviceQuery sample does). Then rebuild the solution. "
            "The toolkit must still support that target.",
            (fixed("nvidia-smi --query-gpu=name,compute_cap --format=csv"),),
        )
    if not owns and seen(environment, _NO_TARGET.id, "tcnn"):
        return Remedy(
            "Set TCNN_CUDA_ARCHITECTURES to the GPU's compute capability without the dot, as in 86, which the "
            f"command prints, and build again in the same shell. {_IN_SHELLS} If it also says that no CUDA runtime is "
            "found, the torch in this environment is a CPU build: install one for CUDA first, or the extension will "
            "not load. In a Dockerfile, write the variable as an ENV line before the build.",
            (fixed("nvidia-smi --query-gpu=compute_cap --format=csv,noheader"),),
        )
    if not owns:
        return Remedy(
            f"Pass the GPU's compute capability without the dot, for example 86: {_FRESH}",
            (
                fixed("nvidia-smi --query-gpu=compute_cap --format=csv,noheader"),
                fixed("cmake -B build -DCMAKE_CUDA_ARCHITECTURES=NN"),
            ),
        )
    if seen(environment, _NO_TARGET.id, *_OF_TORCH):
        return Remedy(
            _BEFORE_BUILD,
            (export("TORCH_CUDA_ARCH_LIST", CAPABILITY_LIST(";".join(owns))),),
        )
    if seen(environment, _NO_TARGET.id, "tcnn"):
        return Remedy(
            _BEFORE_BUILD,
            (export("TCNN_CUDA_ARCHITECTURES", TARGETS(numbers)),),
        )
    configure = steps(environment, "configure-for", targets=numbers)
    if "llama-cpp-python" in managers(environment):
        return Remedy(
            f"Pass the GPU's compute capability without the dot: {_FRESH} Add the option "
            f"-DCMAKE_CUDA_ARCHITECTURES={numbers} to CMAKE_ARGS, also in a Dockerfile."
        )
    return Remedy(
        f"Pass the GPU's compute capability without the dot: {_FRESH} Keep the other options of your cmake line.",
        configure,
    )


def _never(environment: Environment) -> str:
    """The target that no release of nvcc has; '' where the message names none."""
    messages = seen(environment, _NO_TARGET.id, "never-there")
    return named(messages, "virtual") or named(messages, "never") or ""


def _without(target: str, places: tuple[Command, ...]) -> Remedy:
    """Its neighbor, for the cards of Fermi that have only a binary target; otherwise the GPU's own."""
    if target == _BINARY_ALONE:
        return Remedy(
            "These cards have their own target for binary code, sm_21, but none for PTX: replace compute_21 with "
            "compute_20 in the build (-gencode arch=compute_20,code=sm_21). A build that derives the name from the "
            "card's compute capability has to round it down. CUDA 8 is the last release for these cards."
        )
    return Remedy(
        f"Take compute_{target} and sm_{target} out of the build's list of architectures, and add the compute "
        "capability of your GPU without the dot (the first command prints it). The second command finds the place.",
        (fixed("nvidia-smi --query-gpu=compute_cap --format=csv,noheader"), *places),
    )


_NO_TARGET = Fault(
    "cuda-architecture-not-chosen",
    "The build was not given a GPU architecture to compile for",
    impact="The build fails during configuration or at the first CUDA file. The toolkit itself may be fine.",
    remedy=_name_target,
)


@check(
    _NO_TARGET,
    layer=Layer.TOOLKIT,
    rank=33,
    fix="Pass the GPU's compute capability without the dot, for example 86, to the build, and use a fresh directory.",
    references=threads("ggml-org/llama.cpp#18430", "NVlabs/instant-ngp#1044", "NVlabs/instant-ngp#1320"),
)
def cuda_architecture_not_chosen(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """A build that detects the GPU's architecture runs on a machine with a GPU.

    Without a GPU, as in docker build, CMake passes on an empty or invalid architecture, and nvcc stops.
    """
    never = _never(environment)
    title = f"The build asks for compute_{never}, which no release of nvcc has" if never else ""
    if reported := _NO_TARGET.reported(environment, title=title):
        yield reported
    elif build_nvcc(environment) and gpu_present(environment):
        yield ok("builds can detect a GPU", evidence=[known(environment, "nvcc")])
    else:
        yield skip("the input shows no CUDA compilation")
