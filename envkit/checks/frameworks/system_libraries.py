"""The CUDA libraries that a framework loads from the system, and how they get there."""

from __future__ import annotations

from envkit.base.versions import Version
from envkit.checks.engine.ask import install_cuda
from envkit.checks.engine.command import CONDA_SPEC, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.remedies import on_windows, steps
from envkit.model import Environment


def libraries_of_system(environment: Environment, title: str, cuda: Version, cudnn: Version | None) -> Remedy:
    """The remedy that installs the CUDA that the framework `title` loads, next to the others."""
    why = f"{title} loads the CUDA {cuda} libraries from the system, and works with no other release: "
    if on_windows(environment):
        packages = [f"cudatoolkit={cuda.release(2)}", *([f"cudnn={cudnn.release(2)}"] if cudnn is not None else [])]
        beside = f" and cuDNN {cudnn.release(2)}" if cudnn is not None else ""
        return Remedy(
            f"{why}install them into the program's conda environment, where it finds them while the environment is "
            f"active. Without conda, install CUDA {cuda.release(2)}{beside} from NVIDIA's archives alongside the "
            "others, and put their bin directories first on PATH.",
            (run("conda", "install", "-y", "-c", "conda-forge", *map(CONDA_SPEC, packages)),),
        )
    root = f"/usr/local/cuda-{cuda.release(2)}"
    beside = f", with cuDNN {cudnn.release(2)}," if cudnn is not None else ""
    return Remedy(
        f"{why}install them{beside} alongside the others and add them to the loader's path, in this shell and wherever "
        "the program is started.",
        (*install_cuda(environment, cuda, cudnn), *steps(environment, "load-toolkit", root=root)),
    )
