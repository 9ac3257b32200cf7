"""A request held against the tables: what its driver, GPUs and versions say of each CUDA, worked out when asked."""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterator, Sequence
from functools import cached_property
from typing import Any

from envkit.base.versions import Version, by_line
from envkit.compat.driver_gpu import is_after
from envkit.compat.gpu import CodeMatch, nvcc_targets_gpu, target_span
from envkit.compat.packages import brings_cuda
from envkit.compat.software import cudnn_serves, needs_system_cuda, states_cuda
from envkit.compat.verdict import DriverVerdict, Verdict
from envkit.solver.knowledge import Knowledge, identity, numbers
from envkit.solver.request import Request
from envkit.solver.together import Together
from envkit.tables.rows import FrameworkBuild, OperatingSystem, Toolkit


class Query:
    """One request, and the changed ones that are tried next to it: those share their answers."""

    request: Request
    knowledge: Knowledge
    driver: Version | None
    compat: bool
    takes_compat: bool  # cuda-compat works on the GPUs
    data_center: bool  # and it may be installed
    toolkit_alone: bool  # the toolkit is what was asked for first, with no framework that it is to serve

    def __init__(
        self,
        request: Request,
        knowledge: Knowledge,
        memory: dict[Hashable, dict[Any, Any]] | None = None,
        *,
        compat: bool = True,  # False: nothing installs cuda-compat
        toolkit_alone: bool | None = None,  # None: as the request says
    ) -> None:
        self.request = request
        self.knowledge = knowledge
        self._memory = {} if memory is None else memory
        self.driver = None if request.with_driver else request.driver
        self.compat = compat
        self.takes_compat = bool(request.gpus) and all(gpu.data_center for gpu in request.gpus)
        self.data_center = compat and self.takes_compat
        self.toolkit_alone = not request.frameworks if toolkit_alone is None else toolkit_alone

    def changed(self, request: Request) -> Query:
        """The query of another request: what the change does not touch is not worked out again."""
        return Query(request, self.knowledge, self._memory, compat=self.compat, toolkit_alone=self.toolkit_alone)

    def answers(self, *asked: Hashable) -> dict[Any, Any]:
        """The answers to those who ask the same, as far as there are any."""
        return self._memory.setdefault(asked, {})

    # ---- what tells one query from another

    @cached_property
    def packages(self) -> str:
        """The platform that packages are made for."""
        return "windows" if self.request.platform == "windows" else "linux"

    @cached_property
    def machine(self) -> Hashable:
        """The driver with its GPUs, as far as the tables tell them apart."""
        gpus = tuple([identity(gpu) for gpu in self.request.gpus])
        return self.driver and self.driver.parts, gpus, self.data_center, self.request.platform

    @cached_property
    def cuda_side(self) -> Hashable:
        """All that decides about a CUDA and the cuDNN next to it."""
        cuda, cudnn = self.request.cuda, self.request.cudnn
        return self.machine, cuda and cuda.key, cudnn and cudnn.key, self.request.architecture

    # ---- the system

    @cached_property
    def system(self) -> OperatingSystem | None:
        """The requested distribution's row."""
        return self.knowledge.tables.operating_system(self.request.os_id) if self.request.os_id else None

    @cached_property
    def glibc(self) -> Version | None:
        """The target's glibc, where it has one that is known."""
        if self.request.platform == "windows":
            return None
        return self.request.glibc or (self.system.glibc if self.system else None)

    @cached_property
    def together(self) -> Together:
        """What goes together in one environment on the target."""
        return self.knowledge.together(self.request.architecture, self.request.platform)

    @cached_property
    def others(self) -> dict[str, tuple[tuple[str, bool], ...]]:
        """The other frameworks next to each of the request's, with whether a wanted build of them provides CUDA."""
        wanted = {item.name: (self.knowledge.build_set(item.name), item.spec) for item in self.request.frameworks}
        brings = {
            name: any(brings_cuda(builds.builds[place]) for place in builds.meeting(spec))
            for name, (builds, spec) in wanted.items()
        }
        return {name: tuple((other, brings[other]) for other in brings if other != name) for name in brings}

    # ---- driver and GPUs

    @cached_property
    def driver_drops_gpu(self) -> bool:
        """True when the driver no longer or not yet supports one of the GPUs."""
        driver, platform = self.driver, self.request.platform
        return driver is not None and any(
            self.knowledge.gpu_on_driver(gpu, driver, platform).status == "fail" for gpu in self.request.gpus
        )

    def level(self, cuda: Version) -> DriverVerdict | None:
        """How the driver runs a CUDA version; None when no driver is in sight."""
        if self.driver is None:
            return None
        return self.knowledge.level(self.driver, cuda, self.request.platform, self.data_center)

    def can_compile_ptx(self, build: FrameworkBuild) -> bool:
        """Whether the driver, or the newest one that the GPUs can have, compiles PTX of the build's CUDA."""
        if build.cuda is None:
            return True
        if self.level(build.cuda) is DriverVerdict.MINOR_VERSION:
            return False
        platform, tables = self.request.platform, self.knowledge.tables
        native = self.knowledge.floors(build.cuda, platform).native
        lasts = [self.knowledge.last_branch(gpu) for gpu in self.request.gpus]
        return native is None or not any(
            last is not None and is_after(native, last, tables, platform) for last in lasts
        )

    def compiles_ptx(self, build: FrameworkBuild) -> bool:
        """True when the driver has to compile the build's PTX for one of the GPUs, which needs a native driver."""
        matches = (self.knowledge.code_match(gpu.compute_capability, build) for gpu in self.request.gpus)
        return any(match is CodeMatch.JIT for match in matches)

    # ---- CUDA

    def cuda_failures(self, cuda: Version) -> tuple[str, ...]:
        """The relations by which driver or GPUs rule out a CUDA version."""
        known = self._cuda_answers
        if cuda.parts not in known:
            known[cuda.parts] = tuple(dict.fromkeys(self._found_cuda_failures(cuda)))
        failures: tuple[str, ...] = known[cuda.parts]
        return failures

    @cached_property
    def _cuda_answers(self) -> dict[Hashable, Any]:
        return self.answers("cuda-failures", self.machine)

    def _found_cuda_failures(self, cuda: Version) -> Iterator[str]:
        if self.level(cuda) is DriverVerdict.INCOMPATIBLE:
            yield "driver-runs-cuda"
        for gpu in self.request.gpus:
            yield from self.knowledge.gpu_failures(gpu, cuda, self.request.platform)

    def cuda_meets(self, cuda: Version) -> bool:
        """Whether a build's CUDA line meets the requested CUDA: `12.4.1` is met by a build for 12.4."""
        spec = self.request.cuda
        if spec is None or cuda.parts in self._wanted_lines:
            return True
        return not self.knowledge.toolkits(cuda) and spec.holds(cuda)  # a CUDA that no toolkit in the data has

    @cached_property
    def wanted_toolkits(self) -> Sequence[Toolkit]:
        """The toolkits that the request names, oldest first."""
        return self.knowledge.toolkits_meeting(self.request.cuda)

    @cached_property
    def _wanted_lines(self) -> Container[tuple[int, ...]]:
        """The CUDA versions that the request names, and the release lines that hold one."""
        if self.request.cuda is None:
            return self.knowledge.toolkits_by_line
        return by_line(self.wanted_toolkits, lambda toolkit: toolkit.version)

    @cached_property
    def toolkits(self) -> tuple[Toolkit, ...]:
        """Those of them that the driver and the GPUs allow."""
        return tuple(toolkit for toolkit in self.wanted_toolkits if not self.cuda_failures(toolkit.version))

    @cached_property
    def usable_toolkits(self) -> tuple[Toolkit, ...]:
        """Those of them that a system cuDNN as requested exists for, and that serve by themselves where they must."""
        return tuple(toolkit for toolkit in self.toolkits if self._serves(toolkit))

    @cached_property
    def has_usable_toolkit(self) -> bool:
        """Whether there is one; the newest is tried first, since it mostly is."""
        newest_first = reversed(self.wanted_toolkits)
        return any(not self.cuda_failures(one.version) and self._serves(one) for one in newest_first)

    def _serves(self, toolkit: Toolkit) -> bool:
        return self.cudnn_allowed(toolkit, None) and not (self.toolkit_alone and self.against_alone(toolkit))

    def against_alone(self, toolkit: Toolkit) -> Verdict | None:
        """Why a toolkit that is wanted for itself does not serve: its compiler does not know a GPU, or NVIDIA has ended
        its support of the system; None where nothing is known against it."""
        tables, system = self.knowledge.tables, self.system
        for gpu in self.request.gpus:
            told = nvcc_targets_gpu(gpu.compute_capability, toolkit, tables, name=str(gpu))
            if told is not None and target_span(gpu.compute_capability, tables)[0] is not None:
                return told
        if system is None or self.request.container:
            return None
        from envkit.compat.cuda_ends import cuda_end
        from envkit.compat.system import runfile_on_os

        if cuda_end(system.os_id, toolkit.version) is None:
            return None
        return runfile_on_os(system, toolkit, tables.toolkits)

    def cudnn_allowed(self, toolkit: Toolkit, build: FrameworkBuild | None) -> bool:
        """Whether a system cuDNN of the requested version exists for the toolkit, the GPUs and the build."""
        if self.request.cudnn is None:
            return True
        wanted = self.knowledge.cudnns_meeting(self.request.cudnn, toolkit, self.request.architecture)
        return wanted is None or any(
            cudnn_fits(version, build) and self.cudnn_has_kernels(version, toolkit) for version in wanted
        )

    def cudnn_has_kernels(self, cudnn: Version, toolkit: Toolkit) -> bool:
        """Whether nothing known speaks against a cuDNN of a toolkit's CUDA on the GPUs."""
        on_gpu = self.knowledge.cudnn_on_gpu
        return all(on_gpu(gpu.compute_capability, cudnn, toolkit.version) != "fail" for gpu in self.request.gpus)

    # ---- the CUDA of a build

    def against_cuda_of(self, build: FrameworkBuild) -> tuple[str, ...]:
        """The relations that rule out the CUDA of a build: its own, or every one that it could load."""
        if build.cuda is None or build.cpu_only:
            return ()
        versions = numbers(build.cuda, build.cuda_min, build.cuda_max, build.cudnn)
        known, key = self._build_answers, (needs_system_cuda(build), versions)
        if key not in known:
            known[key] = self._found_against(build, build.cuda)
        relations: tuple[str, ...] = known[key]
        return relations

    @cached_property
    def _build_answers(self) -> dict[Hashable, Any]:
        return self.answers("against-cuda", self.cuda_side)

    def _found_against(self, build: FrameworkBuild, cuda: Version) -> tuple[str, ...]:
        if needs_system_cuda(build):
            return self._against_all_of(build)
        meets = self.cuda_meets(cuda) or any(states_cuda(build, toolkit) for toolkit in self.wanted_toolkits)
        failures = self.cuda_failures(cuda) or self._against_every_release(cuda)
        return (*(() if meets else ("cuda-version",)), *failures)

    def _against_every_release(self, line: Version) -> tuple[str, ...]:
        """The relations that rule out every release of a line such as 12 that the request asks for."""
        if self.request.cuda is None or len(line.parts) > 1 or not self.request.gpus:
            return ()
        found = [self.cuda_failures(row.version) for row in self.wanted_toolkits if row.version.starts_with(line)]
        return found[-1] if all(found) and found else ()

    def _against_all_of(self, build: FrameworkBuild) -> tuple[str, ...]:
        """The relations that leave a build none of the toolkits that serve it; those against any, not all, where many.

        Empty where there is one.
        """
        if self.toolkits_for(build):
            return ()
        serving = self.knowledge.serving(build)
        wanted = [toolkit for toolkit in serving if self._is_wanted(toolkit)]
        told = [] if wanted else ["cuda-version"]
        reasons = [self.cuda_failures(toolkit.version) for toolkit in wanted or serving]
        if reasons and all(reasons):
            told += [reason for found in reasons for reason in found]
        elif wanted:
            told.append("cudnn-version")
        return tuple(dict.fromkeys(told))

    def toolkits_for(self, build: FrameworkBuild) -> tuple[Toolkit, ...]:
        """The allowed toolkits that serve a build which provides no CUDA."""
        known, key = self._toolkit_answers, numbers(build.cuda, build.cuda_min, build.cuda_max, build.cudnn)
        if key not in known:
            known[key] = tuple(
                toolkit
                for toolkit in self.knowledge.serving(build)
                if self._is_wanted(toolkit)
                and not self.cuda_failures(toolkit.version)
                and self.cudnn_allowed(toolkit, build)
            )
        toolkits: tuple[Toolkit, ...] = known[key]
        return toolkits

    @cached_property
    def _toolkit_answers(self) -> dict[Hashable, Any]:
        return self.answers("toolkits-for", self.cuda_side)

    def _is_wanted(self, toolkit: Toolkit) -> bool:
        return toolkit.version.parts in self._wanted_lines


def cudnn_fits(cudnn: Version, build: FrameworkBuild | None) -> bool:
    """Whether nothing known speaks against a system cuDNN for this build."""
    return build is None or cudnn_serves(build, cudnn) is not False
