"""The build for AMD's ROCm of the PyTorch that is installed for CUDA."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.checks.engine.command import REQUIREMENT, URL
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import managed_by
from envkit.checks.engine.remedies import remedy
from envkit.checks.frameworks.installs import TORCH_PACKAGES, companions_of, installs, named_python, pip, release
from envkit.model import Environment
from envkit.tables.loader import read
from envkit.tables.pairs import RocmIndex

if TYPE_CHECKING:
    from envkit.tables import Matrix

_WEB_UI = (
    "The web UI makes its environment for NVIDIA's cards, and one that was copied from another computer holds that "
    "computer's paths as well. Put it aside (first command), and start the web UI with the second, which has it "
    "install the release that it was made for from PyTorch's index for ROCm. To make it permanent, put export "
    "TORCH_COMMAND into webui-user.sh."
)


def by_rocm(environment: Environment, matrix: Matrix) -> Remedy | None:
    """The same release for ROCm in the same environment; None where no release is told, or it has no such build."""
    own = next((told for item in installs(environment, "pytorch") if (told := release(item.framework.version))), None)
    row = next((row for row in read(RocmIndex) if own is not None and row.torch == own.release(2)), None)
    lines = [line.partition("+")[0] for line in companions_of(matrix, own)] if own is not None else []
    vision = [line for line in lines if line.startswith("torchvision==")]
    if own is None or row is None or not vision:
        return None
    if managed_by(environment, "webui"):
        words = f"CUDA only runs on NVIDIA GPUs. {_WEB_UI}"
        return remedy(environment, words, "webui-on-rocm", version=own, name=vision[0], url=row.index_url)
    python = named_python(environment)
    return Remedy(
        f"CUDA only runs on NVIDIA GPUs. Replace the CUDA build by PyTorch {own} for ROCm, whose wheels bring ROCm's "
        "libraries; the user must be in the groups render and video. Programs then see the card as cuda: "
        "torch.cuda.is_available() must print True. For a card that this ROCm does not list, a newer release of both "
        "is needed.",
        (
            pip(python, "uninstall", "-y", *TORCH_PACKAGES),
            pip(
                python,
                "install",
                REQUIREMENT(f"torch=={own}"),
                *(REQUIREMENT(line) for line in lines if line.partition("==")[0] in TORCH_PACKAGES),
                *("--index-url", URL(row.index_url)),
            ),
        ),
    )
