"""What brings cuDNN's headers to a build: wheels of cuDNN help no compiler, and its archive holds more than one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.base.versions import Version
from envkit.checks.engine.command import VERSION, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.remedies import remedy, steps
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix

_MAIN = "cudnn.h"
_PARTS = (
    "Since cuDNN 8, cudnn.h includes other headers: copy all of them, of the same release. Run the command in the "
    "directory where cuDNN's archive was unpacked, then build again."
)


def is_header(library: str) -> bool:
    """True for a file that compilers look for."""
    return library.endswith(".h")


def headers(environment: Environment, matrix: Matrix, header: str) -> Remedy:
    """All headers next to the one that is there; where cuDNN is missing as a whole, cuDNN for the toolkit in use."""
    if header != _MAIN:
        return remedy(environment, _PARTS, "copy-cudnn-headers")
    search = steps(environment, "find-cudnn-headers")
    line = _toolkit(environment)
    made = [row.version for row in matrix.cudnns if line is not None and row.cuda.release(2) == line]
    if line is None or not made:
        return Remedy(
            "The compiler finds no cuDNN. If the command finds its headers, pass their directory to the build (-I in "
            "a Makefile, CUDNN_INCLUDE_DIR for CMake). Otherwise, envkit install --cuda X.Y --cudnn N --run puts "
            "cuDNN N into the toolkit X.Y that nvcc --version shows. Or build without cuDNN, if the program supports "
            "that.",
            search,
        )
    return Remedy(
        "The compiler finds no cuDNN. If the first command finds its headers, pass their directory to the build (-I "
        f"in a Makefile, CUDNN_INCLUDE_DIR for CMake). Otherwise, the second puts the newest cuDNN for CUDA {line} "
        "into the toolkit's directory; a program that expects an older one says so in its documentation.",
        (
            *search,
            run("envkit", "install", "--cuda", VERSION(line), "--cudnn", VERSION(max(made).release(2)), "--run"),
        ),
    )


def _toolkit(environment: Environment) -> Version | None:
    """The release of the toolkit that compiles here; None where none or several are known."""
    nvcc = environment.nvcc.value
    if nvcc is not None and nvcc.version is not None:
        return nvcc.version.release(2)
    toolkits = environment.cuda_toolkits.value or ()
    lines = {toolkit.version.release(2) for toolkit in toolkits}
    return lines.pop() if len(lines) == 1 else None
