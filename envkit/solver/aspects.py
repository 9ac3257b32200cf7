"""The sides of a build that a request judges, each by what it looks at, so that builds alike in one are judged once.

A refusal tries dozens of changed requests on hundreds of builds; most changes leave most sides as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from envkit._startup.records import record
from envkit.base.versions import Version, VersionSpec, by_line
from envkit.compat import CodeMatch, glibc_runs
from envkit.tables.rows import FrameworkBuild

if TYPE_CHECKING:
    from envkit.solver.candidates import Judge


@record
class Aspect:
    """One side of a build: `failures` are the relations that rule it out.

    `of_build` and `of_request` tell apart what it looks at: with both the same, the answer is the same. Cells of a
    table that read alike are one object, so a build's are told apart by their identity.
    """

    name: str
    of_build: Callable[[FrameworkBuild], Hashable]
    of_request: Callable[[Judge], Hashable]
    failures: Callable[[Judge, FrameworkBuild], Iterable[str]]


class Answers:
    """What one aspect says under one request: of builds by what it looks at, and of those on each shelf."""

    def __init__(self) -> None:
        self.names: dict[Hashable, tuple[str, ...]] = {}  # the relations that rule a build out
        self._marks: dict[str, Marks] = {}

    def on(self, shelf: Shelf) -> Marks:
        """The same for the builds of a framework."""
        if shelf.framework not in self._marks:
            self._marks[shelf.framework] = Marks()
        return self._marks[shelf.framework]


class Marks:
    """The builds of a shelf that one aspect was asked for, and those of them that it rules out."""

    def __init__(self) -> None:
        self.asked = 0
        self.failed = 0


class Shelf:
    """All builds of a framework in the order of their releases; a set of them is a number with a bit for each."""

    def __init__(self, framework: str, builds: Iterable[FrameworkBuild]) -> None:
        self.framework = framework
        self.builds = tuple(builds)
        self.all = (1 << len(self.builds)) - 1
        self._groups: dict[str, dict[Hashable, tuple[FrameworkBuild, int]]] = {}

    def groups(self, aspect: Aspect) -> dict[Hashable, tuple[FrameworkBuild, int]]:
        """One build for each group that is alike in this aspect, with the group, by what tells it from others."""
        if aspect.name not in self._groups:
            first: dict[Hashable, FrameworkBuild] = {}
            bits: dict[Hashable, int] = {}
            bit = 1
            for build, key in zip(self.builds, map(aspect.of_build, self.builds), strict=True):
                if key in bits:
                    bits[key] |= bit
                else:
                    first[key], bits[key] = build, bit
                bit <<= 1
            self._groups[aspect.name] = {key: (first[key], bits[key]) for key in first}
        return self._groups[aspect.name]

    def is_grouped(self, aspect: Aspect) -> bool:
        """Whether the groups of an aspect are made already."""
        return aspect.name in self._groups

    def alike(self, aspect: Aspect, build: FrameworkBuild) -> int:
        """The builds that one aspect cannot tell from `build`."""
        return self.groups(aspect)[aspect.of_build(build)][1]

    @cached_property
    def _versions(self) -> dict[tuple[int, ...], int]:
        """Each version with its builds, in order."""
        bits: dict[tuple[int, ...], int] = {}
        for number, build in enumerate(self.builds):
            bits[build.version.parts] = bits.get(build.version.parts, 0) | 1 << number
        return bits

    @cached_property
    def _lines(self) -> dict[tuple[int, ...], list[tuple[int, ...]]]:
        return by_line(self._versions, Version)

    def of(self, spec: VersionSpec | None) -> int:
        """The builds whose version meets `spec`."""
        if spec is None:
            return self.all
        if spec.line is not None:
            return sum(self._versions[parts] for parts in self._lines.get(spec.line, ()))
        return sum(numbers for parts, numbers in self._versions.items() if spec.holds(Version(parts)))

    def first(self, numbers: int) -> FrameworkBuild:
        """The first build of a set that is not empty."""
        return self.builds[(numbers & -numbers).bit_length() - 1]

    def picked(self, numbers: int) -> Iterator[FrameworkBuild]:
        """The builds of a set, in order."""
        while numbers:
            yield self.first(numbers)
            numbers &= numbers - 1


def needs_system_cuda(build: FrameworkBuild) -> bool:
    """True when the build loads a CUDA of its own line from the system."""
    return build.cuda is not None and not build.bundles_cuda and not build.cpu_only


def meets(spec: VersionSpec | None, version: Version) -> bool:
    """Whether a version is acceptable; any is where nothing was asked for."""
    return spec is None or spec.holds(version)


def python_meets(spec: VersionSpec | None, python: Version) -> bool:
    """Whether a Python line such as 3.10 meets the requested one; `3.10.4` asks for the line 3.10."""
    if spec is not None and spec.exact is not None:
        wanted = spec.exact.parts[:2]
        return python.parts[: len(wanted)] == wanted
    return meets(spec, python)


def _platform(judge: Judge, build: FrameworkBuild) -> Iterator[str]:
    own = "windows" if judge.request.platform == "windows" else "linux"
    if build.platforms and own not in build.platforms:
        yield "platform"


def _architecture(judge: Judge, build: FrameworkBuild) -> Iterator[str]:
    if build.architectures and judge.request.architecture not in build.architectures:
        yield "architecture"


def _python(judge: Judge, build: FrameworkBuild) -> Iterator[str]:
    wanted = judge.request.python
    if wanted and build.pythons and not any(python_meets(wanted, python) for python in build.pythons):
        yield "python-has-wheel"


def _glibc(judge: Judge, build: FrameworkBuild) -> Iterator[str]:
    if judge.glibc is None or judge.request.platform == "windows":
        return
    if not glibc_runs(build, judge.glibc):
        yield "glibc-meets-build"


def _cuda(judge: Judge, build: FrameworkBuild) -> Iterator[str]:
    """Of a wheel that brings its CUDA."""
    if build.cuda and has_own_cudnn(build) and not judge.cuda_meets(build.cuda):
        yield "cuda-version"


def _dropped(judge: Judge, build: FrameworkBuild) -> Iterator[str]:
    if judge.driver_drops_gpu and not build.cpu_only:
        yield "gpu-on-driver"


def _driver(judge: Judge, build: FrameworkBuild) -> Iterator[str]:
    if build.cuda and not build.cpu_only and not needs_system_cuda(build):
        yield from judge.cuda_failures(build.cuda)


def _system_cuda(judge: Judge, build: FrameworkBuild) -> Iterator[str]:
    if not needs_system_cuda(build) or judge.toolkits_for(build):
        return
    serving = judge.knowledge.serving(build)
    wanted = [toolkit for toolkit in serving if meets(judge.request.cuda, toolkit.version)]
    if not wanted:
        yield "cuda-version"
    reasons = [judge.cuda_failures(toolkit.version) for toolkit in wanted or serving]
    if reasons and all(reasons):
        yield from dict.fromkeys(reason for found in reasons for reason in found)
    elif wanted:
        yield "cudnn-version"


def _wheel_cudnn(judge: Judge, build: FrameworkBuild) -> Iterator[str]:
    if (
        has_own_cudnn(build)
        and judge.request.cudnn
        and judge.knowledge.cudnn_meets(build, judge.request.cudnn) is False
    ):
        yield "cudnn-version"


def _code(judge: Judge, build: FrameworkBuild) -> Iterator[str]:
    for gpu in judge.request.gpus if not build.cpu_only else ():
        match = judge.knowledge.code_match(gpu.compute_capability, build)
        if match is CodeMatch.NONE or (match is CodeMatch.JIT and not judge.can_compile_ptx(build)):
            yield "gpu-runs-build"


def _kernels(judge: Judge, build: FrameworkBuild) -> Iterator[str]:
    """The build's own cuDNN, or the one that it was made for where its CUDA is not known, and the GPUs."""
    if build.cudnn is None or not has_own_cudnn(build):
        return
    for gpu in judge.request.gpus:
        if judge.knowledge.cudnn_on_gpu(gpu.compute_capability, build.cudnn, build.cuda) == "fail":
            yield "gpu-on-cudnn"


def spec_key(spec: VersionSpec | None) -> Hashable:
    """What tells one spec from another, quicker to hash than the spec."""
    return spec and tuple([(operator, version.parts) for operator, version in spec.clauses])


def has_own_cudnn(build: FrameworkBuild) -> bool:
    """False for a build that takes the cuDNN of the system's CUDA, or none."""
    return not build.cpu_only and not needs_system_cuda(build)


def cuda_of_system(build: FrameworkBuild) -> Hashable:
    """What a build looks for in the system, as far as the answer depends on it; None where it brings its own."""
    if not needs_system_cuda(build):
        return None
    return id(build.cuda), id(build.cuda_min), id(build.cuda_max), id(build.cudnn)


ASPECTS = (
    Aspect("platform", lambda build: id(build.platforms), lambda judge: judge.request.platform, _platform),
    Aspect(
        "architecture", lambda build: id(build.architectures), lambda judge: judge.request.architecture, _architecture
    ),
    Aspect("python", lambda build: id(build.pythons), lambda judge: spec_key(judge.request.python), _python),
    Aspect(
        "glibc",
        lambda build: (id(build.min_glibc), id(build.execstack_glibc)),
        lambda judge: (judge.glibc and judge.glibc.parts, judge.request.platform),
        _glibc,
    ),
    Aspect(
        "cuda",
        lambda build: (has_own_cudnn(build), id(build.cuda)),
        lambda judge: spec_key(judge.request.cuda),
        _cuda,
    ),
    Aspect("dropped", lambda build: build.cpu_only, lambda judge: judge.machine, _dropped),
    Aspect(
        "driver",
        lambda build: (build.cpu_only, needs_system_cuda(build), id(build.cuda)),
        lambda judge: judge.machine,
        _driver,
    ),
    Aspect(
        "system-cuda",
        cuda_of_system,
        lambda judge: (
            judge.machine,
            spec_key(judge.request.cuda),
            spec_key(judge.request.cudnn),
            judge.request.architecture,
        ),
        _system_cuda,
    ),
    Aspect(
        "cudnn",
        lambda build: (has_own_cudnn(build), id(build.cuda), id(build.cudnn)),
        lambda judge: spec_key(judge.request.cudnn),
        _wheel_cudnn,
    ),
    Aspect(
        "code",
        lambda build: (
            build.cpu_only,
            id(build.sass),
            id(build.ptx),
            id(build.min_compute_capability),
            id(build.cuda),
        ),
        lambda judge: judge.machine,
        _code,
    ),
    Aspect(
        "kernels",
        lambda build: (build.cpu_only, build.bundles_cuda, id(build.cuda), id(build.cudnn)),
        lambda judge: judge.machine,
        _kernels,
    ),
)
