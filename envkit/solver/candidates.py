"""Which builds of a framework a request lets through, each rejected one with the relations that rule it out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import groupby

from envkit import compat as relations
from envkit._startup.records import record
from envkit.base.versions import Version, by_line
from envkit.compat import CodeMatch
from envkit.compat.verdict import DriverVerdict
from envkit.solver.aspects import (
    ASPECTS,
    Answers,
    Aspect,
    Marks,
    Shelf,
    cuda_of_system,
    has_own_cudnn,
    needs_system_cuda,
    python_meets,
)
from envkit.solver.knowledge import Knowledge, identity
from envkit.solver.request import FrameworkRequest, Request
from envkit.solver.together import Together
from envkit.tables.rows import FrameworkBuild, OperatingSystem, Toolkit

LEVEL_ORDER = {
    None: 0,  # no driver in sight: nothing to prefer
    DriverVerdict.NATIVE: 0,
    DriverVerdict.MINOR_VERSION: 1,
    DriverVerdict.FORWARD: 2,
    DriverVerdict.UNKNOWN: 3,
    DriverVerdict.INCOMPATIBLE: 4,
}
_CODE = {CodeMatch.NATIVE: 0, CodeMatch.BINARY: 0, CodeMatch.JIT: 1, CodeMatch.UNKNOWN: 2, CodeMatch.NONE: 3}


@record
class Candidate:
    """A build that passes every relation of its own.

    `pythons` are those of its packages that the request allows, empty where they are not recorded; `toolkits` those
    that it can load CUDA from, None when it needs none.
    """

    build: FrameworkBuild
    pythons: frozenset[Version]
    toolkits: tuple[Toolkit, ...] | None


class Judge:
    """The relations applied to one request."""

    request: Request

    def __init__(self, request: Request, knowledge: Knowledge) -> None:
        self.request = request
        self.knowledge = knowledge
        self.driver = None if request.with_driver else request.driver
        self.data_center = bool(request.gpus) and all(gpu.data_center for gpu in request.gpus)
        self._wanted_cudnns: dict[tuple[int, ...], list[Version] | None] = {}
        self._pythons: dict[int, frozenset[Version]] = {}
        self._toolkits_for: dict[object, tuple[Toolkit, ...]] = {}
        self._answers: dict[str, Answers] = {}
        self._others: dict[str, tuple[tuple[str, bool], ...]] = {}

    @cached_property
    def machine(self) -> Hashable:
        """What tells one driver with its GPUs from another; quick to hash, as most questions are kept under it."""
        gpus = tuple([identity(gpu) for gpu in self.request.gpus])
        told = (self.driver and self.driver.parts, gpus, self.data_center, self.request.platform)
        return self.knowledge.number(told)

    @cached_property
    def system(self) -> OperatingSystem | None:
        """The requested distribution's row."""
        return self.knowledge.tables.operating_system(self.request.os_id) if self.request.os_id else None

    @cached_property
    def glibc(self) -> Version | None:
        """The target's glibc, where it is known."""
        return self.request.glibc or (self.system.glibc if self.system else None)

    @cached_property
    def driver_drops_gpu(self) -> bool:
        """True when the driver no longer or not yet supports one of the GPUs."""
        driver = self.driver
        return driver is not None and any(
            self.knowledge.driver_on_gpu(gpu, driver, self.request.platform) == "fail" for gpu in self.request.gpus
        )

    def level(self, cuda: Version) -> DriverVerdict | None:
        """How the driver runs a CUDA version; None when no driver is in sight."""
        if self.driver is None:
            return None
        return self.knowledge.level(self.driver, cuda, self.request.platform, self.data_center)

    def cuda_failures(self, cuda: Version) -> tuple[str, ...]:
        """The relations by which driver or GPUs rule out a CUDA version."""
        known = self._cuda_answers
        if cuda.parts not in known:
            known[cuda.parts] = tuple(dict.fromkeys(self._found_cuda_failures(cuda)))
        return known[cuda.parts]

    @cached_property
    def _cuda_answers(self) -> dict[Hashable, tuple[str, ...]]:
        return self.knowledge.answers("cuda-failures", self.machine).names

    def _found_cuda_failures(self, cuda: Version) -> Iterator[str]:
        if self.level(cuda) is DriverVerdict.INCOMPATIBLE:
            yield "driver-runs-cuda"
        for gpu in self.request.gpus:
            yield from self.knowledge.gpu_failures(gpu, cuda, self.request.platform)

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
        """Those of them that a system cuDNN as requested exists for."""
        return tuple(toolkit for toolkit in self.toolkits if self.cudnn_allowed(toolkit, None))

    @property
    def has_usable_toolkit(self) -> bool:
        """Whether there is one: the newest are looked at first, as most often they will do."""
        return any(
            not self.cuda_failures(toolkit.version) and self.cudnn_allowed(toolkit, None)
            for toolkit in reversed(self.wanted_toolkits)
        )

    def cudnn_allowed(self, toolkit: Toolkit, build: FrameworkBuild | None) -> bool:
        """Whether a system cuDNN of the requested version exists for the toolkit and serves the build."""
        spec, line = self.request.cudnn, toolkit.release.parts
        if spec is None:
            return True
        if line not in self._wanted_cudnns:
            self._wanted_cudnns[line] = self.knowledge.cudnns_meeting(spec, toolkit, self.request.architecture)
        wanted = self._wanted_cudnns[line]
        return wanted is None or any(self.cudnn_fits(version, build) for version in wanted)

    def cudnn_fits(self, cudnn: Version, build: FrameworkBuild | None) -> bool:
        """Whether nothing known speaks against a system cuDNN for this build."""
        return build is None or relations.cudnn_serves(build, cudnn) is not False

    def toolkits_for(self, build: FrameworkBuild) -> tuple[Toolkit, ...]:
        """The allowed toolkits that serve a build which brings no CUDA."""
        key = cuda_of_system(build)
        if key not in self._toolkits_for:
            self._toolkits_for[key] = tuple(
                toolkit
                for toolkit in self.knowledge.serving(build)
                if self._allows(toolkit) and self.cudnn_allowed(toolkit, build)
            )
        return self._toolkits_for[key]

    def _allows(self, toolkit: Toolkit) -> bool:
        return toolkit.version.parts in self._wanted_lines and not self.cuda_failures(toolkit.version)

    def ruled_out_by(self, aspect: Aspect, build: FrameworkBuild) -> tuple[str, ...]:
        """The relations by which one side of a build rules it out; none where it passes."""
        known, key = self._answers_of(aspect).names, aspect.of_build(build)
        if key not in known:
            known[key] = tuple(dict.fromkeys(aspect.failures(self, build)))
        return known[key]

    def _answers_of(self, aspect: Aspect) -> Answers:
        if aspect.name not in self._answers:
            self._answers[aspect.name] = self.knowledge.answers(aspect.name, aspect.of_request(self))
        return self._answers[aspect.name]

    def rejected(self, framework: FrameworkRequest) -> list[tuple[FrameworkBuild, tuple[str, ...]]]:
        """The builds of the wanted versions, newest release first, each with the relations that rule it out."""
        shelf = self.knowledge.shelf(framework.name)
        return [
            (build, tuple(name for aspect in ASPECTS for name in self.ruled_out_by(aspect, build)))
            for build in shelf.picked(shelf.of(framework.spec))
        ]

    def rejections(self, framework: FrameworkRequest) -> Counter[str]:
        """How many builds of any version each relation rules out."""
        shelf = self.knowledge.shelf(framework.name)
        counts = Counter({"framework-version": len(shelf.builds) - shelf.of(framework.spec).bit_count()})
        for aspect in ASPECTS:
            for build, alike in shelf.groups(aspect).values():
                for name in self.ruled_out_by(aspect, build):
                    counts[name] += alike.bit_count()
        return +counts

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
            last is not None and relations.is_after(native, last, tables, platform) for last in lasts
        )

    def compiles_ptx(self, build: FrameworkBuild) -> bool:
        """True when the driver has to compile the build's PTX for one of the GPUs, which needs a native driver."""
        gpus = self.request.gpus
        return any(self.knowledge.code_match(gpu.compute_capability, build) is CodeMatch.JIT for gpu in gpus)

    def cuda_meets(self, cuda: Version) -> bool:
        """Whether a build's CUDA line meets the requested CUDA: `12.4.1` is met by a build for 12.4."""
        spec = self.request.cuda
        if spec is None or cuda.parts in self._wanted_lines:
            return True
        return not self.knowledge.toolkits(cuda) and spec.holds(cuda)  # a CUDA that no toolkit on record has

    def candidate(self, build: FrameworkBuild) -> Candidate:
        """A build that passed, not ranked yet."""
        cell = id(build.pythons)  # the tables keep it
        if cell not in self._pythons:
            meeting = (python for python in build.pythons if python_meets(self.request.python, python))
            self._pythons[cell] = frozenset(meeting)
        return Candidate(build, self._pythons[cell], self.toolkits_for(build) if needs_system_cuda(build) else None)

    def kind(self, candidate: Candidate) -> Hashable:
        """What other builds see of a candidate: two of a kind go with the same ones."""
        build, rows = candidate.build, candidate.toolkits
        toolkits = None if rows is None else tuple([row.version.parts for row in rows])
        others = self._others_of(build.framework)
        traits = self.together.traits(build, others) if others else None
        return candidate.pythons, build.numpy, toolkits, traits

    def _others_of(self, framework: str) -> tuple[tuple[str, bool], ...]:
        """The other frameworks of the request, each with whether a wanted build of it brings CUDA libraries."""
        if framework not in self._others:
            shelves = [(item, self.knowledge.shelf(item.name)) for item in self.request.frameworks]
            self._others[framework] = tuple(
                (item.name, any(relations.brings_cuda(build) for build in shelf.picked(shelf.of(item.spec))))
                for item, shelf in shelves
                if item.name != framework
            )
        return self._others[framework]

    @cached_property
    def together(self) -> Together:
        """What goes together in one environment on the target."""
        return self.knowledge.together(self.request.architecture, self.request.platform)

    def rank(self, candidate: Candidate) -> tuple[object, ...]:
        """Where a candidate stands among those of its release; the lowest is the best."""
        build, toolkits = candidate.build, candidate.toolkits
        level, exact = LEVEL_ORDER[self.level(build.cuda)] if build.cuda else 0, True
        if toolkits:
            level = min(LEVEL_ORDER[self.level(toolkit.version)] for toolkit in toolkits)
            exact = build.cuda is None or any(toolkit.version.starts_with(build.cuda) for toolkit in toolkits)
        codes = (self.knowledge.code_match(gpu.compute_capability, build) for gpu in self.request.gpus)
        return (
            level,
            max((_CODE[code] for code in codes), default=0) + self._doubts(build),
            self.request.container and not self._has_image(toolkits),
            not exact,
            _descending(build.cuda) if build.cuda else (0,),
            not build.on_pypi,
            self._may_lack_kernels(build),
            _descending(build.cudnn) if build.cudnn else (0,),
        )

    def _may_lack_kernels(self, build: FrameworkBuild) -> bool:
        if build.cudnn is None or not has_own_cudnn(build):
            return False
        known = self.knowledge.cudnn_on_gpu
        return any(known(gpu.compute_capability, build.cudnn, build.cuda) == "unknown" for gpu in self.request.gpus)

    def _doubts(self, build: FrameworkBuild) -> int:
        unknown_python = self.request.python is not None and not build.pythons
        unknown_glibc = self.glibc is not None and build.min_glibc is None
        return 2 * (unknown_python + unknown_glibc)

    def _has_image(self, toolkits: tuple[Toolkit, ...] | None) -> bool:
        if toolkits is None:  # a wheel that brings CUDA needs none of the image's libraries
            return True
        wanted = self.request.os_id
        return any(wanted in (None, tag.os_id) for row in toolkits for tag in self.knowledge.images(row))

    def passing_builds(self, framework: FrameworkRequest) -> Iterator[FrameworkBuild]:
        """The builds of a framework that pass, newest release first, each looked at when it is asked for.

        One that does not takes all with it that are alike in what rules it out.
        """
        shelf = self.knowledge.shelf(framework.name)
        sides = [(aspect, self._answers_of(aspect).on(shelf)) for aspect in ASPECTS]
        left = shelf.of(framework.spec)
        for _, marks in sides:
            left &= ~marks.failed
        while left:
            first = left & -left
            against = self._first_against(first, shelf, sides)
            left &= ~(first if against is None else against.failed)
            if against is None:
                yield shelf.first(first)

    def _first_against(self, one: int, shelf: Shelf, sides: Iterable[tuple[Aspect, Marks]]) -> Marks | None:
        """The marks of the first aspect that rules out the one build of a set; None where none does."""
        for aspect, marks in sides:
            if not marks.asked & one:
                self._mark(one, shelf, aspect, marks)
            if marks.failed & one:
                return marks
        return None

    def _mark(self, one: int, shelf: Shelf, aspect: Aspect, marks: Marks) -> None:
        """Marks whether an aspect rules out the one build of a set, and with it those that are alike."""
        build = shelf.first(one)
        failed = bool(self.ruled_out_by(aspect, build))
        # most often the first build that is asked for will do, and the groups need not be made
        alike = shelf.alike(aspect, build) if failed or shelf.is_grouped(aspect) else one
        if failed:
            marks.failed |= alike
        marks.asked |= alike  # last: another thread goes by it

    def passing(self, framework: FrameworkRequest) -> Iterator[Candidate]:
        """The same as candidates."""
        return map(self.candidate, self.passing_builds(framework))

    def candidates(self, framework: FrameworkRequest) -> Iterator[Candidate]:
        """The same, the best of each release first; last those that may not have the requested CUDA or cuDNN."""
        unsure: list[Candidate] = []
        for _, release in groupby(self.passing_builds(framework), lambda build: (build.yanked, build.version.parts)):
            for candidate in sorted(map(self.candidate, release), key=self.rank):
                if self.may_differ(candidate.build):
                    unsure.append(candidate)
                else:
                    yield candidate
        yield from unsure

    def may_differ(self, build: FrameworkBuild) -> bool:
        """True when it is not known whether a build that passes has the requested CUDA or cuDNN."""
        cuda, cudnn = self.request.cuda, self.request.cudnn
        if cuda is not None and self.knowledge.is_cuda_unknown(build):
            return True
        return cudnn is not None and has_own_cudnn(build) and self.knowledge.cudnn_meets(build, cudnn) is None


def _descending(version: Version) -> tuple[int, ...]:
    padded = (version.parts + (0, 0, 0, 0))[:5]
    return tuple(-part for part in padded)
