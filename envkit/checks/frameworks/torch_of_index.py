"""PyTorch for CUDA where neither the GPU nor the driver is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.checks.engine.command import NAME, URL
from envkit.checks.engine.findings import Remedy
from envkit.checks.frameworks.installs import TORCH_PACKAGES, first_python, pip
from envkit.model import Environment
from envkit.tables.codes import limit

if TYPE_CHECKING:
    from envkit.tables import Matrix


def for_unknown_gpu(environment: Environment, matrix: Matrix, given: Remedy) -> Remedy | None:
    """The index whose builds run on the most GPUs, by the pip of this Python; None where `given` is more exact."""
    if not given.steps or any(step.words[:2] != ("envkit", "resolve") for step in given.steps):
        return None
    cuda, newest = limit("cuda-of-most-gpus"), limit("cuda-of-blackwell")
    url = _index(matrix, f"cu{cuda.release(2)}".replace(".", ""))
    other = f"cu{newest.release(2)}".replace(".", "")
    if not url:
        return None
    python = first_python(environment)
    return Remedy(
        f"{given.advice} The text names no GPU: the builds for CUDA {cuda} run on every card from Maxwell to Hopper "
        f"with a driver that runs CUDA {cuda.major}; for an RTX 50 or another Blackwell card, write {other} instead of "
        "the last part of the address. Run it with the Python of the program, and restart the program. With the name "
        "of the GPU, the last command names exact releases.",
        (
            pip(python, "uninstall", "-y", *map(NAME, TORCH_PACKAGES)),
            pip(python, "install", *map(NAME, TORCH_PACKAGES), "--index-url", URL(url)),
            *given.steps,
        ),
    )


def _index(matrix: Matrix, tag: str) -> str:
    rows = (row.index_url or "" for row in matrix.builds("pytorch"))
    return next((url for url in rows if url.endswith(f"/{tag}")), "")
