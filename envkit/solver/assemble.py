"""The complete choice around a selection of builds, as an expert would make it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from envkit.base.platforms import WINDOWS_DRIVERS
from envkit.base.versions import Version
from envkit.compat.pythons import python_meets
from envkit.compat.software import has_own_cudnn
from envkit.solver.choose_system import choose_system, cudnn_for, runfiles_for
from envkit.solver.model import Choice
from envkit.solver.query import Query
from envkit.solver.search import Selection
from envkit.tables.rows import (
    CudnnRelease,
    FrameworkBuild,
    FrameworkImage,
    ImageTag,
    OperatingSystem,
    PythonSource,
    Toolkit,
)

WAYS = ("system", "deadsnakes", "standalone", "conda")  # to get a Python, the plainest first


def assemble(selection: Selection, query: Query) -> Choice:
    """The complete choice around a selection."""
    toolkit, system, image = choose_system(selection, query)
    python, source = _python(system, selection, query)
    cudnn = cudnn_for(toolkit, selection, query) if toolkit else None
    wheel_cuda = next((build.cuda for build in selection.builds if build.cuda), None)
    driver, first_of = _minimum_driver(toolkit, selection, query)
    return Choice(
        cuda=toolkit.version if toolkit else wheel_cuda,
        toolkit=toolkit,
        runfiles=runfiles_for(toolkit, query) if toolkit else (),
        cudnn=cudnn,
        cudnn_version=_cudnn_version(cudnn, image, selection, query),
        python=python,
        python_source=source,
        os=system,
        architecture=query.request.architecture,
        builds=selection.builds,
        base_image=image,
        minimum_driver=driver,
        first_driver_of=first_of,
        needs_toolkit=toolkit is not None,
        framework_images=tuple(image for build in selection.builds for image in _own_images(build, query)),
        pins=tuple(pin for _, pin in cudnn_pins(selection.builds, query)),
    )


def _own_images(build: FrameworkBuild, query: Query) -> Iterator[FrameworkImage]:
    """The images of its own project that a build without a package comes as."""
    for image in () if build.package else query.knowledge.tables.framework_images:
        same = image.framework == build.framework and image.version == build.version
        if same and (image.cuda is None) == (build.cuda is None):
            yield image


def _cudnn_version(
    cudnn: CudnnRelease | None, image: ImageTag | None, selection: Selection, query: Query
) -> Version | None:
    """The cuDNN of the plan; of wheels the one that was asked for where they leave that to pip."""
    if cudnn is not None:
        in_image = image is not None and bool(image.cudnn)
        return Version.of(cudnn.soname_major) if in_image else cudnn.version
    asked = query.request.cudnn.exact if query.request.cudnn is not None else None
    own = next((build for build in selection.builds if build.cudnn), None)
    if own is None or own.cudnn is None or asked is None or own.cudnn.starts_with(asked):
        return own.cudnn if own is not None else None
    return asked if query.together.open_cudnn(own) is not None else own.cudnn


def _python(
    system: OperatingSystem | None, selection: Selection, query: Query
) -> tuple[Version | None, PythonSource | None]:
    """The system's own Python where it is maintained and fits, otherwise the newest that can be obtained."""
    wanted, allowed = query.request.python, selection.pythons
    own = system.default_python.release(2) if system and system.default_python else None
    sources = [row for row in query.knowledge.tables.python_sources if _source_fits(row, system, query)]
    if allowed is None:
        offered = {row.python for row in sources} | ({own} if own else set())
        allowed = frozenset(python for python in offered if python_meets(wanted, python))
    if not allowed:
        return (wanted.exact if wanted else None), None
    if query.request.companions:
        from envkit.solver.companions import pythons_with_wheels

        allowed = pythons_with_wheels(allowed, selection.builds, query.request)
    if own in allowed and system is not None and query.knowledge.maintained(system):
        return own, _plainest(sources, own)
    pinned = [row for row in sources if row.pinned]
    had = [python for python in allowed if _plainest(pinned, python)]
    had = had or [python for python in allowed if _plainest(sources, python)] or _settled(allowed, query)
    python = max(had)
    return python, _plainest(sources, python)


def _settled(allowed: frozenset[Version], query: Query) -> list[Version]:
    """Those that are returned with a pin on any system, where none is recorded for this one; otherwise all.

    A Python that has just come out has packages of the framework, and none of what goes with it.
    """
    pinned = {row.python for row in query.knowledge.tables.python_sources if row.pinned}
    return [python for python in allowed if python in pinned] or list(allowed)


def _source_fits(row: PythonSource, system: OperatingSystem | None, query: Query) -> bool:
    if row.architectures and query.request.architecture not in row.architectures:
        return False
    if row.os_ids:
        return system is not None and system.os_id in row.os_ids
    if query.request.platform == "windows" and row.min_glibc is not None:
        return False  # a way that needs a glibc is one for Linux
    glibc = query.glibc or (system.glibc if system else None)
    return row.min_glibc is None or glibc is None or glibc >= row.min_glibc


def _minimum_driver(toolkit: Toolkit | None, selection: Selection, query: Query) -> tuple[Version | None, str]:
    """The lowest driver that runs every CUDA of the choice on the named GPUs, and the GPU, if any, that asks for it."""
    loading = selection.system_builds
    own = [build for build in selection.builds if build.cuda and not build.cpu_only and build not in loading]
    floors = [_floor(build.cuda, [build], query) for build in own if build.cuda]
    if toolkit is not None:
        floors.append(_floor(toolkit.version, loading, query))
    if not floors:
        return None, ""
    lowest, of_gpu = max((floor for floor in floors if floor), default=None), ""
    windows = query.request.platform in WINDOWS_DRIVERS  # its drivers share no more than the branch with those
    for gpu in query.request.gpus:
        known = query.knowledge.first_driver(gpu)
        first = known.release(1) if windows and known else known
        if first and (lowest is None or first > lowest):
            lowest, of_gpu = first, str(gpu).partition(" (")[0]
    return lowest, of_gpu


def _floor(cuda: Version, builds: Iterable[FrameworkBuild], query: Query) -> Version | None:
    floors = query.knowledge.floors(cuda, query.request.platform)
    needs_native = floors.minor_version is None or any(query.compiles_ptx(build) for build in builds)
    return floors.native if needs_native or floors.native is None else floors.lowest


def _plainest(sources: Iterable[PythonSource], python: Version | None) -> PythonSource | None:
    fitting = [row for row in sources if python is not None and row.python.starts_with(python)]
    return min(fitting, key=lambda row: WAYS.index(row.way) if row.way in WAYS else len(WAYS), default=None)


def cudnn_pins(builds: Iterable[FrameworkBuild], query: Query) -> Iterator[tuple[FrameworkBuild, str]]:
    """Each build whose requirement of cuDNN is open, with the pin.

    Only for a cuDNN that was asked for, and for GPUs that NVIDIA no longer develops for.
    """
    told = query.request.cudnn.exact if query.request.cudnn is not None else None
    asked = told if told is not None and len(told.parts) > 1 else None  # of a major alone, any will do
    if asked is None and all(query.knowledge.last_branch(gpu) is None for gpu in query.request.gpus):
        return
    for build in builds:
        line = query.together.open_cudnn(build) if build.cudnn is not None and has_own_cudnn(build) else None
        if line is not None and build.cudnn is not None:
            release = build.cudnn if asked is None or build.cudnn.starts_with(asked) else asked
            yield build, f"{line.package}=={release}{'' if len(release.parts) > 3 else '.*'}"
