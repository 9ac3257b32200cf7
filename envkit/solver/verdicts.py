"""The verdict on every relation of a choice, with its reason and sources."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from envkit.base.platforms import WINDOWS
from envkit.base.sentences import series
from envkit.base.versions import Version
from envkit.compat.driver import driver_runs_cuda
from envkit.compat.driver_gpu import gpu_on_kernel_module, last_driver_runs_cuda
from envkit.compat.gpu import gpu_runs_build, gpu_runs_cuda, nvcc_targets_gpu
from envkit.compat.pythons import python_has_wheel
from envkit.compat.software import (
    glibc_meets,
    gpu_on_cudnn,
    has_own_cudnn,
    needs_system_cuda,
    numpy_agree,
    title_of,
    toolkit_serves_build,
)
from envkit.compat.system import image_fits, os_compiler_fits_nvcc, runfile_on_os
from envkit.compat.tables import Tables
from envkit.compat.verdict import Verdict
from envkit.solver.assemble import cudnn_pins
from envkit.solver.model import Choice
from envkit.solver.query import Query
from envkit.solver.request import Request, TargetGpu
from envkit.solver.unjudged import unjudged
from envkit.solver.wheel_files import companions_for
from envkit.tables.loader import source
from envkit.tables.rows import FrameworkBuild, OperatingSystem, Toolkit


def verdicts(choice: Choice, query: Query) -> tuple[Verdict, ...]:
    """Every relation of the choice that can be judged: driver, GPUs, builds, Python, system."""
    return (
        *_driver_verdicts(choice, query),
        *_module_verdicts(choice, query),
        *(verdict for gpu in query.request.gpus for verdict in _gpu_verdicts(gpu, choice, query)),
        *(verdict for build in choice.builds for verdict in _build_verdicts(build, choice, query)),
        *_shared_verdicts(choice, query),
        *_system_verdicts(choice, query),
    )


def cudas_of(choice: Choice) -> list[Version]:
    """The CUDA versions that the choice loads: those inside the wheels, and the system's toolkit."""
    inside = [
        build.cuda
        for build in choice.builds
        if build.cuda and not build.cpu_only and not (choice.toolkit and needs_system_cuda(build))
    ]
    toolkit = choice.toolkit
    if toolkit is None:
        return list(dict.fromkeys(inside))
    return [*(cuda for cuda in dict.fromkeys(inside) if not toolkit.version.starts_with(cuda)), toolkit.version]


def _driver_verdicts(choice: Choice, query: Query) -> Iterator[Verdict]:
    tables, platform = query.knowledge.tables, query.request.platform
    for cuda in cudas_of(choice):
        if query.driver is not None:
            yield driver_runs_cuda(query.driver, cuda, tables, data_center=query.data_center, platform=platform)
        else:
            yield _floor_verdict(cuda, choice, query)


def _floor_verdict(cuda: Version, choice: Choice, query: Query) -> Verdict:
    """The driver that is needed, where none is there to be judged."""
    floors = query.knowledge.floors(cuda, query.request.platform)
    rows = query.knowledge.toolkits(cuda)
    sources = rows[-1].sources if rows else ()
    if floors.native is None:
        return Verdict("minimum-driver", "unknown", f"the minimum driver is not known for CUDA {cuda}", sources)
    minor = floors.minor_version
    if minor is None or minor >= floors.native:
        return Verdict("minimum-driver", "ok", f"CUDA {cuda} needs driver {floors.native} or newer", sources)
    detail = (
        f"CUDA {cuda} runs on driver {minor} or newer (minor-version compatibility); code that is JIT-compiled from "
        f"PTX needs {floors.native} or newer"
    )
    if any(query.compiles_ptx(build) for build in choice.builds if build.cuda and cuda.starts_with(build.cuda)):
        detail = f"CUDA {cuda} needs driver {floors.native} or newer here: minor-version compatibility is not enough"
    return Verdict("minimum-driver", "ok", detail, sources)


def _gpu_verdicts(gpu: TargetGpu, choice: Choice, query: Query) -> Iterator[Verdict]:
    tables, request = query.knowledge.tables, query.request
    capability, name = gpu.compute_capability, str(gpu)
    if query.driver is not None:
        yield query.knowledge.gpu_on_driver(gpu, query.driver, request.platform)
    last = query.knowledge.last_branch(gpu)
    for cuda in cudas_of(choice):
        yield gpu_runs_cuda(capability, cuda, tables, name=name)
        if last is not None:
            yield last_driver_runs_cuda(last, cuda, tables, name=name, platform=request.platform)
    if choice.toolkit is not None:
        older = nvcc_targets_gpu(capability, choice.toolkit, tables, name=name)
        if older is not None:
            yield older
    for build in choice.builds:
        if build.cuda is not None or build.cpu_only or build.sass is not None:
            level = query.level(build.cuda) if build.cuda else None
            yield gpu_runs_build(capability, build, driver_verdict=level.value if level else "", name=name)
        if build.cudnn and has_own_cudnn(build):
            yield gpu_on_cudnn(capability, build.cudnn, build.cuda, tables, name=name)
    if choice.cudnn is not None:
        yield gpu_on_cudnn(capability, choice.cudnn.version, choice.cudnn.cuda, tables, name=name)


def _build_verdicts(build: FrameworkBuild, choice: Choice, query: Query) -> Iterator[Verdict]:
    request = query.request
    if choice.python is not None:
        yield python_has_wheel(build, choice.python, query.knowledge.python_span(build))
    if request.platform != "windows":
        glibc = request.glibc or (choice.os.glibc if choice.os else None)
        where = choice.os.title if choice.os and request.glibc is None else ""
        yield glibc_meets(build, glibc, where=where)
    if choice.toolkit is not None and needs_system_cuda(build):
        yield toolkit_serves_build(build, choice.toolkit)
    elif build.cuda is not None and not query.cuda_meets(build.cuda):
        detail = (
            f"{title_of(build)} bundles its own CUDA {build.cuda}; according to its developers, it works with CUDA "
            f"{build.cuda_min} and newer, so CUDA {request.cuda} is enough"
        )
        yield Verdict("cuda-version", "ok", detail, build.sources)
    yield from unjudged(build, choice, query)
    if build.yanked:
        detail = f"{title_of(build)} was withdrawn from its index"
        yield Verdict("build-is-current", "warn", detail, build.sources)


def _shared_verdicts(choice: Choice, query: Query) -> Iterator[Verdict]:
    if len(choice.builds) > 1:
        yield numpy_agree(choice.builds)
        for pair in combinations(choice.builds, 2):
            yield from query.together.verdicts(*pair)


def _system_verdicts(choice: Choice, query: Query) -> Iterator[Verdict]:
    system, toolkit = choice.os, choice.toolkit
    if system is None:
        yield from _unknown_system(query)
        return
    if query.request.container:
        yield _image_verdict(choice, system, query)
        yield from _image_driver_verdict(choice, query)
    elif toolkit is not None:
        yield runfile_on_os(system, toolkit, query.knowledge.tables.toolkits)
    if toolkit is not None:
        yield os_compiler_fits_nvcc(system, toolkit)
        yield from _runfile_verdicts(toolkit, choice, query)
    if not query.knowledge.maintained(system):
        detail = f"standard support for {system.title} ended on {system.end_of_support}"
        yield Verdict("os-is-maintained", "warn", detail, system.sources)
    if choice.python is not None and choice.builds and choice.python_source is None:
        yield _python_verdict(choice.python, system)


def _unknown_system(query: Query) -> Iterator[Verdict]:
    if query.request.os_id is not None and query.request.platform != "windows":
        detail = f"{query.request.os_id} is not in envkit's data, so it is not known whether the plan works on it"
        yield Verdict("os-is-maintained", "unknown", detail)


def _image_verdict(choice: Choice, system: OperatingSystem, query: Query) -> Verdict:
    """The verdict on the image, or why the plan starts from the plain distribution."""
    if choice.base_image is not None:
        return image_fits(choice.base_image)
    plain = system.base_image or system.os_id
    if choice.cuda is None:
        lacking = [title_of(build) for build in choice.builds if query.knowledge.is_cuda_unknown(build)]
        if not lacking:
            return Verdict("image-on-os", "ok", f"the plan has no CUDA, so the plain {plain} image is enough")
        detail = f"it is not known which CUDA {series(lacking)} needs; the plain {plain} image has none"
        return Verdict("image-on-os", "warn", detail)
    if choice.toolkit is None:
        return Verdict("image-on-os", "ok", f"the packages bundle CUDA, so the plain {plain} image is enough")
    line = choice.toolkit.release
    detail = f"no supported image has CUDA {line} on {system.title}: the plan starts from the plain {plain} image"
    return Verdict("image-on-os", "warn", detail)


def _image_driver_verdict(choice: Choice, query: Query) -> Iterator[Verdict]:
    """That an image of nvidia/cuda refuses the driver, although minor-version compatibility covers its CUDA."""
    image, driver = choice.base_image, query.driver
    if image is None or image.cuda is None or driver is None:
        return
    from envkit.compat.image_driver import image_admits

    cuda = image.cuda
    admitted = image_admits(cuda, driver, query.request.gpus, query.knowledge.tables)
    floor = query.knowledge.floors(cuda, query.request.platform).native
    if admitted is True or floor is None or driver >= floor:
        return
    how = "refuses" if admitted is False else "may refuse"
    detail = (
        f"an image for CUDA {cuda.release(2)} {how} driver {driver}: it asks for cuda>={cuda.release(2)}, which is "
        f"driver {floor}, and its containers then stop with an unsatisfied condition. Data center GPUs have "
        "cuda-compat for certain older branches; GeForce cards need the newer driver or an image for an older CUDA"
    )
    yield Verdict("image-on-os", "warn", detail, image.sources)


def _module_verdicts(choice: Choice, query: Query) -> Iterator[Verdict]:
    """Which of NVIDIA's kernel modules the GPUs need, where a driver is to be installed."""
    if not query.request.with_driver:
        return
    tables = query.knowledge.tables
    for gpu in query.request.gpus:
        kinds = {
            kind: gpu_on_kernel_module(gpu.compute_capability, kind, tables, name=str(gpu)) for kind in (True, False)
        }
        refused = next((verdict for verdict in kinds.values() if verdict.status == "fail"), None)
        if refused is not None:
            yield Verdict(refused.relation, "ok", refused.detail, refused.sources)


def _runfile_verdicts(toolkit: Toolkit, choice: Choice, query: Query) -> Iterator[Verdict]:
    if choice.base_image is None and not choice.runfiles and query.request.platform != "windows":
        detail = f"no runfile of CUDA {toolkit.version} for {choice.architecture} is known to envkit"
        yield Verdict("runfile-for-architecture", "unknown", detail, toolkit.sources)


def _python_verdict(python: Version, system: OperatingSystem) -> Verdict:
    return Verdict("python-can-be-had", "unknown", (f"envkit knows of no way to get Python {python} on {system.title}"))


_QUIET_UNKNOWNS = ("runfile-on-os", "compiler-fits-nvcc")  # said in the verdicts; a warning of each would be noise


def warnings(choice: Choice, query: Query, judged: tuple[Verdict, ...]) -> tuple[str, ...]:
    """What a reader should know before installing: doubts, gaps in the tables, and ended projects."""
    told = [
        verdict.detail
        for verdict in judged
        if verdict.status in ("warn", "fail", "minor-version-compatibility", "forward-compatibility")
        or (verdict.status == "unknown" and verdict.relation not in _QUIET_UNKNOWNS)
    ]
    return tuple(
        dict.fromkeys(
            [
                *told,
                *_without_gpu(query.request),
                *_without_companions(choice),
                *_companions(choice, query.request),
                *_without_windows(choice, query),
                *_without_backend(choice, query),
                *_with_newer_cudnn(choice, query),
                *_ended(choice, query),
            ]
        )
    )


def _without_gpu(request: Request) -> Iterator[str]:
    if request.no_gpu and not request.gpus and not request.container:
        yield "this machine has no NVIDIA GPU, so the plan does not take one into account; use --gpu to specify one"


def _without_companions(choice: Choice) -> Iterator[str]:
    for build in choice.builds:
        if build.companions and not companions_for(build, choice.python):
            names = [line.partition("==")[0] for line in build.companions]
            have, they, them = ("has", "it is", "it") if len(names) == 1 else ("have", "they are", "them")
            yield (
                f"{series(names)} for {title_of(build)} {have} no package for Python {choice.python}, so {they} "
                f"omitted; an older --python includes {them}"
            )


def _without_backend(choice: Choice, query: Query) -> Iterator[str]:
    for build in choice.builds:
        givers = query.knowledge.cuda_from(build)
        if not givers or any(other.framework in givers for other in choice.builds):
            continue
        rows = (query.knowledge.tables.framework(name) for name in givers)
        alive = [row.name for row in rows if row is not None and not row.archived]
        example = (alive or givers)[0]
        yield f"{title_of(build)} runs on top of another framework: also specify that, such as --framework {example}"


def _with_newer_cudnn(choice: Choice, query: Query) -> Iterator[str]:
    ended = [gpu for gpu in query.request.gpus if query.knowledge.last_branch(gpu) is not None]
    for build, pin in cudnn_pins(choice.builds, query):
        unfit = f", which may not support {ended[0]}" if ended else ", and pip would install the newest"
        yield f"{pin} is pinned: {title_of(build)} also accepts newer releases of cuDNN{unfit}"


def _url(key: str) -> str:
    return source(key).url


def _without_windows(choice: Choice, query: Query) -> Iterator[str]:
    for build in choice.builds if query.request.platform == WINDOWS else ():
        newer = [row for row in query.knowledge.build_set(build.framework).builds if row.version > build.version]
        if newer and not any(WINDOWS in row.platforms for row in newer):
            yield f"{build.named} is the last release with native Windows GPU support; use WSL 2 for newer ones"
    if query.request.platform == WINDOWS and choice.needs_toolkit and not query.request.needs_toolkit:
        cudnn = f" and cuDNN {choice.cudnn_version} ({_url('nvidia-cudnn-archive')})" if choice.cudnn_version else ""
        yield f"first install CUDA {choice.cuda} ({_url('nvidia-cuda-archive')}){cudnn}"


def _companions(choice: Choice, request: Request) -> Iterator[str]:
    if request.companions:
        from envkit.solver.companions import companion_warnings

        yield from companion_warnings(choice, request)


def ended(framework: str, tables: Tables) -> Iterator[str]:
    """That a framework is no longer developed."""
    row = tables.framework(framework)
    if row is not None and row.archived:
        yield f"{row.title} is no longer developed" + (f". {row.note}" if row.note else "")


def _ended(choice: Choice, query: Query) -> Iterator[str]:
    for build in choice.builds:
        yield from ended(build.framework, query.knowledge.tables)
        image = choice.own_image(build)
        if build.package is None and (build.note or image):
            told = "; ".join(
                part for part in (f"it is distributed as the image {image}" if image else "", build.note) if part
            )
            yield f"{title_of(build)} has no package to install: {told}"
