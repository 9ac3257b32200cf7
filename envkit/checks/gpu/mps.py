"""How a program reaches the MPS daemon: as its user, and from a container through its directory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.checks.engine.command import fixed
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import managed_by
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix

_PIPES = "/tmp/nvidia-mps"  # where the daemon has them unless CUDA_MPS_PIPE_DIRECTORY says another place


def reach_mps(environment: Environment, matrix: Matrix) -> Remedy:
    """From a container, the daemon's directory has to be there, and its shared memory."""
    if managed_by(environment, "docker-run", "compose"):
        return Remedy(
            "The daemon runs on the host, and a container has neither its pipes nor its shared memory: in docker "
            f"run, add --ipc=host (in place of any other --ipc), -v {_PIPES}:{_PIPES}, and -e "
            f"CUDA_MPS_PIPE_DIRECTORY={_PIPES} before the image (Compose: ipc: host, and the directory under volumes). "
            "If the daemon has another CUDA_MPS_PIPE_DIRECTORY, name that one. The program must run as the daemon's "
            "user: start the daemon as root, or the container with --user. To do without MPS, leave the daemon off, "
            "and set compute mode Default (sudo nvidia-smi -c 0).",
        )
    return Remedy(
        "Start the control daemon as the user who runs the programs, with the same CUDA_MPS_PIPE_DIRECTORY, or "
        "run without MPS: stop the daemon and unset the variable.",
        (fixed("printenv CUDA_MPS_PIPE_DIRECTORY"), fixed("nvidia-cuda-mps-control -d")),
    )
