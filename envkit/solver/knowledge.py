"""The tables as the resolver reads them: indexed, and with each relation's answer to the same values kept."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import TypeVar

from envkit.base.platforms import WINDOWS_DRIVERS
from envkit.base.versions import ComputeCapability, Version, VersionSpec, by_line
from envkit.compat.cuda_line import toolkits_by_line
from envkit.compat.driver import DriverFloors, branch_of, compat_branches, driver_level, floors_of
from envkit.compat.driver_gpu import first_driver_for_gpu, gpu_on_driver, last_branch_of, last_branch_reaches
from envkit.compat.gpu import CodeMatch, best_match, code_match
from envkit.compat.pythons import ANY_PYTHON, PythonSpan, python_span
from envkit.compat.software import LibraryMatch, cudnn_meets, cudnn_status, cudnn_supports_cuda, toolkit_serves
from envkit.compat.system import compiling_effort
from envkit.compat.tables import Tables
from envkit.compat.verdict import DriverVerdict, Verdict
from envkit.solver.build_set import BuildSet
from envkit.solver.request import TargetGpu
from envkit.solver.together import Together
from envkit.tables.rows import CudnnRelease, FrameworkBuild, ImageTag, OperatingSystem, Runfile, Toolkit

T = TypeVar("T")


class Knowledge:
    """The tables with a memory; only what a request touches is read."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self._known: dict[Hashable, object] = {}

    def _once(self, key: Hashable, work: Callable[[], T]) -> T:
        if key not in self._known:
            self._known[key] = work()
        return self._known[key]  # type: ignore[return-value]  # the key names the work, so the type is its own

    def toolkits(self, cuda: Version) -> Sequence[Toolkit]:
        """The toolkits of a CUDA version or release line."""
        return self.toolkits_by_line.get(cuda.parts, ())

    def toolkits_meeting(self, spec: VersionSpec | None) -> Sequence[Toolkit]:
        """The toolkits whose version meets `spec`, oldest first."""
        if spec is None:
            return self.tables.toolkits
        if spec.line is not None:
            return self.toolkits_by_line.get(spec.line, ())
        return [toolkit for toolkit in self.tables.toolkits if spec.holds(toolkit.version)]

    @cached_property
    def toolkits_by_line(self) -> Mapping[tuple[int, ...], Sequence[Toolkit]]:
        """The toolkits by every release line that holds them."""
        return toolkits_by_line(self.tables)

    def floors(self, cuda: Version, platform: str) -> DriverFloors:
        """The driver floors of a CUDA version or release line."""
        key = ("floors", cuda.parts, platform)
        return self._once(key, lambda: floors_of(cuda, self.toolkits(cuda), self.tables, platform))

    def level(self, driver: Version, cuda: Version, platform: str, data_center: bool) -> DriverVerdict:
        """How a driver runs a CUDA version."""

        def work() -> DriverVerdict:
            floors = self.floors(cuda, platform)
            if not data_center or platform in WINDOWS_DRIVERS:
                return driver_level(driver, floors)
            compat = compat_branches(self.toolkits(cuda.line))
            return driver_level(driver, floors, branch_of(driver, self.tables), True, compat)

        return self._once(("level", driver.parts, cuda.parts, platform, data_center), work)

    def gpu_runs_cuda(self, gpu: ComputeCapability, cuda: Version) -> bool | None:
        """Whether a CUDA version knows a GPU."""
        key = ("gpu", gpu.major, gpu.minor, cuda.parts)
        return self._once(key, lambda: best_match(gpu, self.toolkits(cuda)).runs)

    def gpu_failures(self, gpu: TargetGpu, cuda: Version, platform: str) -> tuple[str, ...]:
        """The relations by which a GPU rules out a CUDA version."""
        key = ("gpu-cuda", identity(gpu), cuda.parts, platform)
        return self._once(key, lambda: tuple(self._gpu_failures(gpu, cuda, platform)))

    def _gpu_failures(self, gpu: TargetGpu, cuda: Version, platform: str) -> Iterator[str]:
        if self.gpu_runs_cuda(gpu.compute_capability, cuda) is False:
            yield "gpu-runs-cuda"
        last = self.last_branch(gpu)
        if last is None:
            return
        if last_branch_reaches(last, self.floors(cuda, platform), self.tables, platform) is False:
            yield "gpu-last-driver"

    def code_match(self, gpu: ComputeCapability, build: FrameworkBuild) -> CodeMatch:
        """How a GPU runs a build's code."""
        return code_match(gpu, build.sass, build.ptx, build.min_compute_capability)

    def releases(self, framework: str) -> list[tuple[FrameworkBuild, ...]]:
        """A framework's builds by release, newest first and withdrawn ones last; GPU builds where it has any."""
        return self._once(("releases", framework), lambda: _releases(self.tables.builds(framework)))

    def build_set(self, framework: str) -> BuildSet:
        """All of them."""
        return self._once(("builds", framework), lambda: BuildSet(chain.from_iterable(self.releases(framework))))

    def has_newer(self, build: FrameworkBuild, spec: VersionSpec | None) -> bool:
        """Whether there is a newer release of a build's framework within the versions asked for."""
        known = self.build_set(build.framework)
        if spec is None:
            return known.newest > build.version
        return any(known.builds[place].version > build.version for place in known.meeting(spec))

    def cudnn_on_gpu(self, gpu: ComputeCapability, cudnn: Version, cuda: Version | None) -> str:
        """The status of a cuDNN version on a GPU: ok, fail or unknown."""
        return cudnn_status(self.tables, gpu, cudnn.parts, cuda.major if cuda else None)

    def python_span(self, build: FrameworkBuild) -> PythonSpan:
        """What the other releases of its framework say about the Pythons of a build whose row names none."""
        if build.pythons:
            return ANY_PYTHON
        key = ("span", build.framework, build.version.parts)
        return self._once(key, lambda: python_span(build, self.tables.builds(build.framework)))

    def pythons(self, build: FrameworkBuild) -> Sequence[Version]:
        """The Pythons of a build's packages, or those that the releases before and after it leave; otherwise none."""
        span = self.python_span(build)
        if span == ANY_PYTHON:
            return build.pythons
        return self._once(("pythons", span), lambda: [line for line in self._python_lines if span.may_hold(line)])

    @cached_property
    def _python_lines(self) -> list[Version]:
        """Every Python that can be obtained."""
        return sorted({row.python.release(2) for row in self.tables.python_sources})

    def cuda_from(self, build: FrameworkBuild) -> tuple[str, ...]:
        """The frameworks whose CUDA a build uses, where it has none of its own."""
        framework = self.tables.framework(build.framework) if build.cuda is None else None
        return framework.cuda_from if framework is not None else ()

    def is_cuda_unknown(self, build: FrameworkBuild) -> bool:
        """True for a build that uses a CUDA, which is not recorded, and not that of another framework."""
        return build.cuda is None and not build.cpu_only and not self.cuda_from(build)

    def cudnn_meets(self, build: FrameworkBuild, wanted: VersionSpec) -> bool | None:
        """Whether the cuDNN that a build has or was made for is a requested one; None where that is not known."""
        key = ("cudnn-meets", numbers(build.cuda, build.cudnn), wanted.key)
        return self._once(key, lambda: cudnn_meets(build, wanted, self.tables))

    def together(self, architecture: str, platform: str) -> Together:
        """What goes together in one environment."""
        return self._once(("together", architecture, platform), lambda: Together(self.tables, architecture, platform))

    def serving(self, build: FrameworkBuild) -> tuple[Toolkit, ...]:
        """The toolkits whose libraries serve a build that provides none."""
        return self._once(
            ("serving", numbers(build.cuda, build.cuda_min, build.cuda_max)),
            lambda: tuple(
                toolkit for toolkit in self.tables.toolkits if toolkit_serves(build, toolkit) is not LibraryMatch.NONE
            ),
        )

    def runfiles(self, toolkit: Toolkit, architecture: str) -> tuple[Runfile, ...]:
        """The installers of a toolkit for a processor."""
        key = ("runfiles", toolkit.version.parts, architecture)
        return self._once(key, lambda: self.tables.runfiles(toolkit.version, architecture))

    def compiling_effort(self, system: OperatingSystem, toolkit: Toolkit) -> int:
        """How much it takes to compile with a toolkit's nvcc on a system."""
        key = ("effort", system.os_id, toolkit.version.parts)
        return self._once(key, lambda: compiling_effort(system, toolkit))

    @cached_property
    def long_term_ubuntus(self) -> tuple[OperatingSystem, ...]:
        """The long-term Ubuntu releases that have a plain image, newest first: what is chosen when nobody says.

        One that is not a year old, for which much is not made yet, comes after the others.
        """
        rows = (row for row in self.tables.operating_systems if row.base_image and _is_long_term_ubuntu(row.os_id))
        newest_first = sorted(rows, key=lambda row: Version.find(row.os_id) or Version.of(0), reverse=True)
        return tuple(sorted(newest_first, key=lambda row: _is_fresh(row, self.tables.data_date)))

    def cudnns(self, toolkit: Toolkit, architecture: str) -> tuple[CudnnRelease, ...]:
        """The cuDNN builds made for a toolkit on a processor, newest first."""
        line = toolkit.release  # a cuDNN build is made for release lines
        return self._once(
            ("cudnns", line.parts, architecture),
            lambda: tuple(
                row
                for row in self._cudnns_by_major.get(line.major, ())
                if row.architecture == architecture and cudnn_supports_cuda(row, line)
            ),
        )

    def cudnns_meeting(self, spec: VersionSpec, toolkit: Toolkit, architecture: str) -> list[Version] | None:
        """Their versions that meet `spec`; None where none is recorded at all."""
        rows = self.cudnns(toolkit, architecture)
        if not rows:
            return None
        if spec.line is None:
            return [row.version for row in rows if spec.holds(row.version)]
        key = ("cudnn-lines", toolkit.release.parts, architecture)
        return self._once(key, lambda: by_line((row.version for row in rows), _itself)).get(spec.line, [])

    @cached_property
    def _cudnns_by_major(self) -> dict[int, list[CudnnRelease]]:
        groups: dict[int, list[CudnnRelease]] = {}
        for row in reversed(self.tables.cudnns):
            groups.setdefault(row.cuda.major, []).append(row)
        return groups

    def gpu_on_driver(self, gpu: TargetGpu, driver: Version, platform: str) -> Verdict:
        """The verdict on a driver and a GPU, with its reason."""
        return self._once(
            ("driver", identity(gpu), gpu.name, driver.parts, platform),
            lambda: gpu_on_driver(
                gpu.compute_capability,
                driver,
                self.tables,
                name=str(gpu),
                last_driver_branch=gpu.last_driver_branch,
                first_driver=gpu.first_driver,
                platform=platform,
            ),
        )

    def first_driver(self, gpu: TargetGpu) -> Version | None:
        """The first driver that knows a GPU; None where none is recorded."""
        return self._once(
            ("first", identity(gpu)),
            lambda: first_driver_for_gpu(gpu.compute_capability, self.tables, gpu.first_driver),
        )

    @cached_property
    def compute_capabilities(self) -> set[ComputeCapability]:
        """Those of all GPUs in the data that a framework was ever built for."""
        every = {gpu.compute_capability for gpu in self.tables.gpus}
        return {capability for capability in every if not capability.before_fermi}

    def last_branch(self, gpu: TargetGpu) -> int | None:
        """The last driver branch that supports a GPU; None while the newest one does or nothing is recorded."""
        if gpu.last_driver_branch is not None:
            return gpu.last_driver_branch
        return self._once(("last", identity(gpu)), lambda: last_branch_of(gpu.compute_capability, self.tables))

    @cached_property
    def supported_images(self) -> dict[tuple[int, ...], tuple[ImageTag, ...]]:
        """The supported CUDA image tags that name their system, by CUDA version, in the order of their names."""
        groups: dict[tuple[int, ...], list[ImageTag]] = {}
        for tag in self.tables.supported_image_tags:
            if tag.cuda is not None and tag.os_id:
                groups.setdefault(tag.cuda.parts, []).append(tag)
        return {cuda: tuple(sorted(tags, key=lambda tag: tag.tag)) for cuda, tags in groups.items()}

    def images(self, toolkit: Toolkit) -> tuple[ImageTag, ...]:
        """The supported image tags of one toolkit release."""
        parts = toolkit.version.parts
        return self.supported_images.get(parts, ()) or self.supported_images.get(parts[:2], ())

    def maintained(self, system: OperatingSystem) -> bool:
        """True unless the distribution's standard support had ended when the tables were made."""
        return system.end_of_support is None or system.end_of_support >= self.tables.data_date


_LATEST: list[Knowledge] = []


def knowledge_of(tables: Tables) -> Knowledge:
    """What is known of these tables, kept until other tables are asked about."""
    for knowledge in tuple(_LATEST):
        if knowledge.tables is tables:
            return knowledge
    made = Knowledge(tables)
    _LATEST[:] = [made]
    return made


def gpu_builds(builds: tuple[FrameworkBuild, ...]) -> tuple[FrameworkBuild, ...]:
    """The builds that use a GPU; all of them where none is known to."""
    return tuple(build for build in builds if not build.cpu_only) or builds


def _releases(builds: tuple[FrameworkBuild, ...]) -> list[tuple[FrameworkBuild, ...]]:
    groups: dict[tuple[bool, tuple[int, ...]], list[FrameworkBuild]] = {}
    for build in gpu_builds(builds):
        groups.setdefault((not build.yanked, build.version.parts), []).append(build)
    ordered = sorted(groups, key=lambda key: (key[0], Version(key[1]).order), reverse=True)
    return [tuple(groups[key]) for key in ordered]


def _is_fresh(system: OperatingSystem, today: str) -> bool:
    """Whether a system (2026-04) is younger than a year."""
    year, _, rest = today.partition("-")
    return system.released is not None and system.released > f"{int(year) - 1}-{rest[:2]}"


def _itself(version: Version) -> Version:
    return version


def numbers(*versions: Version | None) -> Hashable:
    """What tells versions from others; 12 and 12.0 are equal, and different release lines."""
    return tuple([version and version.parts for version in versions])


def identity(gpu: TargetGpu) -> Hashable:
    """What tells one GPU from another for the tables."""
    capability, first = gpu.compute_capability, gpu.first_driver
    return capability.major, capability.minor, gpu.last_driver_branch, first and first.parts


def _is_long_term_ubuntu(os_id: str) -> bool:
    """True for the Ubuntu releases of April in even years, which are the long-term ones."""
    version = Version.find(os_id)
    april = version is not None and version.minor == 4 and version.major % 2 == 0
    return april and os_id.startswith("ubuntu")
