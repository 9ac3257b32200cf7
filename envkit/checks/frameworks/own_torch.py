"""PyTorch that no pip brought: the archive of libtorch, and what a program has in its own folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.base.versions import cuda_tag
from envkit.checks.engine.command import FILE, URL, VERSION, fixed, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import seen
from envkit.checks.engine.remedies import on_windows
from envkit.checks.frameworks.builds import plan_for
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix
    from envkit.tables.rows import FrameworkBuild

_ID = "arch-dropped-by-framework"
_ARCHIVES = "https://download.pytorch.org/libtorch/"
_IN_PROGRAM = (
    "The program contains a PyTorch of its own, which has no code for a GPU this old: nothing that pip installs, and "
    "no driver, changes that. Use a newer GPU, which the program's documentation lists, or its CPU mode. An older "
    "release of the program helps only if its documentation lists this GPU."
)


def of_old_gpu(environment: Environment, matrix: Matrix) -> Remedy | None:
    """The remedy where the build without code for the GPU is none of a Python environment; None elsewhere."""
    if seen(environment, _ID, "detail-own-torch"):
        return Remedy(_IN_PROGRAM)
    if not seen(environment, _ID, "detail-libtorch"):
        return None
    build = _newest(environment, matrix)
    if build is None or build.cuda is None:
        return None
    name = f"libtorch-shared-with-deps-{VERSION(build.version)}.zip"
    advice = (
        f"The archives of libtorch have code for the same GPUs as the wheels of that release: {build.version} is the "
        f"newest that has it for this one, here for CUDA {build.cuda}. Unpack it in place of the present one, and "
        "build the program again in a fresh directory. If its code needs a newer release, only libtorch compiled from "
        "source for this GPU, its CPU archive, or a newer GPU helps."
    )
    if on_windows(environment):
        return Remedy(f"{advice} The archives for Windows are under {_ARCHIVES}{cuda_tag(build.cuda)}/.")
    return Remedy(
        advice,
        (
            run("wget", URL(f"{_ARCHIVES}{cuda_tag(build.cuda)}/{name}")),
            run("unzip", "-q", FILE(name)),
            fixed("cmake -B build-old-gpu -DCMAKE_PREFIX_PATH=./libtorch"),
            fixed("cmake --build build-old-gpu"),
        ),
    )


def _newest(environment: Environment, matrix: Matrix) -> FrameworkBuild | None:
    """The build for GPUs that the resolver takes for these GPUs, in any Python."""
    from envkit.solver.model import Plan

    plan = plan_for(environment, matrix, "pytorch", None, None)
    return plan.choice.builds[0] if isinstance(plan, Plan) and plan.choice.builds else None
