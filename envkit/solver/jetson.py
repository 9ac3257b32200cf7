"""A Jetson: its CUDA, driver, system and packages come with JetPack; Thor takes the packages of Arm servers."""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.records import replace
from envkit.base.sentences import series
from envkit.base.versions import Version, VersionSpec
from envkit.compat.gpu import gpu_runs_cuda
from envkit.compat.package_wheels import wheels_of
from envkit.compat.pairs import newest_beside, pairs_by_package
from envkit.compat.verdict import Verdict
from envkit.solver.knowledge import Knowledge
from envkit.solver.model import Choice, Conflict, NoPlan, Plan
from envkit.solver.other_ways import other_ways, ways_of_companions
from envkit.solver.parts import part_in_words
from envkit.solver.query import Query
from envkit.solver.request import FrameworkRequest, Request
from envkit.tables.jetson import JetsonImages, JetsonWheel
from envkit.tables.loader import read
from envkit.tables.rows import JetPack, framework_title

_FROM_JETPACK = (
    "On a Jetson, CUDA, cuDNN, the driver, and the operating system come from JetPack; server versions are not "
    "compatible"
)
_THOR = "A Jetson Thor runs the packages for Arm servers; CUDA, the driver, and the operating system come from JetPack"
_SERVER_LIKE = 11  # major compute capability from which on Jetson boards are Arm servers to packages
_ON_THE_BOARD = "On the board, install CUDA and cuDNN with: sudo apt-get install nvidia-jetpack"
_GUIDES = {
    "pytorch": "https://docs.nvidia.com/deeplearning/frameworks/install-pytorch-jetson-platform/index.html",
    "tensorflow": "https://docs.nvidia.com/deeplearning/frameworks/install-tf-jetson-platform/index.html",
}
_IN_JETPACK = "tensorrt"
_FIRST_WITH_COMPAT = 5  # JetPack major for which NVIDIA has cuda-compat packages
_CONTAINERS = "https://github.com/dusty-nv/jetson-containers"


def as_server(request: Request) -> Request | None:
    """The request for an Arm server in place of Jetson boards that take its packages; None for older ones."""
    if not request.gpus or any(gpu.compute_capability.major < _SERVER_LIKE for gpu in request.gpus):
        return None
    systems = [row.os_id for row in _releases(request) if row.os_id]
    return replace(request, platform="linux", os_id=request.os_id or (systems[-1] if systems else None))


def thor_told(plan: Plan | NoPlan) -> Plan | NoPlan:
    """The same plan with what is special about the board."""
    return replace(plan, warnings=(*plan.warnings, _THOR))


def _releases(request: Request) -> tuple[JetPack, ...]:
    """The released JetPacks for all boards of a request, oldest first."""
    boards = {gpu.compute_capability for gpu in request.gpus}
    return tuple(row for row in read(JetPack) if row.released and boards and boards <= set(row.compute_capabilities))


def _jetpack_notes(request: Request, knowledge: Knowledge) -> Iterator[str]:
    """What JetPack has for the boards: the newest release of each major."""
    newest = {row.jetpack.major: row for row in _releases(request) if row.cuda is not None}
    last = max((row.jetpack.major for row in _releases(request)), default=0)
    if 0 < last < max((row.jetpack.major for row in read(JetPack) if row.released), default=0) - 1:
        l4t = max(row.l4t.major for row in _releases(request))
        yield f"JetPack {last} (L4T {l4t}) is the last for this board: images for newer ones do not run on it"
    for row in newest.values():
        parts = [f"CUDA {row.cuda}"]
        parts += [f"cuDNN {row.cudnn}"] if row.cudnn else []
        parts += [f"TensorRT {row.tensorrt}"] if row.tensorrt else []
        system = knowledge.tables.operating_system(row.os_id) if row.os_id else None
        parts += [f"{system.title} with Python {system.default_python}"] if system else []
        yield f"JetPack {row.jetpack} (L4T {row.l4t}) has {series(parts)}"


def _asked_cuda(request: Request) -> Iterator[str]:
    """Which JetPack has the CUDA that is asked for, and what the drivers of older ones do about it."""
    asked = request.cuda.exact if request.cuda is not None else None
    if asked is None:
        return
    boards = {gpu.compute_capability for gpu in request.gpus}
    rows = [row for row in read(JetPack) if row.cuda is not None and boards <= set(row.compute_capabilities)]
    having = [row for row in rows if row.cuda is not None and row.cuda.starts_with(asked)]
    wheels = [row for one in request.frameworks for row in read(JetsonWheel) if row.framework == one.name]
    for row in having[-1:]:
        before = [one.first_l4t for one in wheels if one.l4t == row.l4t.major]
        least = min(before, default=None)
        told = f"CUDA {asked} is that of JetPack {row.jetpack} (L4T {row.l4t})"
        if least is not None and row.l4t < least:
            told += f"; the wheels on record for L4T {row.l4t.major} need L4T {least} or newer: flash that"
        yield told
    newest = {row.jetpack.major: row for row in rows if row.released}
    for major, row in newest.items():
        if row.cuda is None or row.cuda.release(2) >= asked.release(2):
            continue
        compat = (
            f"runs only with the package cuda-compat-{asked.major}-{asked.minor} for Jetson, first in LD_LIBRARY_PATH"
        )
        does = compat if major >= _FIRST_WITH_COMPAT else "does not run there"
        yield f"the driver of JetPack {major} is one for CUDA {row.cuda}: CUDA {asked} {does}"


def _beyond_the_driver(request: Request) -> Conflict | None:
    """That no JetPack for the boards has a driver for the CUDA that is asked for, and none has a package for it."""
    asked = request.cuda.exact if request.cuda is not None else None
    rows = [row for row in _releases(request) if row.cuda is not None]
    if asked is None or not rows or rows[-1].jetpack.major >= _FIRST_WITH_COMPAT:
        return None
    newest = max(row.cuda.release(2) for row in rows if row.cuda is not None)
    if newest >= asked.release(2):
        return None
    last = rows[-1].jetpack.major
    detail = (
        f"JetPack {last} is the last for this board, and its driver is one for CUDA {newest}: CUDA {asked} does not "
        "run there"
    )
    boards = series(str(gpu) for gpu in request.gpus)
    return Conflict((f"gpu {boards}", f"cuda {request.cuda}"), detail, rows[-1].sources)


def _wheels(request: Request) -> Iterator[str]:
    """The wheels for boards of what is asked for, for the L4T of the boards; the newest of each where all will do."""
    majors = {row.l4t.major for row in _releases(request) if _has_cuda(row, request)}
    for framework in request.frameworks:
        newest: dict[int, JetsonWheel] = {}
        for row in read(JetsonWheel):
            if row.framework != framework.name or row.l4t not in majors:
                continue
            known = newest.get(row.l4t)
            if known is None or _is_meant(row, framework) or not _is_meant(known, framework):
                newest[row.l4t] = row
        for row in newest.values():
            where = f"L4T {row.l4t} (from {row.first_l4t} on) and Python {row.python}"
            what = f"{_maker(row)} {framework_title(framework.name)} {row.version}"
            if not _is_meant(row, framework):
                asked = part_in_words(str(framework))
                what = f"no wheel of {asked} is on record (compile it on the board); the newest is {what},"
                yield f"L4T {row.l4t}: {what} from {row.first_l4t} on, with Python {row.python}: {_installing(row)}"
            else:
                yield f"{what} for {where}{_beside(row)}: {_installing(row)}"


def _beside(row: JetsonWheel) -> str:
    """The torchvision that is made for a PyTorch, in words; '' for other frameworks."""
    if row.framework != "pytorch":
        return ""
    spec = VersionSpec.parse(f"=={row.version}")
    found = newest_beside(pairs_by_package().get("torchvision", ()), {"torch": (f"torch=={row.version}", spec)})
    if not found or _takes(found, row.python):
        return f" (torchvision {found} goes with it)" if found else ""
    rows = pairs_by_package()["torchvision"]
    before = rows[: [one.version for one in rows].index(found)]
    older = [one.version for one in before if _takes(one.version, row.python)]
    take = f": compile {older[-1]}" if older else ""
    return f" (torchvision {found}, which goes with it, does not run on Python {row.python}{take})"


def _takes(torchvision: str, python: Version) -> bool:
    """Whether a release of torchvision allows a Python, as far as its metadata are known."""
    bounds = (row.requires_python for row in wheels_of("torchvision", f"=={torchvision}"))
    return all(not bound or VersionSpec.parse(bound).holds(python) for bound in bounds)


def _is_meant(row: JetsonWheel, framework: FrameworkRequest) -> bool:
    return framework.spec is None or framework.spec.holds(row.version)


def _has_cuda(row: JetPack, request: Request) -> bool:
    """Whether a JetPack has the CUDA that is asked for, as far as that is known."""
    return request.cuda is None or row.cuda is None or request.cuda.holds(row.cuda)


def _python(request: Request) -> Iterator[str]:
    """That a Python without wheels for the boards is left to a build from source."""
    asked = request.python.exact if request.python is not None else None
    majors = {row.l4t.major for row in _releases(request)}
    for framework in request.frameworks if asked is not None else ():
        rows = [row for row in read(JetsonWheel) if row.framework == framework.name and row.l4t in majors]
        if asked is not None and rows and not any(asked.starts_with(row.python) for row in rows):
            known = series(str(python) for python in sorted({row.python for row in rows}))
            yield (
                f"NVIDIA's wheels for this board are for Python {known}: for Python {asked}, compile "
                f"{framework.name} on the board, or use a container that has it"
            )


def _cudnn(request: Request, knowledge: Knowledge) -> Iterator[str]:
    """The cuDNN that a release was compiled with, where the one asked for is older: it refuses that on any board."""
    asked = request.cudnn.exact if request.cudnn is not None else None
    for framework in request.frameworks if asked is not None else ():
        exact = framework.spec.exact if framework.spec is not None else None
        builds = [build for build in knowledge.tables.builds(framework.name) if exact == build.version and build.cudnn]
        needs = sorted({build.cudnn.line for build in builds if build.cudnn is not None})
        if asked is not None and needs and all(asked.line < need for need in needs):
            yield (
                f"{framework.name} {exact} is compiled with cuDNN {series(map(str, needs), 'or')}: {asked} is too old "
                f"for it; install a newer cuDNN {needs[0].major} for the board's CUDA, or compile "
                f"{framework.name} with {asked}"
            )


def _images(request: Request) -> tuple[str, ...]:
    """Which images the boards take, by what is installed on them."""
    majors = {row.l4t.major for row in _releases(request)}
    return tuple(row.told for row in read(JetsonImages) if row.l4t in majors)


def _maker(row: JetsonWheel) -> str:
    return "The Jetson Zoo's" if "jetson-zoo" in row.sources else "NVIDIA's"


def _installing(row: JetsonWheel) -> str:
    """The command; pip reads what a wheel is for from the name of its file, which not every address ends with."""
    if row.url.endswith(row.file):
        return f"python -m pip install {row.url}"
    return f"wget -O {row.file} {row.url} && python -m pip install {row.file}"


def jetson_plan(request: Request, knowledge: Knowledge) -> Plan | NoPlan:
    """A plan that chooses nothing; none for a framework, nor where a GPU cannot have the CUDA asked for."""
    judged = tuple(_cuda_verdicts(request, knowledge))
    refused = next(((gpu, verdict) for gpu, verdict in judged if verdict.status == "fail"), None)
    if refused is not None:
        gpu, verdict = refused
        return NoPlan(request, (Conflict((f"gpu {gpu}", f"cuda {request.cuda}"), verdict.detail, verdict.sources),))
    images = _images(request) if request.container else ()
    beyond = None if request.frameworks else _beyond_the_driver(request)
    if beyond is not None:
        told = (_FROM_JETPACK, *_jetpack_notes(request, knowledge), _ON_THE_BOARD)
        return NoPlan(request, (beyond,), warnings=told)
    notes = (*images, _FROM_JETPACK, *_asked_cuda(request), *_jetpack_notes(request, knowledge), _ON_THE_BOARD)
    if request.frameworks:
        ways = (*other_ways(Query(request, knowledge)), *ways_of_companions(request))
        notes = (*_wheels(request), *_python(request), *_cudnn(request, knowledge), *ways, *notes)
        return NoPlan(request, tuple(_package_conflicts(request, knowledge)), warnings=notes)
    unknown = Verdict("platform", "unknown", _FROM_JETPACK)
    return Plan(
        request,
        Choice(request.architecture),
        (unknown, *(verdict for _, verdict in judged)),
        warnings=notes,
    )


def _cuda_verdicts(request: Request, knowledge: Knowledge) -> Iterator[tuple[str, Verdict]]:
    cuda = request.cuda.exact if request.cuda else None
    if cuda is None:
        return
    for gpu in request.gpus:
        yield str(gpu), gpu_runs_cuda(gpu.compute_capability, cuda, knowledge.tables, name=str(gpu))


def _package_conflicts(request: Request, knowledge: Knowledge) -> Iterator[Conflict]:
    board = series(str(gpu) for gpu in request.gpus) or "a Jetson"
    for framework in request.frameworks:
        row = knowledge.tables.framework(framework.name)
        detail = f"{row.title if row else framework.name}'s official Arm wheels are built for servers (SBSA); "
        if framework.name == _IN_JETPACK:
            detail += "the board has the one that is part of its JetPack"
        else:
            guide = _GUIDES.get(framework.name)
            places = f"at {guide} and in the containers of {_CONTAINERS}" if guide else f"in {_CONTAINERS}"
            detail += f"those built for JetPack are {places}"
        yield Conflict((str(framework), f"gpu {board}"), detail, row.sources if row else ())
