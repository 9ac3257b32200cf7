"""GPUs that no cuDNN supports, and builds of PaddlePaddle for a CUDA that is older than the GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.base.versions import ComputeCapability, Version
from envkit.checks.engine.command import CONDA_SPEC, fixed, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import managed_by
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.remedies import on_windows, steps
from envkit.checks.frameworks.builds import bring, replacement
from envkit.checks.frameworks.installs import capable_gpus, installs
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix
    from envkit.tables.rows import CudnnRelease, FrameworkBuild

_FIRST = ComputeCapability(3, 0)  # of cuDNN's first release
_OFF = (
    f"No cuDNN release has ever supported a GPU this old: its first one needs compute capability {_FIRST}, so another "
    "release does not help. Let the framework compute without cuDNN, on its own CUDA kernels: in Chainer 1, call "
    "chainer.cuda.cudnn_enabled = False right after the import (or pass use_cudnn=False to the links and functions); "
    "in Chainer 2 and newer, set chainer.config.use_cudnn = 'never'; in PyTorch, torch.backends.cudnn.enabled = False; "
    "in Caffe, comment out USE_CUDNN in Makefile.config and build again. Or install the framework again while no cuDNN "
    "is found. Otherwise, use the CPU or a newer GPU."
)


def never_supported(environment: Environment, matrix: Matrix) -> Remedy | None:
    """What is left with a GPU from before cuDNN; None where there is a newer one, or none is known."""
    owns = [own for _, own in capable_gpus(environment, matrix)]
    words = named(seen(environment, "cudnn-dropped-arch", "detail-capability"), "capability")
    owns += [ComputeCapability.parse(words)] if words else []
    fermi = bool(seen(environment, "cudnn-dropped-arch", "detail-fermi"))
    if any(own.numbers >= _FIRST.numbers for own in owns):
        return None
    if owns or fermi:
        return Remedy(_OFF)
    if not seen(environment, "cudnn-dropped-arch", "detail-mismatch"):
        return None
    return Remedy(
        "The message says that this cuDNN does not support the GPU; it has nothing to do with 32 or 64 bits. The "
        "command prints the GPU's name, and envkit matrix gpus its compute capability (deviceQuery of the CUDA samples "
        f"prints it, too). Where it is {_FIRST} or higher, the GPU is newer than this cuDNN: install a newer cuDNN and "
        f"a build of the program for it. Where it is below {_FIRST}: {_OFF[0].lower()}{_OFF[1:]} In Torch 7, leave "
        "cudnn out and use cunn (do not pass -force_cudnn); in Mocha, use the CPU backend.",
        (fixed("nvidia-smi -L"),),
    )


def older_in_image(environment: Environment, matrix: Matrix) -> Remedy | None:
    """The newest cuDNN with kernels for the GPU, where a text shows the package of an image that has none."""
    told = seen(environment, "cudnn-dropped-arch", "detail-package")
    owns = [own for _, own in capable_gpus(environment, matrix)]
    if not told or not owns:
        return None
    package, major = told[0].values["package"], told[0].values["major"]
    rows = [row for row in matrix.cudnns if str(row.soname_major) == major and row.min_compute_capability is not None]
    fitting = [row.version for row in rows if all(_knows(row, own) for own in owns)]
    if not fitting:
        return None
    line = max(fitting).release(2)
    return Remedy(
        f"The image's cuDNN no longer has kernels for this GPU (compute capability {owns[0]}); {line} is the last that "
        "has. If you build the image, put this line into its Dockerfile as a RUN instruction, after the packages of "
        "CUDA are installed, and build it again. If it is somebody else's image, stay with the last tag that worked, "
        "and report this to its project: nothing that is installed on the host changes the container.",
        (
            run(
                *("apt-get", "install", "-y", "--allow-downgrades", "--allow-change-held-packages"),
                CONDA_SPEC(f"{package}={line}.*"),
            ),
        ),
    )


def _knows(row: CudnnRelease, own: ComputeCapability) -> bool:
    return row.min_compute_capability is not None and row.min_compute_capability.numbers <= own.numbers


def other_paddle(environment: Environment, matrix: Matrix) -> Remedy | None:
    """The build for a CUDA that knows the GPU, where Paddle's own line shows that the installed one is too old."""
    from envkit.compat.gpu import target_span

    line = seen(environment, "cudnn-missing", "detail-paddle-gpu")
    if not line and (newer := _for_newer_gpu(environment, matrix)):
        return newer
    own = ComputeCapability.parse(line[0].values["capability"]) if line else None
    cuda = Version.find(named(line, "cuda") or "")
    item = next(installs(environment, "paddle", "paddlepaddle"), None)
    first = target_span(own, matrix)[0] if own is not None else None
    if own is None or cuda is None or item is None or first is None or cuda >= first:
        return None
    given = replacement(
        environment,
        matrix,
        item,
        f"The installed PaddlePaddle is built for CUDA {cuda}, which has no code for this GPU (compute capability "
        f"{own}): with cuDNN found, the next step would fail.",
    )
    row = _installed(matrix, given)
    if row is None or row.cuda is None or row.cudnn is None or not managed_by(environment, "conda"):
        return given
    return Remedy(
        f"{given.advice} Instead, the conda environment can have them, without root: the second command installs "
        "them, and the third lets the loader find them, in each shell.",
        (
            *given.steps,
            *steps(environment, "conda-cuda-libraries", version=row.cuda.release(2), stale=row.cudnn.release(2)),
        ),
    )


def _for_newer_gpu(environment: Environment, matrix: Matrix) -> Remedy | None:
    """On Windows, where Paddle asks for the DLL of a cuDNN that no CUDA for this GPU has; None otherwise."""
    from envkit.compat.gpu import target_span

    messages = seen(environment, "cudnn-missing")
    major = named(messages, "major") or named(messages, "dll")
    if not on_windows(environment) or "addle" not in " ".join(message.text for message in messages):
        return None
    last = max((row.cuda for row in matrix.cudnns if str(row.soname_major) == major), default=None)
    firsts = [target_span(own, matrix)[0] for _, own in capable_gpus(environment, matrix)]
    known = [first for first in firsts if first is not None]
    if last is None or not known or min(known) <= last:
        return None
    return bring(
        environment,
        matrix,
        "paddlepaddle",
        f"The installed PaddlePaddle is its build for CUDA {last} or older, which opens cuDNN {major} and has no code "
        "for this GPU: do not look for that DLL, and do not rename another one to it. Its builds for a newer CUDA are "
        "on Paddle's own index.",
        messages=messages,
    )


def _installed(matrix: Matrix, given: Remedy) -> FrameworkBuild | None:
    """The build that the remedy installs."""
    line = " ".join(given.commands)
    return next(
        (row for row in matrix.builds("paddlepaddle") if row.package and f" {row.package} " in f"{line} "), None
    )
