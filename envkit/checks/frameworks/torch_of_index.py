"""PyTorch for CUDA where neither the GPU nor the driver is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.base.versions import cuda_tag
from envkit.checks.engine.command import NAME, REQUIREMENT, URL
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import managed_by
from envkit.checks.frameworks.installs import TORCH_PACKAGES, first_python, pip
from envkit.model import Environment, PythonEnvironment
from envkit.tables.codes import limit

if TYPE_CHECKING:
    from envkit.tables import Matrix
    from envkit.tables.rows import FrameworkBuild

_WITH_PYTHON = ("comfyui-portable", "runtime-folder", "one-click")  # programs whose Python the command names


def for_unknown_gpu(environment: Environment, matrix: Matrix, given: Remedy) -> Remedy | None:
    """The index whose builds run on the most GPUs, by the pip of this Python; None where `given` is more exact."""
    if not given.steps or any(step.words[:2] != ("envkit", "resolve") for step in given.steps):
        return None
    cuda, newest = limit("cuda-of-most-gpus"), limit("cuda-of-blackwell")
    python = first_python(environment)
    row = _newest(matrix, cuda_tag(cuda), python)
    other = cuda_tag(newest)
    if row is None:
        return None
    known = python.executable or environment.traceback_python.known or managed_by(environment, *_WITH_PYTHON)
    own = "" if known else " Run the command with the program's own Python: another one changes nothing for it."
    words = map(REQUIREMENT, (f"torch=={row.version}", *row.companions))
    return Remedy(
        f"{given.advice} The input names no GPU: the builds for CUDA {cuda} run on every card from Maxwell to Hopper "
        f"with a driver that runs CUDA {cuda.major}; for an RTX 50 or other Blackwell card, write {other} instead of "
        f"the last part of the address.{own} Restart the program afterward. Given the GPU's name, the last command "
        "prints exact releases.",
        (
            pip(python, "uninstall", "-y", *map(NAME, TORCH_PACKAGES)),
            pip(python, "install", *words, "--index-url", URL(row.index_url or "")),
            *given.steps,
        ),
    )


def _newest(matrix: Matrix, tag: str, python: PythonEnvironment) -> FrameworkBuild | None:
    """The newest build on an index for this Python, or for any where its version is not known."""
    own = python.version.release(2) if python.version is not None else None
    rows = [row for row in matrix.builds("pytorch") if row.companions and (row.index_url or "").endswith(f"/{tag}")]
    return max((row for row in rows if own is None or own in row.pythons), key=lambda row: row.version, default=None)
