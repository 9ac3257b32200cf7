"""What runs in WSL 2 in place of native Windows: the commands up to the package, where it is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.checks.engine.command import REQUIREMENT, fixed, run
from envkit.checks.engine.findings import Remedy
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix

_WSL = (
    "WSL uses the Windows driver: do not install one in it. The first command may ask for a reboot; the others are for "
    "a Windows terminal, too."
)


def in_wsl(environment: Environment, matrix: Matrix, text: str) -> Remedy:
    """The remedy for a package without a build for native Windows."""
    start = (
        fixed("wsl --install -d Ubuntu-24.04"),
        fixed("wsl sudo apt-get update"),
        fixed("wsl sudo apt-get install -y python3-venv"),
    )
    if "jax" in text:
        rows = (row for row in matrix.builds("jax") if row.package and "cuda12" in row.package and not row.yanked)
        newest = max(rows, key=lambda row: row.version)
        return Remedy(
            "JAX for CUDA exists for Linux only; on native Windows, pip finds only an old release for the CPU. Use "
            f"it in WSL 2, with its own Python. {_WSL} The last command must list a CUDA device. Start your program "
            "there with ~/jax/bin/python.",
            (
                *start,
                fixed("wsl --cd ~ python3 -m venv jax"),
                run("wsl", "--cd", "~", "jax/bin/python", "-m", "pip", "install", REQUIREMENT(newest.package or "")),
                run("wsl", "--cd", "~", "jax/bin/python", "-c", "import jax; print(jax.devices())"),
            ),
        )
    return Remedy(
        "The package has no build for native Windows, and its kernels do not compile there without changes: run the "
        f"program in WSL 2, or use a fork that publishes wheels for Windows. {_WSL} Then open Ubuntu, and install the "
        "program there as its documentation says for Linux, in an environment of its own (the fourth command makes "
        "one): PyTorch for your CUDA first, then the package with --no-build-isolation. Your drives are under /mnt.",
        (*start, fixed("wsl --cd ~ python3 -m venv linux-env")),
    )
