"""The complete choice around a selection of builds, as an expert would make it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from envkit.base.platforms import WINDOWS_DRIVERS
from envkit.base.versions import Version
from envkit.compat import python_meets
from envkit.solver.model import Choice
from envkit.solver.place import Placer
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


class Arranger:
    """The choices around one selection of builds."""

    def __init__(self, selection: Selection, query: Query) -> None:
        self.selection = selection
        self.query = query
        self.request = query.request
        self.knowledge = query.knowledge
        self.placer = Placer(selection, query)

    def choice(self) -> Choice:
        """The complete choice."""
        toolkit, system, image = self.placer.best()
        python, source = self._python(system)
        cudnn = self.placer.cudnn(toolkit) if toolkit and self.placer.wants_cudnn() else None
        wheel_cuda = next((build.cuda for build in self.selection.builds if build.cuda), None)
        return Choice(
            cuda=toolkit.version if toolkit else wheel_cuda,
            toolkit=toolkit,
            runfiles=self.placer.runfiles(toolkit) if toolkit else (),
            cudnn=cudnn,
            cudnn_version=self._cudnn_version(cudnn, image),
            python=python,
            python_source=source,
            os=system,
            architecture=self.request.architecture,
            builds=self.selection.builds,
            base_image=image,
            minimum_driver=self._minimum_driver(toolkit),
            needs_toolkit=toolkit is not None,
            framework_images=tuple(image for build in self.selection.builds for image in self._own_images(build)),
        )

    def _own_images(self, build: FrameworkBuild) -> Iterator[FrameworkImage]:
        """The images of its own project that a build without a package comes as."""
        for image in () if build.package else self.knowledge.tables.framework_images:
            same = image.framework == build.framework and image.version == build.version
            if same and (image.cuda is None) == (build.cuda is None):
                yield image

    def _cudnn_version(self, cudnn: CudnnRelease | None, image: ImageTag | None) -> Version | None:
        if cudnn is not None:
            in_image = image is not None and bool(image.cudnn)
            return Version.of(cudnn.soname_major) if in_image else cudnn.version
        return next((build.cudnn for build in self.selection.builds if build.cudnn), None)

    def _python(self, system: OperatingSystem | None) -> tuple[Version | None, PythonSource | None]:
        """The system's own Python where it is maintained and fits, else the newest that can be had."""
        own = system.default_python.release(2) if system and system.default_python else None
        sources = [row for row in self.knowledge.tables.python_sources if self._source_fits(row, system)]
        allowed = self.selection.pythons
        if allowed is None:
            offered = {row.python for row in sources} | ({own} if own else set())
            allowed = frozenset(python for python in offered if python_meets(self.request.python, python))
        if not allowed:
            return (self.request.python.exact if self.request.python else None), None
        if own in allowed and system is not None and self.knowledge.maintained(system):
            return own, _plainest(sources, own)
        pinned = [row for row in sources if row.pinned]
        had = [python for python in allowed if _plainest(pinned, python)]
        had = had or [python for python in allowed if _plainest(sources, python)] or list(allowed)
        python = max(had)
        return python, _plainest(sources, python)

    def _source_fits(self, row: PythonSource, system: OperatingSystem | None) -> bool:
        if row.architectures and self.request.architecture not in row.architectures:
            return False
        if row.os_ids:
            return system is not None and system.os_id in row.os_ids
        if self.request.platform == "windows" and row.min_glibc is not None:
            return False  # a way that needs a glibc is one for Linux
        glibc = self.query.glibc or (system.glibc if system else None)
        return row.min_glibc is None or glibc is None or glibc >= row.min_glibc

    def _minimum_driver(self, toolkit: Toolkit | None) -> Version | None:
        """The lowest driver that runs every CUDA of the choice on the GPUs that were named; None without CUDA."""
        system_builds = self.placer.system_builds
        own = [build for build in self.selection.builds if build.cuda and not build.cpu_only]
        floors = [self._floor(build.cuda, [build]) for build in own if build not in system_builds and build.cuda]
        if toolkit is not None:
            floors.append(self._floor(toolkit.version, system_builds))
        if not floors:
            return None
        known = map(self.knowledge.first_driver, self.request.gpus)
        windows = self.request.platform in WINDOWS_DRIVERS  # its drivers share no more than the branch with those
        firsts = (first.release(1) if windows and first else first for first in known)
        return max((floor for floor in (*floors, *firsts) if floor), default=None)

    def _floor(self, cuda: Version, builds: Iterable[FrameworkBuild]) -> Version | None:
        floors = self.knowledge.floors(cuda, self.request.platform)
        if (
            floors.minor_version is None
            or floors.native is None
            or any(self.query.compiles_ptx(build) for build in builds)
        ):
            return floors.native
        return min(floors.native, floors.minor_version)


def _plainest(sources: Iterable[PythonSource], python: Version | None) -> PythonSource | None:
    fitting = [row for row in sources if python is not None and row.python.starts_with(python)]
    return min(fitting, key=lambda row: WAYS.index(row.way) if row.way in WAYS else len(WAYS), default=None)
