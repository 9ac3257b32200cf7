"""What an expert adds about a toolkit: its host compilers, the GPUs it compiles for, and images with older drivers."""

from __future__ import annotations

from collections.abc import Iterator

from envkit.base.platforms import JETSON, WINDOWS
from envkit.base.sentences import series
from envkit.base.versions import Version
from envkit.compat.cuda_line import toolkits_of
from envkit.compat.driver import branch_of, compat_branches, driver_floors, first_branch_floor
from envkit.compat.gpu import ToolkitMatch, cuda_match, cuda_span, target_span
from envkit.compat.tables import Tables
from envkit.solver.later_boards import later_boards
from envkit.solver.request import Request, TargetGpu
from envkit.tables.loader import read
from envkit.tables.rows import Toolkit


def toolkit_facts(request: Request, tables: Tables) -> Iterator[str]:
    """Sentences about the CUDA of a request."""
    for gpu in request.gpus:
        yield from _compiling_for(gpu, request, tables)
    yield from _of_driver(request, tables)
    for gpu in request.gpus:
        yield from later_boards(gpu, request, tables)
    yield from _in_containers(request, tables)
    yield from _host_compilers(request, tables)


# ---- GPUs


def _compiling_for(gpu: TargetGpu, request: Request, tables: Tables) -> Iterator[str]:
    """The first and last CUDA for a GPU, where the request is about a toolkit, or about one that does not do."""
    asked = request.cuda.exact if request.cuda is not None else None
    capability = gpu.compute_capability
    if request.platform == JETSON:  # what its JetPack has counts
        return
    if request.frameworks and (asked is None or cuda_match(capability, asked, tables) is ToolkitMatch.TARGET):
        return
    runs, targets = cuda_span(capability, tables), target_span(capability, tables)
    if runs[0] is None or targets[0] is None or runs[0] == tables.toolkits[0].release == targets[0]:
        if runs[1] is not None and runs[1] != tables.toolkits[-1].release:
            yield f"the last CUDA for {gpu.called} is {runs[1]}"
        return
    older = f"; what CUDA {runs[0]} compiles for older GPUs of its kind runs on it too" if runs[0] < targets[0] else ""
    last = f", the last is {runs[1]}" if runs[1] not in (None, tables.toolkits[-1].release) else ""
    shown = "" if request.frameworks else "; nvidia-smi shows the CUDA of the driver, not that of nvcc"
    yield f"the first CUDA that compiles for {gpu.called} is {targets[0]}{last}{older}{shown}"


# ---- the driver


def _of_driver(request: Request, tables: Tables) -> Iterator[str]:
    """The CUDA that the driver was made for, where the one asked for is newer."""
    asked, driver = request.cuda.exact if request.cuda is not None else None, request.driver
    branch = branch_of(driver, tables, request.platform) if driver is not None else None
    own = branch.driver_cuda_version if branch is not None else None
    if asked is None or own is None or asked.line <= own.line:
        return
    if all(cuda_match(gpu.compute_capability, own, tables).runs is not False for gpu in request.gpus):
        from envkit.compat.image_driver import image_admits

        newest = toolkits_of(asked, tables)[-1:]
        refused = any(image_admits(row.version, driver, request.gpus, tables) is False for row in newest if driver)
        image = f"; an image for CUDA {asked.line} refuses it when a container starts" if refused else ""
        yield (
            f"driver {driver} is of the branch that came with CUDA {own}: images and packages for CUDA {own} run on it "
            f"without further conditions{image}"
        )


# ---- containers


def _in_containers(request: Request, tables: Tables) -> Iterator[str]:
    """The older driver branches that an image's cuda-compat takes, and the GPUs of NVIDIA's monthly containers."""
    if not request.container:
        return
    from envkit.tables.known_bases import ContainerGpus

    for gpu in request.gpus:
        rows = [row for row in read(ContainerGpus) if gpu.compute_capability.numbers < row.lowest.numbers]
        if rows:
            row = rows[0]
            yield f"NVIDIA's monthly containers (nvcr.io) need compute capability {row.lowest} since {row.first}"
    cuda = request.cuda.exact if request.cuda is not None else None
    if cuda is None or (request.gpus and all(gpu.data_center for gpu in request.gpus)):
        return
    line = cuda.line
    if request.driver is None:
        yield from _started_by(line, tables)
        return
    lowest, branches = driver_floors(cuda, tables).lowest, compat_branches(toolkits_of(line, tables)) or ()
    if lowest is not None and request.driver < lowest and request.driver.major in branches:
        yield (
            f"a data center GPU that driver branch {request.driver.major} supports (such as Tesla T4 or V100) runs an "
            f"image for CUDA {line} with it too, by the cuda-compat package in it; a GeForce card does not, and needs "
            f"driver {lowest} or newer"
        )


def _started_by(line: Version, tables: Tables) -> Iterator[str]:
    """The driver that an image demands when it starts, where minor-version compatibility takes older ones."""
    floors, first = driver_floors(line, tables), first_branch_floor(line, tables)
    if floors.lowest is None or first is None or floors.lowest.major >= first.major:
        return
    older = [f"{branch}" for branch in compat_branches(toolkits_of(line, tables)) or () if branch < first.major]
    also = f" (on data center GPUs branch {series(older, 'or')} too)" if older else ""
    yield (
        f"NVIDIA's images for CUDA {line} check the driver when they start, and take branch {first} and newer{also}: "
        "they refuse older drivers that CUDA's minor-version compatibility would allow"
    )


# ---- host compilers


def _host_compilers(request: Request, tables: Tables) -> Iterator[str]:
    """What the toolkit of a request compiles with; Visual Studio on Windows, GCC elsewhere."""
    asked = request.cuda.exact if request.cuda is not None else None
    if asked is None or request.frameworks:
        return
    rows = [row for row in tables.toolkits if row.version.starts_with(asked.line)]
    if not rows:
        return
    told = _visual_studio(rows[-1].release) if request.platform == WINDOWS else _gcc(rows[-1], tables)
    if told:
        yield told


def _gcc(toolkit: Toolkit, tables: Tables) -> str:
    """The newest GCC of a toolkit, with the first that takes the next one."""
    newest = toolkit.gcc_max
    if newest is None:
        return ""
    later = next((row for row in tables.toolkits if row.gcc_max is not None and row.gcc_max > newest), None)
    next_one = f"; CUDA {later.release} is the first for GCC {later.gcc_max}" if later is not None else ""
    oldest = f"GCC {toolkit.gcc_min} to {newest}" if toolkit.gcc_min is not None else f"GCC up to {newest}"
    return f"nvcc {toolkit.release} compiles with {oldest}{next_one}"


def _visual_studio(cuda: Version) -> str:
    """The years of Visual Studio that a CUDA compiles with, with the first CUDA that takes the next one."""
    from envkit.tables.codes import VisualStudio

    rows = read(VisualStudio)
    row = next((row for row in rows if row.cuda_from <= cuda <= row.cuda_to), None)
    if row is None:
        return ""
    years = f"Visual Studio {row.first} to {row.last}" if row.first else f"Visual Studio up to {row.last}"
    if row.last_update is not None:
        after = next((other for other in rows if other.cuda_from > row.cuda_to and other.last == row.last), None)
        first = f"; CUDA {after.cuda_from} is the first for newer updates of {row.last}" if after is not None else ""
        years = f"{years} {row.last_update}{first}"
    later = next((other for other in rows if other.last > row.last), None)
    next_one = f"; CUDA {later.cuda_from} is the first for Visual Studio {later.last}" if later is not None else ""
    earlier = [other for other in rows if other.cuda_to < cuda and (other.first or 0) < (row.first or 0)]
    older = f"; CUDA {earlier[-1].cuda_to} is the last for Visual Studio {earlier[-1].first}" if earlier else ""
    return f"nvcc {cuda} compiles with {years}{next_one}{older}"
