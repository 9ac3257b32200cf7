"""Brute force over the tables' rows, written without the resolver: what may be chosen, and whether anything may.

It shares the row types and version values with the program and nothing else. Every rule is spelled out again here,
from NVIDIA's and the packagers' documents, in the plainest way and without regard to speed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from envkit.base.versions import ComputeCapability, Version, VersionSpec
from envkit.solver.model import Choice
from envkit.solver.request import TargetGpu
from envkit.tables import Matrix
from envkit.tables.loader import read
from envkit.tables.pairs import PackageBreak
from envkit.tables.rows import CudnnRelease, DriverBranch, FrameworkBuild, Toolkit
from envkit.tables.ways import RuntimeCode

ANY = SpecifierSet()
EVERY_PYTHON = [Version.of(2, minor) for minor in (6, 7)] + [Version.of(3, minor) for minor in range(20)]
FORWARD_KINDS = ("lts", "production")


@dataclass(frozen=True)
class Question:
    """One machine and one wish. `versions` and `cuda` bound the framework's release and CUDA."""

    framework: str
    gpus: tuple[TargetGpu, ...]
    driver: Version | None
    os_id: str | None
    versions: VersionSpec | None = None
    cuda: VersionSpec | None = None
    python: VersionSpec | None = None


class Oracle:
    """The tables, asked row by row."""

    def __init__(self, matrix: Matrix) -> None:
        self.matrix = matrix
        self._builds: dict[str, list[FrameworkBuild]] = {}
        self._possible: dict[str, dict[Version, list[Version]]] = {}
        self._servers: dict[int, list[Toolkit | None]] = {}  # by identity: the matrix keeps every row
        self._cudnns: dict[tuple[int, tuple[int, int]], bool] = {}
        self._refused: dict[tuple[int, tuple[int, int]], bool] = {}
        self._branches = {row.branch: row for row in matrix.driver_branches}
        self._systems = {row.os_id: row for row in matrix.operating_systems}

    # ---- the question as a whole

    def answers(self, question: Question) -> Iterator[tuple[FrameworkBuild, Toolkit | None]]:
        """Every build, with every system toolkit where it needs one, that breaks no rule."""
        for build in self.builds(question.framework):
            for toolkit in self.servers(build):
                if next(self.broken(question, build, toolkit), None) is None:
                    yield build, toolkit

    def newest(self, question: Question) -> Version | None:
        """The newest release that breaks no rule: with cuda-compat, and withdrawn ones, only where no other does.

        Of one major those of whose code something is recorded, but none for the GPUs, come after the others.
        """
        found: dict[tuple[bool, bool, int, bool], Version] = {}
        for build, toolkit in self.answers(question):  # newest first
            compat = self.needs_compat(question.driver, toolkit.version if toolkit else build.cuda)
            doubt = bool(build.sass) and not self.code_known(question, build)
            found.setdefault((compat, build.yanked, -build.version.parts[0], doubt), build.version)
        return found[min(found)] if found else None

    def code_known(self, question: Question, build: FrameworkBuild) -> bool:
        """Whether it is recorded that a build holds code for every GPU, or leaves that to another framework."""
        if build.cpu_only or not question.gpus:
            return True
        if build.cuda is None:
            return any(row.name == build.framework and row.cuda_from for row in self.matrix.frameworks)
        code = [*(build.sass or ()), *(build.ptx or ())]
        binary = [
            any(runs_binary(gpu.compute_capability, target) for target in build.sass or ()) for gpu in question.gpus
        ]
        jit = [any(compiles(gpu.compute_capability, target) for target in build.ptx or ()) for gpu in question.gpus]
        return bool(code) and all(map(any, zip(binary, jit, strict=True)))

    def needs_compat(self, driver: Version | None, cuda: Version | None) -> bool:
        """True where the driver is too old for the CUDA by both of NVIDIA's other rules, or that is not known."""
        if driver is None or cuda is None:
            return False
        native, minor = self.floors(cuda)
        return native is None or (driver < native and (minor is None or driver < minor))

    def exists(self, question: Question) -> bool:
        """Whether anything breaks no rule."""
        return next(self.answers(question), None) is not None

    def broken(self, question: Question, build: FrameworkBuild, toolkit: Toolkit | None) -> Iterator[str]:
        """Each rule that this build, with this toolkit, breaks on this machine."""
        if question.versions is not None and not question.versions.holds(build.version):
            yield "version"
        if "linux" not in build.platforms or "x86_64" not in build.architectures:
            yield "platform"
        if question.python is not None and not any(map(question.python.holds, self.pythons(build))):
            yield "python"
        if not self.glibc_ok(build, question.os_id):
            yield "glibc"
        if not build.cpu_only:
            yield from self.gpu_rules(question, build, toolkit)
        if toolkit is None and not build.cpu_only and self.whole_line_fails(question, build.cuda):
            yield "cuda-line"

    def pythons(self, build: FrameworkBuild) -> list[Version]:
        """The Pythons of a build; of one that names none all that the releases before and after it leave possible."""
        if build.pythons:
            return list(build.pythons)
        known = self._possible.setdefault(build.framework, {})
        if build.version not in known:
            rows = [row for row in self.matrix.builds(build.framework) if row.pythons]
            before = [row for row in rows if row.version <= build.version]
            after = [row for row in rows if row.version >= build.version]
            newest_before = [row for row in before if row.version == max(one.version for one in before)]
            oldest_after = [row for row in after if row.version == min(one.version for one in after)]
            known[build.version] = [
                python
                for python in EVERY_PYTHON
                if (not newest_before or any(python >= one for row in newest_before for one in row.pythons))
                and (not oldest_after or any(python <= one for row in oldest_after for one in row.pythons))
            ]
        return known[build.version]

    def gpu_rules(self, question: Question, build: FrameworkBuild, toolkit: Toolkit | None) -> Iterator[str]:
        """The rules that a GPU provides with it."""
        cuda = toolkit.version if toolkit else build.cuda
        driver = question.driver
        if cuda is not None and question.cuda is not None and not self.cuda_wanted(cuda, question.cuda):
            wanted = [row for row in self.matrix.toolkits if question.cuda.holds(row.version)]
            if toolkit is not None or not any(stated(row, build) for row in wanted):
                yield "cuda"
        if cuda is not None and driver is not None and not self.driver_ok(driver, cuda, question.gpus):
            yield "driver"
        for gpu in question.gpus:
            if driver is not None and not self.driver_knows(driver, gpu):
                yield "driver-gpu"
            if cuda is not None and not self.cuda_knows(cuda, gpu.compute_capability):
                yield "cuda-gpu"
            if cuda is not None and not self.reachable(cuda, gpu):
                yield "last-driver"
            if not self.code_ok(question, build, gpu.compute_capability):
                yield "code"
            if build.cudnn is not None and not self.cudnn_knows(build, gpu.compute_capability):
                yield "cudnn"

    def whole_line_fails(self, question: Question, cuda: Version | None) -> bool:
        """Of a build for all of a major: whether no wanted release of it suits the machine."""
        wanted, driver, gpus = question.cuda, question.driver, question.gpus
        if cuda is None or wanted is None or not gpus or len(cuda.parts) > 1:
            return False
        releases = [row.version for row in self.line(cuda) if wanted.holds(row.version)]
        suit = [
            (driver is None or self.driver_ok(driver, one, gpus))
            and all(self.cuda_knows(one, gpu.compute_capability) and self.reachable(one, gpu) for gpu in gpus)
            for one in releases
        ]
        return bool(suit) and not any(suit)

    # ---- single rules

    def builds(self, framework: str) -> list[FrameworkBuild]:
        """GPU builds, newest first; CPU builds of a framework without any."""
        if framework not in self._builds:
            rows = sorted(self.matrix.builds(framework), key=lambda row: row.version, reverse=True)
            self._builds[framework] = [row for row in rows if not row.cpu_only] or rows
        return self._builds[framework]

    def servers(self, build: FrameworkBuild) -> list[Toolkit | None]:
        """The toolkits that a build without CUDA of its own loads; a single None for the others."""
        if build.cuda is None or build.bundles_cuda or build.cpu_only:
            return [None]
        if id(build) not in self._servers:
            self._servers[id(build)] = [row for row in self.matrix.toolkits if serves(row, build)]
        return self._servers[id(build)]

    def line(self, cuda: Version) -> list[Toolkit]:
        """The toolkits whose number begins with this one. (12 and 12.0 are equal versions, and different lines.)"""
        return self._line(cuda.parts)

    @cache  # noqa: B019 - one oracle lives as long as the test run
    def _line(self, parts: tuple[int, ...]) -> list[Toolkit]:
        return [row for row in self.matrix.toolkits if begins(row.version, Version(parts))]

    def cuda_wanted(self, cuda: Version, wanted: VersionSpec) -> bool:
        return wanted.holds(cuda) or any(wanted.holds(row.version) for row in self.line(cuda))

    def glibc_ok(self, build: FrameworkBuild, os_id: str | None) -> bool:
        glibc = self._systems[os_id].glibc if os_id is not None else None
        if glibc is None:
            return True
        old = build.min_glibc is not None and glibc.parts < build.min_glibc.parts
        refusing = build.execstack_glibc is not None and glibc.parts >= build.execstack_glibc.parts
        return not old and not refusing

    def floors(self, cuda: Version) -> tuple[Version | None, Version | None]:
        """The native floor and that of minor-version compatibility."""
        return self._floors(cuda.parts)

    @cache  # noqa: B019 - as above
    def _floors(self, parts: tuple[int, ...]) -> tuple[Version | None, Version | None]:
        cuda = Version(parts)
        rows = self.line(cuda)
        native = sorted(row.minimum_driver for row in rows if row.minimum_driver is not None)
        minor = sorted(row.minor_compatibility_driver for row in rows if row.minor_compatibility_driver is not None)
        if not native:
            for branch in self.matrix.driver_branches:
                reports = branch.driver_cuda_version
                if reports is not None and reports.parts[:2] >= two(cuda):
                    native = [Version.of(branch.branch)]
                    break
        return (native[0] if native else None, minor[0] if minor else None)

    def driver_ok(self, driver: Version, cuda: Version, gpus: tuple[TargetGpu, ...]) -> bool:
        """Native, minor-version compatibility, or cuda-compat on data center GPUs; unknown counts as allowed."""
        native, minor = self.floors(cuda)
        if native is None or driver >= native or (minor is not None and driver >= minor):
            return True
        if not gpus or not all(gpu.data_center for gpu in gpus):
            return False
        line = Version(cuda.parts[:2])
        listed = [row.compat_branches for row in self.line(line) if row.compat_branches is not None]
        if listed:  # what NVIDIA's images of this CUDA take
            return any(driver.parts[0] in branches for branches in listed)
        branch = self.branch(driver)
        if minor is None or branch is None or branch.kind == "":
            return True
        reports = branch.driver_cuda_version
        return reports is not None and cuda.parts[0] <= reports.parts[0] + 1 and branch.kind in FORWARD_KINDS

    def minor_only(self, driver: Version | None, cuda: Version) -> bool:
        """True when the driver runs this CUDA through minor-version compatibility alone."""
        native, minor = self.floors(cuda)
        if driver is None or native is None or minor is None:
            return False
        return minor <= driver < native

    def branch(self, driver: Version) -> DriverBranch | None:
        return self._branches.get(driver.parts[0])

    @cached_property
    def families(self) -> dict[tuple[int, int], str]:
        found: dict[tuple[int, int], str] = {}
        for row in self.matrix.gpus:
            found.setdefault((row.compute_capability.major, row.compute_capability.minor), row.family)
        return found

    def driver_knows(self, driver: Version, gpu: TargetGpu) -> bool:
        if gpu.last_driver_branch is not None and driver.parts[0] > gpu.last_driver_branch:
            return False
        if gpu.first_driver is not None and driver < gpu.first_driver:
            return False
        branch, family = self.branch(driver), self.families.get(pair(gpu.compute_capability))
        if branch is not None and branch.driver_cuda_version is not None:
            first = self.first_target(pair(gpu.compute_capability))
            if first is not None and two(branch.driver_cuda_version) < first:
                return False
        if branch is not None and branch.families is not None:
            return family is None or family not in self.ever_listed or family in branch.families
        return self.neighbors_know(driver.parts[0], family)

    def neighbors_know(self, number: int, family: str | None) -> bool:
        """Of a branch that lists no families: what the listing ones before and after it have in common."""
        told = [row for row in self.matrix.driver_branches if row.families is not None]
        with_it = [row.branch for row in told if family in (row.families or ())]
        if not with_it or with_it[0] < number < with_it[-1]:
            return True
        if number < with_it[0]:
            return with_it[0] == told[0].branch  # nothing older is told
        return with_it[-1] == told[-1].branch  # nothing newer is told

    @cached_property
    def ever_listed(self) -> set[str]:
        return {family for row in self.matrix.driver_branches for family in row.families or ()}

    @cache  # noqa: B019 - as above
    def first_target(self, gpu: tuple[int, int]) -> tuple[int, ...] | None:
        """The first CUDA release line that compiles for exactly this GPU."""
        for row in self.matrix.toolkits:
            if row.compute_capabilities is not None:
                if any(pair(target) == gpu for target in row.compute_capabilities):
                    return two(row.version)
                continue
            low, high = row.min_compute_capability, row.max_compute_capability
            if low is not None and high is not None and pair(low) <= gpu <= pair(high):
                return two(row.version)
        return None

    def last_branch(self, gpu: TargetGpu) -> int | None:
        if gpu.last_driver_branch is not None:
            return gpu.last_driver_branch
        return self._last_listed(pair(gpu.compute_capability))

    @cache  # noqa: B019 - as above
    def _last_listed(self, gpu: tuple[int, int]) -> int | None:
        told = [row for row in self.matrix.driver_branches if row.families is not None]
        family = self.families.get(gpu)
        with_it = [row.branch for row in told if family in (row.families or ())]
        return with_it[-1] if with_it and with_it[-1] != told[-1].branch else None

    def reachable(self, cuda: Version, gpu: TargetGpu) -> bool:
        """Whether the last driver for the GPU is new enough for the CUDA."""
        last = self.last_branch(gpu)
        known = [floor for floor in self.floors(cuda) if floor is not None]
        return last is None or not known or min(known).parts[0] <= last

    def cuda_knows(self, cuda: Version, gpu: ComputeCapability) -> bool:
        """Some toolkit of the line compiles for the GPU, or for an earlier minor of its major."""
        return self._cuda_knows(cuda.parts, gpu)

    @cache  # noqa: B019 - as above
    def _cuda_knows(self, parts: tuple[int, ...], gpu: ComputeCapability) -> bool:
        rows = self.line(Version(parts))
        return not rows or any(toolkit_knows(row, gpu) for row in rows)

    def code_ok(self, question: Question, build: FrameworkBuild, gpu: ComputeCapability) -> bool:
        if any(runs_binary(gpu, target) for target in build.sass or ()):
            return True
        if any(compiles(gpu, target) for target in build.ptx or ()):
            return self.can_compile(question, build)
        if build.min_compute_capability is not None and pair(gpu) < pair(build.min_compute_capability):
            return False
        return (build.sass is None or build.ptx is None) and not self.makers_refuse(build, gpu)

    def makers_refuse(self, build: FrameworkBuild, gpu: ComputeCapability) -> bool:
        """Whether the framework's makers say that a release, whose code is not on record, does not know the GPU."""
        key = (id(build), pair(gpu))
        if key not in self._refused:
            self._refused[key] = self._makers_refuse(build, gpu)
        return self._refused[key]

    def _makers_refuse(self, build: FrameworkBuild, gpu: ComputeCapability) -> bool:
        for row in self.told_by_makers.get(build.framework, ()) if build.cuda is not None else ():
            first, last = row.first_capability, row.last_capability
            inside = (first is None or pair(gpu) >= pair(first)) and (last is None or pair(gpu) <= pair(last))
            ours = SpecifierSet(row.versions).contains(str(build.version), prereleases=True)
            if inside and ours and SpecifierSet(row.cuda).contains(str(build.cuda)):
                return not row.runs  # the first that is for it
        return False

    @cached_property
    def told_by_makers(self) -> dict[str, list[RuntimeCode]]:
        found: dict[str, list[RuntimeCode]] = {}
        for row in read(RuntimeCode):
            found.setdefault(row.framework, []).append(row)
        return found

    def can_compile(self, question: Question, build: FrameworkBuild) -> bool:
        """PTX needs a driver that runs the build's CUDA natively, now or at the GPU's last branch."""
        if build.cuda is None:
            return True
        native, _ = self.floors(build.cuda)
        if self.minor_only(question.driver, build.cuda):
            return False
        lasts = [last for last in map(self.last_branch, question.gpus) if last is not None]
        return native is None or all(native.parts[0] <= last for last in lasts)

    def cudnn_knows(self, build: FrameworkBuild, gpu: ComputeCapability) -> bool:
        key = (id(build), pair(gpu))
        if key not in self._cudnns:
            self._cudnns[key] = self._cudnn_knows(build, gpu)
        return self._cudnns[key]

    def _cudnn_knows(self, build: FrameworkBuild, gpu: ComputeCapability) -> bool:
        assert build.cudnn is not None
        rows = [
            row
            for row in self.matrix.cudnns
            if begins(row.version, build.cudnn) and (build.cuda is None or row.cuda.parts[0] == build.cuda.parts[0])
        ]
        if build.cuda is None:  # of any CUDA that knows the GPU; one older than all in the data is like the oldest
            oldest = min(row.version for row in self.matrix.cudnns)
            if build.cudnn < oldest:
                first = [row for row in self.matrix.cudnns if row.version.parts[0] == oldest.parts[0]]
                return not all(self.older_than(row.cuda, gpu) for row in first)
            return not rows or any(cudnn_has(row, gpu) for row in rows if self.cuda_knows(row.cuda, gpu))
        if self.cudnn_came_later(build.cudnn, build.cuda, gpu):
            return False
        return not rows or any(cudnn_has(row, gpu) for row in rows)

    def cudnn_came_later(self, cudnn: Version, cuda: Version, gpu: ComputeCapability) -> bool:
        """Whether NVIDIA lists the GPU for this major of cuDNN with a later major of CUDA, and with no earlier one."""
        alike = [row for row in self.matrix.cudnns if row.version.parts[0] == cudnn.parts[0]]
        bounded = [row for row in alike if row.max_compute_capability is not None]
        majors = [row.cuda.parts[0] for row in bounded if cudnn_lists(row, gpu)]
        own = [row for row in bounded if row.cuda.parts[0] == cuda.parts[0]]
        return bool(majors) and bool(own) and min(majors) > cuda.parts[0]

    def older_than(self, cuda: Version, gpu: ComputeCapability) -> bool:
        """Whether every toolkit of a line is older than the GPU."""
        limits = [row.max_compute_capability for row in self.line(cuda)]
        return bool(limits) and all(limit is not None and limit.major < gpu.major for limit in limits)

    # ---- two frameworks in one environment

    def pairs(self, one: Question, other: Question) -> Iterator[tuple[FrameworkBuild, FrameworkBuild]]:
        """Every two builds, one for each question, that go into one environment."""
        for first, _ in self.answers(one):
            for second, _ in self.answers(other):
                if next(self.apart(first, second), None) is None:
                    yield first, second

    def apart(self, first: FrameworkBuild, second: FrameworkBuild) -> Iterator[str]:
        """Each reason why two builds cannot be in one environment."""
        for build, other in ((first, second), (second, first)):
            names = {name for row in self.matrix.frameworks if row.name == other.framework for name in row.packages}
            for line in (*build.companions, *(self.required(build) or ())):
                wanted = as_requirement(line)
                if wanted.name.lower() in names and not wanted.specifier.contains(str(other.version), prereleases=True):
                    yield f"{build.package} requires {line}"
            if any(matches(own, build) and matches(beside, other) for own, beside in self.breaks):
                yield f"{build.package} breaks"
        yield from self.clashes(self.required(first) or (), self.required(second) or ())
        toolkits = [set(self.servers(build)) for build in (first, second) if self.servers(build) != [None]]
        if toolkits and not set.intersection(*toolkits):
            yield "toolkit"
        pythons = [set(self.pythons(build)) for build in (first, second)]
        if pythons and not set.intersection(*pythons):
            yield "python"
        if not numpy_exists((first, second)):
            yield "numpy"

    @cached_property
    def breaks(self) -> list[tuple[Requirement, Requirement]]:
        """Releases of one package, and of another next to which they are known not to work."""
        rows = ((row.package + row.versions, row.beside) for row in read(PackageBreak) if row.beside)
        return [(Requirement(package), Requirement(beside)) for package, beside in rows]

    def required(self, build: FrameworkBuild) -> tuple[str, ...] | None:
        """What the package requires of CUDA libraries on x86_64 Linux; None where that is unknown."""
        if build.bundles_cuda is False or build.cpu_only or build.package is None:
            return ()
        for row in self.matrix.package_requirements:
            same = (row.package, row.place) == (build.package, build.index_url or build.find_links or "")
            if same and "x86_64" in row.architectures:
                return row.requires
        return None

    def clashes(self, first: tuple[str, ...], second: tuple[str, ...]) -> Iterator[str]:
        """The packages that both require in versions apart, and the files that both sides write by other packages."""
        for one in map(as_requirement, first):
            for other in map(as_requirement, second):
                if one.name == other.name and not versions_in(one.specifier, other.specifier):
                    yield f"{one}, {other}"
                if one.name != other.name:
                    yield from self.written_by(one) & self.written_by(other)

    def written_by(self, requirement: Requirement) -> set[str]:
        """The files that every version which meets a requirement writes."""
        return {
            row.file
            for row in self.matrix.package_files
            if row.package == requirement.name
            and not versions_in(requirement.specifier, ANY, outside=SpecifierSet(row.versions))
        }

    # ---- what was chosen

    def faults(self, question: Question, choice: Choice) -> Iterator[str]:
        """Each thing that is wrong with a choice."""
        (build,) = choice.builds
        yield from self.broken(question, build, choice.toolkit)
        if self.servers(build) != [None] and choice.toolkit not in self.servers(build):
            yield "toolkit does not serve the build"
        if choice.python is None or choice.python not in self.pythons(build):
            yield f"python {choice.python}"
        if question.python is not None and choice.python is not None and not question.python.holds(choice.python):
            yield f"python {choice.python} was not asked for"
        if question.os_id is not None and (choice.os is None or choice.os.os_id != question.os_id):
            yield "another system"
        if choice.cudnn is not None:
            yield from self.cudnn_faults(question, choice)
        yield from self.floor_faults(question, choice)

    def floor_faults(self, question: Question, choice: Choice) -> Iterator[str]:
        """A minimum driver above one that is known to run the CUDA natively and to know the GPUs."""
        driver, (build,) = question.driver, choice.builds
        cuda = choice.toolkit.version if choice.toolkit else build.cuda
        if driver is None or cuda is None or choice.minimum_driver is None or driver >= choice.minimum_driver:
            return
        native, _ = self.floors(cuda)
        branch = self.branch(driver)
        if native is not None and driver >= native and branch is not None and branch.families is not None:
            yield f"minimum driver {choice.minimum_driver} is above {driver}, which runs it natively"

    def cudnn_faults(self, question: Question, choice: Choice) -> Iterator[str]:
        row = choice.cudnn
        assert row is not None
        if choice.toolkit is None or not made_for(row, choice.toolkit.version):
            yield f"cuDNN {row.version} is not made for the toolkit"
        for build in choice.builds:
            needs = build.cudnn if not build.bundles_cuda else None
            if needs is not None and (row.version.parts[0] != needs.parts[0] or two(row.version) < two(needs)):
                yield f"cuDNN {row.version} does not serve {build.package}"
        if not all(cudnn_has(row, gpu.compute_capability) for gpu in question.gpus):
            yield f"cuDNN {row.version} does not know the GPU"


# ---- rules on requirement lines, by what packaging says of them


_FOR = ("", "-gpu", "-cpu")  # the packages of one release


def matches(wanted: Requirement, build: FrameworkBuild) -> bool:
    """Whether a build is a release that a requirement allows."""
    return (
        build.package is not None
        and as_requirement(build.package).name.lower() in (f"{wanted.name.lower()}{part}" for part in _FOR)
        and wanted.specifier.contains(str(build.version), prereleases=True)
    )


@cache
def as_requirement(line: str) -> Requirement:
    return Requirement(line)


@cache
def versions_in(first: SpecifierSet, second: SpecifierSet, outside: SpecifierSet | None = None) -> bool:
    """Whether some version is in both; with `outside`, some version in them that is not in that."""
    bounds = [clause.version.removesuffix(".*") for part in (first, second, outside or ANY) for clause in part]
    tried = ["0", "999", *bounds, *(f"{bound}.1" for bound in bounds)]
    for bound in bounds:
        *head, last = bound.split(".")
        tried += [".".join([*head, str(int(last) + 1)]), str(max(0, int(bound.split(".")[0]) - 1))]
    inside = (version for version in tried if first.contains(version, True) and second.contains(version, True))
    return any(outside is None or not outside.contains(version, True) for version in inside)


def numpy_exists(builds: Iterable[FrameworkBuild]) -> bool:
    """Whether some NumPy meets the bounds of all builds."""
    wanted = SpecifierSet()
    for build in builds:
        wanted &= SpecifierSet(build.numpy or "")
    return versions_in(wanted, ANY)


# ---- rules on single values


def two(version: Version) -> tuple[int, ...]:
    return (version.parts + (0,))[:2]


def pair(capability: ComputeCapability) -> tuple[int, int]:
    return capability.major, capability.minor


def begins(version: Version, line: Version) -> bool:
    filled = version.parts + (0,) * 4
    return filled[: len(line.parts)] == line.parts


def serves(row: Toolkit, build: FrameworkBuild) -> bool:
    """The same line, inside the bounds of a build for a whole major; or a newer minor with libraries of the same names.

    The names stayed from 11.2 on, and through all of each later major.
    """
    assert build.cuda is not None
    if begins(row.version, build.cuda):
        below = build.cuda_min is not None and row.version < build.cuda_min
        above = build.cuda_max is not None and two(row.version) > two(build.cuda_max)
        return not below and not above
    same_major = row.version.parts[0] == build.cuda.parts[0]
    if stated(row, build):
        return True
    names_kept = build.cuda.parts[0] > 11 or two(build.cuda) >= (11, 2)
    return same_major and names_kept and row.version > build.cuda and row.minor_compatibility_driver is not None


def stated(row: Toolkit, build: FrameworkBuild) -> bool:
    """Inside the range of one major that the makers of a build state."""
    low, high = build.cuda_min, build.cuda_max
    if low is None or build.cuda is None or row.version.parts[0] != build.cuda.parts[0]:
        return False
    return row.version >= low and (high is None or two(row.version) <= two(high))


def toolkit_knows(row: Toolkit, gpu: ComputeCapability) -> bool:
    if row.min_compute_capability is not None and pair(gpu) < pair(row.min_compute_capability):
        return False
    if row.compute_capabilities is not None:
        return any(target.major == gpu.major and target.minor <= gpu.minor for target in row.compute_capabilities)
    if row.min_compute_capability is None or row.max_compute_capability is None:
        return True
    return pair(gpu) <= pair(row.max_compute_capability) or gpu.major == row.max_compute_capability.major


def runs_binary(gpu: ComputeCapability, target: ComputeCapability) -> bool:
    if target.specific == "a":
        return pair(gpu) == pair(target)
    return gpu.major == target.major and gpu.minor >= target.minor


def compiles(gpu: ComputeCapability, target: ComputeCapability) -> bool:
    if target.specific == "a":
        return pair(gpu) == pair(target)
    if target.specific == "f":
        return gpu.major == target.major and gpu.minor >= target.minor
    return pair(target) <= pair(gpu)


def cudnn_has(row: CudnnRelease, gpu: ComputeCapability) -> bool:
    low, high = row.min_compute_capability, row.max_compute_capability
    return not (low is not None and pair(gpu) < pair(low)) and not (high is not None and gpu.major > high.major)


def cudnn_lists(row: CudnnRelease, gpu: ComputeCapability) -> bool:
    """Whether a GPU is between the oldest and the newest that NVIDIA lists."""
    low, high = row.min_compute_capability, row.max_compute_capability
    return low is not None and high is not None and pair(low) <= pair(gpu) <= pair(high)


def made_for(row: CudnnRelease, cuda: Version) -> bool:
    for text in row.supported_cuda or (str(row.cuda),):
        first, _, last = text.replace(".x", "").partition("-")
        low = tuple(map(int, first.split(".")))
        high = tuple(map(int, last.split("."))) if last else low
        if low <= cuda.parts[: len(low)] and cuda.parts[: len(high)] <= high:
            return True
    return False
