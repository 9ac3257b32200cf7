"""An extension that its user compiled, or brought along with an environment: what has to be made again, and where."""

from __future__ import annotations

from envkit.checks.engine.command import CAPABILITY, REQUIREMENT, export, fixed
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import managed_by
from envkit.checks.engine.messages import said, seen
from envkit.checks.engine.remedies import on_windows
from envkit.checks.frameworks.installs import named_python, pip
from envkit.checks.frameworks.made_for_torch import ask_torch
from envkit.model import Environment, PythonEnvironment

_ID = "extension-abi-mismatch"
_HERE = ("install", "--force-reinstall", "--no-deps", "--no-build-isolation", "--no-cache-dir")


def with_its_environment(environment: Environment) -> Remedy | None:
    """A virtual environment that was taken over from another program, whose packages are for that one; else None."""
    if not seen(environment, _ID, "detail-copied-venv"):
        return None
    start = "webui-user.bat" if on_windows(environment) and managed_by(environment, "webui") else "the program"
    return Remedy(
        "The environment (venv) was taken over from another program: its packages were built for that program's "
        "PyTorch, and a copied venv still refers to the directory from which it came. Rename it in this program's "
        f"directory, and start {start}, which makes its own (it downloads several GB). When that works, delete the old "
        "one.",
        (fixed("ren venv venv-old") if on_windows(environment) else fixed("mv venv venv-old"),),
    )


def from_its_source(environment: Environment) -> Remedy | None:
    """The source directory again, after the torch that is there now; None where nobody tells of one."""
    if not seen(environment, _ID, "detail-from-source", "detail-in-tree"):
        return None
    text = said(environment, _ID).lower()
    own = (
        " For vLLM, first run python use_existing_torch.py in it, so that its own pins do not bring another torch."
        if "vllm" in text
        else ""
    )
    return Remedy(
        "The extension was compiled against a different torch from the one that is imported now: one that was "
        "installed before, or the one that pip downloads for an isolated build. First install everything else that "
        "the program needs, so that torch does not change again. Then go to the extension's source directory, delete "
        "what was compiled there (the directory build and the .so files), and compile it again with the command "
        f"below; this needs nvcc of the CUDA that torch was built with, which the last command prints.{own}",
        (export("MAX_JOBS", "4"), pip(named_python(environment), *_HERE, "."), ask_torch(environment)),
    )


def xformers_here(environment: Environment, python: PythonEnvironment, version: str, capability: str) -> Remedy:
    """xFormers compiled on a machine for whose processor there is no wheel."""
    target = (export("TORCH_CUDA_ARCH_LIST", CAPABILITY(capability)),) if capability else ()
    return Remedy(
        f"The wheel was built for another Python or CUDA than this machine's, and there is none for this processor: "
        f"compile xFormers {version}, the release for the installed torch, which stays as it is. This needs nvcc of "
        "torch's CUDA and ninja, and takes an hour or more on a board. The last command must list the operators as "
        "available.",
        (
            *target,
            export("MAX_JOBS", "2"),
            pip(python, *_HERE, "--no-binary=xformers", REQUIREMENT(f"xformers=={version}")),
            fixed("python -m xformers.info"),
        ),
    )
