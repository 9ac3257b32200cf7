"""Whether packages are compiled with the CUDA that the torch of the image was built for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import command_subject, stop
from envkit.dockerfile.ground import Ground
from envkit.dockerfile.stops_torch import Compiled, compiled_anew
from envkit.dockerfile.wanted import Choices, Problem
from envkit.tables.known_images import CUDA_REPOSITORY
from envkit.tables.rows import FrameworkBuild

_TORCH = "pytorch"
_NO_ISOLATION = "--no-build-isolation"
_HAS_WHEELS = "flash-attn"  # its setup looks for a wheel first: what is pinned has none for a later CUDA


def compiled_for_other_cuda(made: Iterable[Ground], chosen: Choices) -> Iterator[Finding]:
    """The first package of each stage whose compiler is of another major version than torch's CUDA."""
    builds = [build for item, build in chosen.items() if item.framework == _TORCH]
    build = builds[0] if len(builds) == 1 else None
    if build is None or isinstance(build, Problem) or build.cuda is None:
        return
    for ground in made:
        row = ground.base.row
        devel = row is not None and row.flavor == "devel" and ground.base.repository == CUDA_REPOSITORY
        if devel and "compiler" not in ground.tells:
            yield from _first(ground, build)


def _first(ground: Ground, build: FrameworkBuild) -> Iterator[Finding]:
    nvcc, cuda = ground.base.cuda, build.cuda
    if nvcc is None or cuda is None or nvcc.major == cuda.major:
        return
    for step, made in compiled_anew(ground):
        compiled = next((one for one in made if one.row.needs_nvcc), None)
        if compiled is None or _NO_ISOLATION not in step.command.words:
            continue
        if compiled.row.package != _HAS_WHEELS or (_is_pinned(compiled) and cuda.major > nvcc.major):
            yield stop(
                faults.CUDA_MISMATCH,
                f"{compiled.name} is compiled with CUDA {nvcc.release(2)}, but {build.framework} {build.version} is "
                f"for CUDA {cuda.release(2)}",
                command_subject(step.command, compiled.line),
                impact="The build stops with: The detected CUDA version mismatches the version that was used to compile"
                " PyTorch.",
                sources=build.sources,
            )
            return


def _is_pinned(compiled: Compiled) -> bool:
    return compiled.spec.startswith("==")
