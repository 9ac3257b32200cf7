"""What to do where a container gets libraries of its host, which need the host's glibc."""

from __future__ import annotations

from envkit.checks.engine.command import NAME, fixed, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import managed_by
from envkit.checks.engine.messages import named, said, seen
from envkit.model import Environment

_FAKEROOT = "/.singularity.d/libs/fake"  # where a build puts the host's fakeroot into the container


def of_host(environment: Environment) -> Remedy | None:
    """The remedy where Apptainer or Singularity mounts them; None elsewhere."""
    if not managed_by(environment, "apptainer"):
        return None
    if _FAKEROOT in said(environment, "glibc-too-old"):
        return Remedy(
            "The host is newer than the image that is built: Apptainer puts the host's fakeroot into it, which needs "
            "the host's glibc. Build without it, or start from a base as new as the host. The GPU is not involved.",
            (run("apptainer", "build", "--ignore-fakeroot-command", "IMAGE.sif", "IMAGE.def"),),
        )
    return Remedy(
        "The host is newer than the container: --nv mounts host libraries that need the host's glibc. Use an "
        "image whose distribution is as new as the host's (rebuild it from a newer base), or let NVIDIA's own "
        "tool choose what to mount: it leaves out the host's other libraries. For that, install "
        "nvidia-container-toolkit on the host first; the variable gives the container not only CUDA, but also "
        "the OpenGL and display libraries. Then start your program instead of nvidia-smi.",
        (
            fixed("export NVIDIA_DRIVER_CAPABILITIES=all"),
            run("apptainer", "exec", "--nvccli", NAME(_sif(environment)), "nvidia-smi"),
        ),
    )


def _sif(environment: Environment) -> str:
    """The name of the image, where it is a file in the working directory."""
    return named(seen(environment, "glibc-too-old", "detail-sif"), "image") or "IMAGE"
