"""A bitsandbytes that finds no library for the CUDA of torch, or no CUDA runtime."""

from __future__ import annotations

from envkit.checks.engine.command import PYTHON, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.remedies import steps
from envkit.checks.frameworks.installs import first_python, named_python, pip
from envkit.model import Environment


def bitsandbytes(environment: Environment) -> Remedy:
    """Each release holds libraries for the CUDA releases of its time: a newer one has those that an older one lacks."""
    cuda = named(seen(environment, "extension-abi-mismatch", "bitsandbytes"), "cuda")
    if seen(environment, "extension-abi-mismatch", "bitsandbytes-cpu"):
        which = "fallen back to its library for the CPU, because it found none for this CUDA"
    elif not seen(environment, "extension-abi-mismatch", "bitsandbytes"):
        return _without_cudart(environment)
    else:
        which = f"no library for CUDA {cuda[:-1]}.{cuda[-1]}" if cuda else "no library for the CUDA of torch"
    return Remedy(
        f"The installed bitsandbytes has {which}: install its newest release, which needs no compiler. The second "
        "command tests it.",
        (
            pip(first_python(environment), "install", "--upgrade", "--no-deps", "bitsandbytes"),
            run(PYTHON(named_python(environment).executable or "python"), "-m", "bitsandbytes"),
        ),
    )


def _without_cudart(environment: Environment) -> Remedy:
    """Its setup fails where it finds no libcudart, too: it searches the loader's path, not only torch's folders."""
    python = named_python(environment).executable or "python"
    return Remedy(
        "An old bitsandbytes searches LD_LIBRARY_PATH for libcudart, and fails like this where it finds none, or has "
        "no library for that CUDA. Add the directory of a file that the first command prints to LD_LIBRARY_PATH in the "
        "shell that starts the program (second command; in an image: ENV LD_LIBRARY_PATH in the Dockerfile). The third "
        "command tests it. If it still fails, install a newer release, which loads what torch brings and must fit that "
        "torch.",
        (
            *steps(environment, "cudart-on-path"),
            run(PYTHON(python), "-m", "bitsandbytes"),
        ),
    )
