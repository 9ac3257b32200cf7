"""The CPU build of conda where a text only tells of it: the CUDA build by its build string, from its channels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.base.versions import Version
from envkit.checks.engine.command import CONDA_SPEC, NAME, Command, Word, fixed, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.remedies import on_windows
from envkit.checks.frameworks.conda_builds import taken
from envkit.checks.frameworks.installs import installs, release
from envkit.model import Environment
from envkit.tables.loader import read
from envkit.tables.pairs import CondaBuild

if TYPE_CHECKING:
    from envkit.tables import Matrix

_ID = "cpu-only-wheel"
_BY_STRING = (
    "conda chose the CPU build. Request the CUDA build by its build string, in the environment that has the CPU build "
    "(conda activate it first): with the release alone, the solver may take the CPU build again. conda may change "
    "other packages as well: read its plan before you confirm."
)
_CHANNELS = (
    " In environment.yml, write the same specifications. The order of its channels is their priority: pytorch and "
    "nvidia have to be above conda-forge, whose builds for the CPU are taken otherwise."
)
_ELSEWHERE = (
    " On a machine without a GPU, such as an image build, also set CONDA_OVERRIDE_CUDA to the CUDA version that "
    "nvidia-smi shows on the machine with the GPU."
)


def by_build_string(environment: Environment, matrix: Matrix) -> Remedy | None:
    """The remedy in conda's words where the text tells that conda chose the CPU build; None elsewhere."""
    if pyg := seen(environment, _ID, "detail-conda-pyg"):
        return _of_pyg(named(pyg, "version") or "")
    build, asked = seen(environment, _ID, "detail-conda-build"), seen(environment, _ID, "detail-conda-asked")
    if not build and not asked:
        return None
    version = Version.find(named((*build, *asked), "version") or "") or _told_release(environment)
    cuda = Version.find(named(seen(environment, _ID, "detail-conda-cuda"), "cuda") or "")
    row = _row(environment, matrix, version, cuda)
    if row is not None:
        other = "" if cuda in (None, row.cuda) else f" The channel has no PyTorch {version} for CUDA {cuda}."
        return Remedy(f"{_BY_STRING}{other}{_CHANNELS}", (*_without_choice(environment), _of_row(row)))
    if version is None and cuda is not None and seen(environment, _ID, "detail-conda-asked"):
        return Remedy(f"{_BY_STRING}{_CHANNELS}{_ELSEWHERE}", (_of_channel(cuda),))
    if on_windows(environment):  # for which conda-forge had no build for CUDA for years
        return None
    spec = f"pytorch={version if version is not None else '*'}=cuda*"
    return Remedy(f"{_BY_STRING}{_ELSEWHERE}", (_install(("-c", "conda-forge"), spec),))


def _told_release(environment: Environment) -> Version | None:
    return next((release(item.framework.version) for item in installs(environment, "pytorch")), None)


def _row(environment: Environment, matrix: Matrix, version: Version | None, cuda: Version | None) -> CondaBuild | None:
    """The build of that release for the CUDA that was asked for, or the newest that these GPUs and the driver take."""
    takes = taken(environment, matrix)
    rows = [
        row for row in read(CondaBuild) if row.framework == "pytorch" and row.version == version and takes(row.cuda)
    ]
    same = [row for row in rows if row.cuda == cuda]
    return max(same or rows, key=lambda row: row.cuda, default=None)


def _without_choice(environment: Environment) -> tuple[Command, ...]:
    """Without the package that holds the CPU build, where it is listed."""
    listed = seen(environment, _ID, "detail-conda-cpuonly")
    return (fixed("conda remove cpuonly"),) if listed else ()


def _of_row(row: CondaBuild) -> Command:
    channels = [word for channel in row.channels for word in ("-c", channel)]
    lines = [line for line in row.requirements if not line.startswith(("pytorch=", "torchaudio="))]
    return _install(channels, f"pytorch={row.version}=*cuda{row.cuda}*", *lines)


def _of_channel(cuda: Version) -> Command:
    words = ("-c", "pytorch", "-c", "nvidia", "-c", "conda-forge")
    return _install(words, f"pytorch=*=*cuda{cuda}*", f"pytorch-cuda={cuda}")


def _of_pyg(version: str) -> Remedy:
    spec = f"pyg={version}=*cu*"
    return Remedy(
        "conda's solver took the CPU build of pyg; torch is not at fault and stays. Request the CUDA build by its "
        "build string, in the environment of this torch: the string (torch_X.Y.Z_cuNNN) has to match the installed "
        "torch and CUDA. If no build matches, pip install torch_geometric: it needs no compiled part and works with "
        "this torch.",
        (_install(("-c", "pyg"), spec), run("conda", "list", "pyg")),
    )


def _install(channels: list[str] | tuple[str, ...], *specs: str) -> Command:
    words: list[Word] = [word if word == "-c" else NAME(word) for word in channels]
    return run("conda", "install", *words, *map(CONDA_SPEC, specs))
