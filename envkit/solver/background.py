"""What an expert adds to an answer: which releases there are for a CUDA, a Python, a GPU, and what goes with them.

The tables know it all; a plan shows one row of it. Each sentence is about a part of the request that the user wrote.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from envkit._startup.records import record
from envkit.base.platforms import JETSON, WINDOWS, WSL
from envkit.base.sentences import series
from envkit.base.versions import Version
from envkit.compat.driver import driver_floors
from envkit.compat.gpu import CodeMatch, code_match, cuda_match, cuda_span
from envkit.compat.software import cudnn_rules_out
from envkit.compat.tables import Tables
from envkit.solver.release_spans import (
    builds_here,
    first_and_last,
    listed,
    place_in_words,
    releases_of,
    spans_in_words,
)
from envkit.solver.request import FrameworkRequest, Request, TargetGpu
from envkit.solver.software_notes import beside_of, notes_of
from envkit.tables.rows import FrameworkBuild, framework_title


def background(request: Request, tables: Tables) -> tuple[str, ...]:
    """Sentences next to a plan or a refusal, each once."""
    frameworks = (one for framework in request.frameworks for one in _of(framework, request, tables))
    return tuple(dict.fromkeys((*frameworks, *_of_toolkit(request, tables), *_without_gpu(request))))


def _of_toolkit(request: Request, tables: Tables) -> Iterator[str]:
    """What there is to say of a CUDA, which a request that names neither it nor a GPU nor a driver leaves open."""
    if request.cuda is None and request.driver is None and not request.gpus:
        return
    from envkit.solver.toolkit_facts import toolkit_facts

    yield from toolkit_facts(request, tables)


def _without_gpu(request: Request) -> Iterator[str]:
    """Where the packages for the processor are, for a machine that has nothing else."""
    alone = request.no_gpu and not request.gpus and not request.container
    if alone and any(one.name == "pytorch" for one in request.frameworks):
        from envkit.solver.other_words import PYTORCH_FOR_CPU

        yield f"CPU-only PyTorch packages have their own index: pip install torch --index-url {PYTORCH_FOR_CPU}"


@record
class _Subject:
    """A framework of a request, with its builds for the system and processor."""

    framework: FrameworkRequest
    builds: tuple[FrameworkBuild, ...]
    request: Request
    tables: Tables
    newest: Version  # release of the framework, for whatever system

    @property
    def title(self) -> str:
        return framework_title(self.framework.name)

    @cached_property
    def wanted(self) -> list[FrameworkBuild]:
        """The builds of the releases that were asked for."""
        spec = self.framework.spec
        return [build for build in self.builds if spec is None or spec.holds(build.version)]

    @property
    def exact(self) -> Version | None:
        """The release or line that was asked for."""
        return self.framework.spec.exact if self.framework.spec is not None else None


def _of(framework: FrameworkRequest, request: Request, tables: Tables) -> Iterator[str]:
    every = [build for build in tables.builds(framework.name) if not (build.cpu_only or build.yanked)]
    if not every:
        return
    newest = every[-1].version
    if request.platform == JETSON:  # whose packages are in no index
        yield from _notes_and_companions(framework, every, newest, request)
        return
    builds = tuple(builds_here(framework.name, request, tables))
    one = _Subject(framework, builds, request, tables, newest)
    yield from _of_release(one)
    yield from _for_cuda(one)
    yield from _for_cudnn(one)
    yield from _for_python(one)
    for gpu in request.gpus:
        yield from _for_gpu(one, gpu)
        yield from _above_all(one, gpu)
    if request.platform in (WINDOWS, WSL):
        yield from _on_windows(one, every)
    if request.platform == WSL:
        from envkit.solver.wsl import wsl_notes

        yield from wsl_notes(request, one.wanted)
    yield from _notes_and_companions(framework, list(builds), newest, request)


def _notes_and_companions(
    framework: FrameworkRequest, builds: list[FrameworkBuild], newest: Version, request: Request
) -> Iterator[str]:
    yield from notes_of(framework.name, _release_asked(framework, newest), beside_of(request, None))
    if framework.spec is not None or framework.companions:
        from envkit.solver.companion_facts import companion_facts

        yield from companion_facts(framework, builds, request)


def _release_asked(framework: FrameworkRequest, newest: Version) -> str:
    """The release that notes are to be true of: the newest where none was asked for; '' for a range."""
    asked = newest if framework.spec is None else framework.spec.exact
    return f"=={asked}" if asked is not None else ""


# ---- a release


def _of_release(one: _Subject) -> Iterator[str]:
    """The CUDAs, cuDNNs, drivers, and Pythons of the release line that was asked for."""
    cudas = sorted({build.cuda for build in one.wanted if build.cuda is not None})
    if one.exact is None or not cudas:
        return
    parts = series(f"{cuda}{_needs(cuda, one)}" for cuda in cudas)
    pythons = listed(python for build in one.wanted for python in build.pythons)
    releases = releases_of(one.wanted)
    number = (
        str(releases[0])
        if len(releases) == 1
        else f"{releases[0]} {'and' if len(releases) == 2 else 'to'} {releases[-1]}"
    )
    are = "is" if len(releases) == 1 else "are"
    yield f"{one.title} {number} {are} built for CUDA {parts}" + (f", and for Python {pythons}" if pythons else "")


def _needs(cuda: Version, one: _Subject) -> str:
    """The cuDNN and driver of a CUDA in words: ` (cuDNN 8.0, driver 450.36.06 or newer)`."""
    lines = listed(build.cudnn.line for build in one.wanted if build.cuda == cuda and build.cudnn is not None)
    lowest = driver_floors(cuda, one.tables, one.request.platform).lowest
    parts = [f"cuDNN {lines}"] if lines else []
    parts += [f"driver {lowest} or newer"] if lowest else []
    return f" ({', '.join(parts)})" if parts else ""


# ---- the releases for a CUDA, a cuDNN, a Python, a GPU


def _cuda_line(request: Request) -> Version | None:
    asked = request.cuda.exact if request.cuda is not None else None
    return asked.line if asked is not None else None


def _for_cuda(one: _Subject) -> Iterator[str]:
    line = _cuda_line(one.request)
    if line is None or not any(build.cuda for build in one.builds):
        return
    if one.exact is not None and any(_is_for(build, line) for build in one.wanted):
        return
    found = spans_in_words(one.builds, lambda build: _is_for(build, line), one.newest)
    if found:
        yield f"{one.title} releases for CUDA {line}: {found}"
        return
    if any(notes_of(one.framework.name, "", beside_of(one.request, None))):
        return  # which say more of this CUDA than the data does
    known = sorted({build.cuda for build in one.builds if build.cuda is not None})
    near = (*[cuda for cuda in known if cuda < line][-1:], *[cuda for cuda in known if cuda > line][:1])
    told = series(f"{_releases_for(cuda, one)} for CUDA {cuda}{_cudnn_of(cuda, one)}" for cuda in near)
    where = place_in_words(one.request)
    yield f"no release of {one.title} is known to be built for CUDA {line}{where}; the nearest are {told}"


def _releases_for(cuda: Version, one: _Subject) -> str:
    return spans_in_words(one.builds, lambda build: build.cuda == cuda, one.newest)


def _cudnn_of(cuda: Version, one: _Subject) -> str:
    lines = listed(build.cudnn.line for build in one.builds if build.cuda == cuda and build.cudnn is not None)
    return f" with cuDNN {lines}" if lines else ""


def _is_for(build: FrameworkBuild, line: Version) -> bool:
    """Whether a build is made for a CUDA release line: one for 12 is for each of 12, within what it states."""
    own, low, high = build.cuda, build.cuda_min, build.cuda_max
    if own is None:
        return False
    if low is not None and high is not None and low <= line <= high:
        return True
    if not (line.starts_with(own) or own.starts_with(line)):
        return False
    return len(own.parts) > 1 or not ((low and line < low) or (high and line > high))


_WARNS = "pytorch"
_MOST_CUDNNS = 6


def _for_cudnn(one: _Subject) -> Iterator[str]:
    """The releases by the cuDNN that they are made for, of the major version that was asked for and its neighbors."""
    asked, cuda = one.request.cudnn, _cuda_line(one.request)
    if asked is None or asked.exact is None:
        return
    major = asked.exact.major
    fitting = [build for build in one.builds if cuda is None or _is_for(build, cuda)] or list(one.builds)
    lines = sorted({build.cudnn.line for build in fitting if build.cudnn is not None})
    near = [line for line in lines if abs(line.major - major) <= 1][:_MOST_CUDNNS]
    if near:
        each = "; ".join(f"cuDNN {line}: {_releases_with(line, fitting, one)}" for line in near)
        yield f"{one.title} releases by cuDNN (a newer minor version will do): {each}"


def _releases_with(cudnn: Version, builds: list[FrameworkBuild], one: _Subject) -> str:
    return spans_in_words(builds, lambda build: build.cudnn is not None and build.cudnn.line == cudnn, one.newest)


def _for_python(one: _Subject) -> Iterator[str]:
    asked = one.request.python.exact if one.request.python is not None else None
    if asked is None or "python" not in one.request.asked:
        return
    python, place = asked.release(2), place_in_words(one.request)
    found = spans_in_words(one.builds, lambda build: python in build.pythons, one.newest)
    if found:
        yield f"{one.title} releases for Python {python}{place}: {found}{_on_linux(python, found, one)}"
    elif any(build.pythons for build in one.builds):
        yield f"no release of {one.title} is known to have GPU packages for Python {python}{place}"
        yield from _on_the_cpu(python, one)


def _on_the_cpu(python: Version, one: _Subject) -> Iterator[str]:
    """The first release that the default index has for a Python, where none uses the GPU."""
    from envkit.compat.package_wheels import has_wheel, wheels_of

    platform = WINDOWS if one.request.platform == WINDOWS else "linux"
    package = one.framework.name
    first = next(
        (row for row in wheels_of(package) if has_wheel(row, platform, one.request.architecture, python)), None
    )
    release = Version.find(first.versions) if first is not None else None
    if release is not None:
        place = place_in_words(one.request)
        yield f"the first {one.title} with packages for Python {python}{place} is {release}, which is CPU-only"


def _on_linux(python: Version, found: str, one: _Subject) -> str:
    """The releases for a Python on the usual system, where those on another are others."""
    if not place_in_words(one.request):
        return ""
    usual = builds_here(one.framework.name, Request(), one.tables)
    there = spans_in_words(usual, lambda build: python in build.pythons, one.newest)
    return f" (on Linux {Request().architecture}: {there})" if there and there != found else ""


_RUNS = (CodeMatch.NATIVE, CodeMatch.BINARY)


def _for_gpu(one: _Subject, gpu: TargetGpu) -> Iterator[str]:
    """The releases with code for a GPU, where not all have it."""
    capability, tables = gpu.compute_capability, one.tables
    known = [build for build in one.builds if build.sass is not None and build.cuda is not None]

    def runs(build: FrameworkBuild) -> bool:
        own = build.cuda is not None and cuda_match(capability, build.cuda, tables).runs is not False
        code = own and code_match(capability, build.sass, build.ptx) in _RUNS
        return code and not cudnn_rules_out(capability, build, tables)

    if not known:
        yield from _last_for_gpu(one, gpu)
        return
    found = first_and_last(known, runs)
    if found is None:
        return
    first, last = found
    if first != known[0].version:
        cudas = listed(build.cuda for build in known if build.version == first and runs(build))
        yield f"the first {one.title} release with kernels that run on {gpu.called} is {first} (CUDA {cudas})"
    if last != known[-1].version and last < one.builds[-1].version:
        newest = cuda_span(capability, tables)[1]
        until = f", with CUDA {newest} or older" if newest is not None else ""
        yield (
            f"the last {one.title} release with kernels that run on {gpu.called} is {last}; to use a newer one, build "
            f"it from source{until}"
        )


def _above_all(one: _Subject, gpu: TargetGpu) -> Iterator[str]:
    """That PyTorch warns of a GPU that is newer than all that it has code for, though code for its kind runs on it."""
    capability = gpu.compute_capability
    if one.framework.name != _WARNS or one.exact is None:
        return
    builds = [build for build in one.wanted if build.sass and build.cuda is not None]
    fit = [
        build
        for build in builds
        if code_match(capability, build.sass, build.ptx) in _RUNS and not cudnn_rules_out(capability, build, one.tables)
    ]
    newest = max((code for build in fit for code in build.sass or ()), default=None, key=lambda code: code.numbers)
    if newest is not None and newest.numbers < capability.numbers and newest.major == capability.major:
        cudas = series(str(cuda) for cuda in sorted({build.cuda for build in fit if build.cuda is not None}))
        yield (
            f"on {gpu}, {one.title} {one.exact} warns that it supports compute capability {newest} at most: code for "
            f"{newest} runs on {capability}, so its builds for CUDA {cudas} do"
        )


def _last_for_gpu(one: _Subject, gpu: TargetGpu) -> Iterator[str]:
    """The last release that supports a GPU, where the oldest GPUs that releases support are all that is recorded."""
    known = [build for build in one.builds if build.min_compute_capability is not None]

    def supports(build: FrameworkBuild) -> bool:
        least = build.min_compute_capability
        return least is not None and least.numbers <= gpu.compute_capability.numbers

    found = first_and_last(known, supports)
    if found is not None and found[1] != known[-1].version:
        last = found[1]
        after = next(build.version for build in known if build.version > last)
        least = (build.min_compute_capability for build in known if build.version == after)
        needs = min(filter(None, least), key=lambda capability: capability.numbers)
        yield (
            f"the last {one.title} release that supports {gpu.called} is {last}; {after} and newer need compute "
            f"capability {needs}"
        )


# ---- Windows


def _on_windows(one: _Subject, every: list[FrameworkBuild]) -> Iterator[str]:
    """Where the packages for Windows ended."""
    native = [build for build in every if WINDOWS in build.platforms]
    last = max((build.version for build in native), default=None)
    if last is None or last == one.newest:
        return
    ending = [build for build in native if build.version == last]
    cudas = ", ".join(
        f"{cuda}{_cudnn_of(cuda, one)}" for cuda in sorted({build.cuda for build in ending if build.cuda})
    )
    pythons = listed(python for build in ending for python in build.pythons)
    if not pythons:  # archives, which later releases have too
        return
    yield (
        f"the last release of {one.title} known to use the GPU on Windows itself is {last} (CUDA {cudas}; Python "
        f"{pythons}); newer ones use it in WSL 2"
    )
