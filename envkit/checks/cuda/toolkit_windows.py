"""A toolkit for builds on Windows, where pip compiles what has no wheel, and nvcc works with Visual C++ alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.base.versions import Version
from envkit.checks.cuda.toolkit_remedies import at_another_place, for_program
from envkit.checks.engine.ask import install_cuda
from envkit.checks.engine.command import PYTHON, RELEASE, URL, fixed, for_windows, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import said, seen
from envkit.checks.engine.remedies import on_windows, remedy
from envkit.checks.frameworks.installs import named_python, pip
from envkit.model import Environment
from envkit.tables.codes import limit

if TYPE_CHECKING:
    from envkit.tables import Matrix

_ID = "toolkit-missing"
_TOOLKIT = fixed("winget install --id Nvidia.CUDA --version RELEASE")
_TOOLS = fixed(
    "winget install --id Microsoft.VisualStudio.2022.BuildTools --override "
    "'--passive --wait --add Microsoft.VisualStudio.Workload.VCTools --includeRecommended'"
)


def beside_framework(environment: Environment, matrix: Matrix, release: Version | None) -> Remedy | None:
    """What a build without a toolkit needs other than that of the framework's release, `release` where it is known."""
    if given := at_another_place(environment) or _by_mingw(environment):
        return given
    if on_windows(environment):
        return _on_windows(environment, release)
    if release is None and seen(environment, _ID, "detail-cargo"):
        return remedy(
            environment,
            "nvidia-smi comes with the driver, and says which CUDA the driver runs; nvcc, which this program needs "
            "when it is installed, is in the CUDA toolkit, which is missing. Install the toolkit for the driver's "
            "CUDA, and then the program again in the same shell (cargo install --force), because it looks for nvcc "
            "only while it is built.",
            "toolkit-of-driver",
        )
    return None if release is not None else for_program(environment, matrix)


def _on_windows(environment: Environment, release: Version | None) -> Remedy:
    flash = (
        " flash-attn has no wheels for Windows on the package index, and compiling it takes hours; most programs run "
        "without it, so leave it out first and choose another attention (sdpa) in the program's options."
        if "flash" in said(environment, _ID)
        else ""
    )
    python = named_python(environment).executable or "python"
    which = "" if release else f" Otherwise, it prints the CUDA release: write that in place of {RELEASE}."
    toolkit = install_cuda(environment, release) if release else (_TOOLKIT,)
    return Remedy(
        "pip compiles this package, which requires the CUDA toolkit of torch's CUDA release and Visual C++; the "
        f"driver, whose CUDA version nvidia-smi shows, contains neither.{flash} If the first command prints None, "
        f"that torch is a build for the CPU: install one for CUDA first.{which} Without Visual Studio, the next "
        "command installs its Build Tools. Then open a new x64 Native Tools Command Prompt, where nvcc --version has "
        "to print that release. There, run set DISTUTILS_USE_SDK=1, and build again.",
        (
            for_windows(run(PYTHON(python), "-c", "import torch; print(torch.version.cuda)")),
            *toolkit,
            _TOOLS,
        ),
    )


def _by_mingw(environment: Environment) -> Remedy | None:
    """A build of CUDA code by MinGW, which nvcc cannot work with: what was compiled already is the way."""
    if not seen(environment, _ID, "detail-mingw"):
        return None
    if not seen(environment, _ID, "detail-llama"):
        return Remedy(
            "CUDACXX names g++, which compiles no CUDA code; it has to be nvcc, and on Windows nvcc works with Visual "
            "C++ alone, not with MinGW. Install the Build Tools (the command), remove these variables, and build in an "
            "x64 Native Tools Command Prompt. Without Visual Studio, install a build that its project compiled.",
            (_TOOLS,),
        )
    first, last = limit("llama-wheels-first-python"), limit("llama-wheels-last-python")
    cuda = limit("llama-wheels-last-cuda")
    index = f"https://abetlen.github.io/llama-cpp-python/whl/cu{str(cuda).replace('.', '')}"
    return Remedy(
        "CUDACXX names g++, which compiles no CUDA code; it has to be nvcc, and on Windows nvcc works with Visual C++ "
        "alone, not with MinGW. Without Visual Studio, install the wheel that the project compiled (it includes no "
        f"CUDA libraries: those of CUDA {cuda.major} have to be on PATH), with Python {first} to {last}, after "
        "removing CMAKE_ARGS, CUDACXX, and the other variables, which make pip compile.",
        (
            pip(
                named_python(environment),
                "install",
                "--only-binary=:all:",
                "llama-cpp-python",
                "--index-url",
                URL(index),
            ),
        ),
    )
