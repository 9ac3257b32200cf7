"""What builds of CUDA code are told to compile for, in the words of those that ask: PyTorch, CMake and nvcc."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from envkit._startup.records import record
from envkit.base.versions import ComputeCapability, Version
from envkit.compat.gpu import ToolkitMatch, toolkit_match
from envkit.solver.model import Choice
from envkit.solver.request import Request, TargetGpu
from envkit.tables.loader import read
from envkit.tables.rows import FrameworkBuild, GpuModel, Toolkit


@record
class BuildTargets:
    """One list of GPUs in three spellings."""

    torch: str  # TORCH_CUDA_ARCH_LIST
    cmake: str  # CMAKE_CUDA_ARCHITECTURES
    nvcc: tuple[str, ...]


def build_targets(gpus: Iterable[TargetGpu], toolkit: Toolkit | None) -> BuildTargets | None:
    """The targets for these GPUs that a toolkit has, each once, oldest first; None for no GPU."""
    found = sorted({_target(gpu.compute_capability, toolkit) for gpu in gpus})
    if not found:
        return None
    return BuildTargets(
        ";".join(map(str, found)),
        ";".join(_number(one) for one in found),
        tuple(f"-gencode=arch={one.compute},code={one.sm}" for one in found),
    )


def plan_targets(request: Request, choice: Choice) -> BuildTargets | None:
    """The targets of a plan: of its toolkit, otherwise of the one that extensions of its packages are compiled with."""
    return build_targets(request.gpus, choice.toolkit or _toolkit_of(choice.cuda)) if request.gpus else None


def older_targets(request: Request, choice: Choice) -> str:
    """That extensions are compiled for older GPUs than those of the request, and why; '' where they are not."""
    toolkit = choice.toolkit or _toolkit_of(choice.cuda)
    for gpu in request.gpus:
        target = _target(gpu.compute_capability, toolkit)
        if toolkit is not None and target != gpu.compute_capability:
            return f"nvcc {toolkit.release} does not compile for {gpu.compute_capability}, which runs code for {target}"
    return ""


def _toolkit_of(cuda: Version | None) -> Toolkit | None:
    """The newest toolkit of a release line."""
    rows = (row for row in read(Toolkit) if cuda is not None and row.version.starts_with(cuda))
    return max(rows, key=lambda row: row.version, default=None)


def torch_targets(
    gpus: Iterable[TargetGpu], toolkit: Toolkit | None, build: FrameworkBuild
) -> tuple[ComputeCapability, ...]:
    """What an extension of a framework is compiled for: these GPUs, or those of its build; () where unknown."""
    asked = {_target(gpu.compute_capability, toolkit) for gpu in gpus}
    return tuple(sorted(asked or {*(build.sass or ())}))


def _target(gpu: ComputeCapability, toolkit: Toolkit | None) -> ComputeCapability:
    """The capability to compile for: the GPU's own, or the nearest below it whose code it runs, where nvcc is older.

    No other GPU runs the code of a Jetson (CUDA programming guide, binary compatibility).
    """
    if toolkit is None or toolkit_match(gpu, toolkit) is not ToolkitMatch.BINARY:
        return gpu
    known = toolkit.compute_capabilities or _up_to(toolkit.max_compute_capability or gpu)
    foreign = _of_jetsons() - {gpu}
    return max(
        (one for one in known if one.major == gpu.major and one.minor < gpu.minor and one not in foreign), default=gpu
    )


@cache
def _up_to(newest: ComputeCapability) -> frozenset[ComputeCapability]:
    """The capabilities of all models up to one: what a toolkit compiles for whose targets are not listed."""
    models = {model.compute_capability for model in read(GpuModel)}
    return frozenset(one for one in models if one <= newest)


@cache
def _of_jetsons() -> frozenset[ComputeCapability]:
    """The capabilities that only Jetson modules have."""
    modules = frozenset(model.compute_capability for model in read(GpuModel) if model.variant == "jetson")
    return modules - {model.compute_capability for model in read(GpuModel) if model.variant != "jetson"}


def _number(capability: ComputeCapability) -> str:
    return capability.sm.removeprefix("sm_")
