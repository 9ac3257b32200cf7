"""What containers of an image run with: user, folder, variables for the NVIDIA runtime, command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.base.versions import Version
from envkit.image.options import ImageOptions, entrypoint_words
from envkit.image.parts import Runtime
from envkit.solver.model import Choice

if TYPE_CHECKING:
    from envkit.tables import Matrix

USER_ID = 1000
_JUPYTER_PORT = 8888
_SHARED_MEMORY_GIB = 8  # engines give 64 MB, in which the workers of a data loader die with a bus error
GPU_VARIABLES = {"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "compute,utility"}


def runtime(choice: Choice, options: ImageOptions, matrix: Matrix) -> Runtime:
    """The runtime of the plan: GPUs only for a plan with CUDA, JupyterLab where asked for, otherwise a shell."""
    entrypoint = entrypoint_words(options.entrypoint) if options.entrypoint else ()
    command: tuple[str, ...] = () if options.entrypoint else ("bash",)
    port: int | None = None
    health: tuple[str, ...] = ()
    if options.jupyter:
        port = _JUPYTER_PORT
        command = ("jupyter", "lab", "--ip=0.0.0.0", f"--port={port}", "--no-browser")
        health = ("python", "-c", f"import urllib.request as r; r.urlopen('http://127.0.0.1:{port}/api')")
    return Runtime(
        user=options.user,
        uid=USER_ID,
        workdir=options.workdir,
        environment=gpu_variables(choice, matrix),
        entrypoint=entrypoint,
        command=command,
        port=port,
        health=health,
        shared_memory_gib=_SHARED_MEMORY_GIB if choice.cuda is not None else None,
    )


def gpu_variables(choice: Choice, matrix: Matrix) -> dict[str, str]:
    """The variables that the NVIDIA container runtime reads; {} for a plan without CUDA."""
    if choice.cuda is None:
        return {}
    return {**GPU_VARIABLES, "NVIDIA_REQUIRE_CUDA": f"cuda>={required_cuda(choice, matrix)}"}


def required_cuda(choice: Choice, matrix: Matrix) -> Version:
    """The CUDA version that the host's driver must report: that of the branch of the oldest driver that will do."""
    assert choice.cuda is not None
    own = [build.cuda for build in choice.builds if build.cuda is not None and not build.cpu_only]
    needed = max(cuda.release(2) for cuda in (choice.cuda, *own))  # the strictest, in whatever order they were named
    if choice.minimum_driver is None:
        return needed
    branch = matrix.driver_branch(choice.minimum_driver.major)
    if branch is None or branch.driver_cuda_version is None:
        return needed
    return min(branch.driver_cuda_version.release(2), needed)
