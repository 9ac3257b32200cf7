"""TensorFlow from before its libraries were wheels: the system's CUDA and cuDNN, of exactly the releases it names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.base.versions import Version
from envkit.checks.engine.command import VERSION, Command, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.remedies import on_windows, steps
from envkit.model import Environment
from envkit.tables.codes import limit

if TYPE_CHECKING:
    from envkit.tables import Matrix


def of_system(environment: Environment, matrix: Matrix, own: Version, given: Remedy) -> Remedy | None:
    """The libraries of that release, where `given` only asks or installs the same release again; otherwise None."""
    asks = all(step.words[:2] == ("envkit", "resolve") for step in given.steps)
    asks = asks or any(f"tensorflow=={own}" in step.words for step in given.steps)
    if not asks or on_windows(environment) or own.release(2) >= limit("tensorflow-with-wheels"):
        return None
    row = next((row for row in matrix.builds("tensorflow") if row.version == own and row.cuda and row.cudnn), None)
    if row is None or row.cuda is None or row.cudnn is None:
        return None
    cuda, cudnn = row.cuda.release(2), row.cudnn.release(2)
    if later := _for_this_system(environment, matrix, cuda, cudnn):
        return Remedy(
            f"TensorFlow {own} has no wheels with CUDA's libraries: it opens those of CUDA {cuda} and cuDNN {cudnn} on "
            f"the system. All of CUDA {cuda.major} has the same file names, and CUDA {later[0]} with cuDNN {later[1]} "
            "is also supported on this system. The first command installs them beside what is there; the second lets "
            "the loader find them in this shell (to make this permanent, add it to ~/.bashrc).",
            _commands(environment, *later),
        )
    return Remedy(
        f"TensorFlow {own} has no wheels with CUDA's libraries: it opens those of CUDA {cuda} and cuDNN {cudnn} on the "
        f"system, by exactly these names, so neither another release nor a link to one will do. The first command "
        f"installs them beside what is there; the second lets the loader find them in this shell (to make this "
        "permanent, add it to ~/.bashrc). Remove links of your own from other releases first.",
        _commands(environment, cuda, cudnn),
    )


def _commands(environment: Environment, cuda: Version, cudnn: Version) -> tuple[Command, ...]:
    return (
        run("envkit", "install", "--cuda", VERSION(cuda), "--cudnn", VERSION(cudnn), "--run"),
        *steps(environment, "load-toolkit", root=f"/usr/local/cuda-{cuda}"),
    )


def _for_this_system(
    environment: Environment, matrix: Matrix, cuda: Version, cudnn: Version
) -> tuple[Version, Version] | None:
    """The last CUDA of the same names that lists this system, where the release that is asked for does not."""
    system = environment.system.os.get().os_id if environment.system.os.known else ""
    alike = [row for row in matrix.toolkits if row.version.major == cuda.major and system in (row.os_ids or ())]
    if cuda.major < limit("one-soname-per-major").major or any(row.version.release(2) == cuda for row in alike):
        return None
    last = max((row.version.release(2) for row in alike), default=None)
    lines = (last, last.release(1)) if last is not None else ()
    made = [row.version.release(2) for row in matrix.cudnns if row.cuda in lines and row.soname_major == cudnn.major]
    return (last, max(made)) if last is not None and made and max(made) >= cudnn else None
