"""A file that asks for a newer glibc than the system has: what else runs it, since nothing installs another glibc."""

from __future__ import annotations

from envkit._startup.regex import regex
from envkit.checks.engine.command import fixed
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import QUEUES, managed_by
from envkit.model import Environment

_ASKS = regex(r"`?(?P<need>GLIBC_2\.\d{1,2})'? not found \(required by (?P<path>/[^\s)]{1,300})\)")
_OF_FRAMEWORKS = regex(r"/(?:torch|tensorflow|jaxlib|paddle|mxnet|onnxruntime)/|libtorch|libtensorflow|xla_extension")


def of_another_file(text: str) -> bool:
    """Whether the file that asks for the newer glibc is no framework's: another release of that does not help."""
    match = _ASKS.search(text)
    return match is not None and not _OF_FRAMEWORKS.search(match["path"])


def in_newer_system(environment: Environment, text: str) -> Remedy:
    """A container of a newer system, or the program compiled on this one."""
    match = _ASKS.search(text)
    name = match["path"].rpartition("/")[2] if match else "The program"
    need = match["need"].replace("_", " ").replace("GLIBC", "glibc") if match else "the glibc in the error"
    starts = (
        (fixed("apptainer exec --nv docker://IMAGE ldd --version"),)
        if managed_by(environment, "modules", *QUEUES)
        else (fixed("docker run --rm --gpus all IMAGE ldd --version"),)
    )
    return Remedy(
        f"{name} was built on a newer system and needs {need}. glibc belongs to the system: pip, conda, gcc modules, "
        "and LD_LIBRARY_PATH cannot bring another one. Run the program in a container whose system is new enough (an "
        "image of a current Ubuntu, such as one of nvidia/cuda or pytorch/pytorch; the command prints the glibc of an "
        "image, and installs nothing here), where the same pip or conda commands work. Without root, Apptainer does "
        "that (apptainer exec --nv docker://IMAGE). Or compile the package from its source on this system, or take an "
        "older release of it that was built for such systems.",
        starts,
    )
