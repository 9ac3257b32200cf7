"""Why a model in half precision came to the CPU: a build without CUDA, or a model that was never moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.checks.engine.command import fixed
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import seen
from envkit.checks.engine.remedies import on_windows
from envkit.checks.frameworks.builds import bring

if TYPE_CHECKING:
    from envkit.model import Environment
    from envkit.tables import Matrix

_ON_PURPOSE = "To run on the CPU on purpose, load it in float32."


def to_the_gpu(environment: Environment, matrix: Matrix) -> Remedy:
    """The CUDA build, where the text shows that pip installed the one of the package index, which on Windows has none.

    Where the text does not tell, the question: the build, or a model that was not moved.
    """
    if on_windows(environment) and seen(environment, "half-precision-on-cpu", "detail-plain-pip"):
        given = bring(
            environment,
            matrix,
            "pytorch",
            "On Windows, `pip install torch` installs the CPU build, which is why the program takes the CPU: replace "
            "it with a CUDA build. pip keeps a release that is there already, so uninstall it first.",
        )
        removal = fixed("python -m pip uninstall -y torch torchvision torchaudio")
        steps = given.steps if any("uninstall" in step.line for step in given.steps) else (removal, *given.steps)
        return Remedy(f"{given.advice} {_ON_PURPOSE}", steps)
    return Remedy(
        "Find out why it runs on the CPU: torch.cuda.is_available() must be True, and the model must be moved to the "
        f"GPU. {_ON_PURPOSE}",
        (fixed("python -c 'import torch; print(torch.version.cuda, torch.cuda.is_available())'"),),
    )
