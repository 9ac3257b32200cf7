"""What an expert adds to an answer: which releases there are for a CUDA, a Python, a GPU, and what goes with them.

The tables know it all; a plan shows one row of it. Each sentence is about a part of the request that the user wrote.
"""

from __future__ import annotations

from collections.abc import Iterator

from envkit.base.platforms import JETSON, WINDOWS, WSL
from envkit.base.versions import Version
from envkit.compat.cuda_line import toolkits_of
from envkit.compat.driver import compat_branches, compat_line, driver_floors
from envkit.compat.gpu import CodeMatch, code_match, cuda_match, cuda_span
from envkit.compat.tables import Tables
from envkit.solver.companion_facts import companion_facts
from envkit.solver.host_compilers import host_compilers
from envkit.solver.release_spans import builds_here, listed, releases_of, spans, spans_in_words
from envkit.solver.request import FrameworkRequest, Request, TargetGpu
from envkit.tables.rows import FrameworkBuild, framework_title


def background(request: Request, tables: Tables) -> tuple[str, ...]:
    """Sentences next to a plan or a refusal, each once; none for a Jetson, whose packages are in no index."""
    if request.platform == JETSON:
        return ()
    told = (*_of_frameworks(request, tables), *_in_containers(request, tables), *host_compilers(request, tables))
    return tuple(dict.fromkeys(told))


def _of_frameworks(request: Request, tables: Tables) -> Iterator[str]:
    for framework in request.frameworks:
        builds = builds_here(framework.name, request, tables)
        if framework.spec is not None:
            yield from _of_release(framework, builds)
        yield from _for_cuda(framework, builds, request)
        yield from _for_cudnn(framework, builds, request)
        yield from _for_python(framework, builds, request)
        for gpu in request.gpus:
            yield from _for_gpu(framework, builds, gpu, tables)
        yield from _for_driver(framework, builds, request, tables)
        if request.platform in (WINDOWS, WSL):
            yield from _on_windows(framework, builds, tables)
        yield from companion_facts(framework, builds, request)


# ---- a release


def _of_release(framework: FrameworkRequest, builds: list[FrameworkBuild]) -> Iterator[str]:
    """The CUDAs, cuDNNs and Pythons of the release line that was asked for."""
    wanted = _wanted(framework, builds)
    if not wanted or framework.spec is None or framework.spec.exact is None:
        return
    cudas = sorted({build.cuda for build in wanted if build.cuda is not None})
    parts = [_with_cudnn(cuda, wanted) for cuda in cudas]
    pythons = listed(python for build in wanted for python in build.pythons)
    if parts:
        releases = releases_of(wanted)
        number = str(releases[0]) if len(releases) == 1 else f"{releases[0]} to {releases[-1]}"
        for_python = f"; for Python {pythons}" if pythons else ""
        yield f"{framework_title(framework.name)} {number} is built for CUDA {', '.join(parts)}{for_python}"


def _with_cudnn(cuda: Version, builds: list[FrameworkBuild]) -> str:
    """A CUDA of builds with the cuDNN that they are made for: 11.0 (cuDNN 8.0)."""
    lines = {_line(build.cudnn) for build in builds if build.cuda == cuda and build.cudnn is not None}
    return f"{cuda}" + (f" (cuDNN {listed(lines)})" if lines else "")


def _line(version: Version) -> Version:
    return version.release(2) if len(version.parts) > 1 else version


def _wanted(framework: FrameworkRequest, builds: list[FrameworkBuild]) -> list[FrameworkBuild]:
    return [build for build in builds if framework.spec is None or framework.spec.holds(build.version)]


# ---- the releases for a CUDA, a Python, a GPU


def _for_cuda(framework: FrameworkRequest, builds: list[FrameworkBuild], request: Request) -> Iterator[str]:
    asked = request.cuda.exact if request.cuda is not None else None
    if asked is None or not any(build.cuda for build in builds):
        return
    line, title = asked.release(2) if len(asked.parts) > 1 else asked, framework_title(framework.name)
    if framework.spec is not None and any(_is_for(build, line) for build in _wanted(framework, builds)):
        return
    found = spans_in_words(builds, lambda build: _is_for(build, line))
    if found:
        yield f"{title} releases for CUDA {line}: {found}"
        return
    known = sorted({build.cuda for build in builds if build.cuda is not None})
    below, above = [one for one in known if one < line][-1:], [one for one in known if one > line][:1]
    near = [f"for CUDA {_with_cudnn(one, builds)} {_releases_for(one, builds)}" for one in (*below, *above)]
    yield f"no release of {title} is built for CUDA {line}; the nearest are {', and '.join(near)}"


def _releases_for(cuda: Version, builds: list[FrameworkBuild]) -> str:
    return spans_in_words(builds, lambda build: build.cuda == cuda)


def _for_cudnn(framework: FrameworkRequest, builds: list[FrameworkBuild], request: Request) -> Iterator[str]:
    """The releases by the cuDNN that they are made for, of the major version that was asked for and its neighbors."""
    asked = request.cudnn.exact if request.cudnn is not None else None
    cuda = request.cuda.exact if request.cuda is not None else None
    if asked is None:
        return
    line = cuda.release(2) if cuda is not None and len(cuda.parts) > 1 else cuda
    fitting = [build for build in builds if line is None or _is_for(build, line)] or builds
    lines = sorted({_line(build.cudnn) for build in fitting if build.cudnn is not None})
    near = [one for one in lines if abs(one.major - asked.major) <= 1]
    if not near:
        return
    each = "; ".join(f"cuDNN {one}: {_releases_with(one, fitting)}" for one in near[:_MOST_CUDNNS])
    yield f"{framework_title(framework.name)} releases by cuDNN (a newer minor version will do): {each}"


_MOST_CUDNNS = 6


def _releases_with(cudnn: Version, builds: list[FrameworkBuild]) -> str:
    return spans_in_words(builds, lambda build: build.cudnn is not None and _line(build.cudnn) == cudnn)


def _is_for(build: FrameworkBuild, line: Version) -> bool:
    """Whether a build is made for a CUDA release line: one for 12 is for each of 12."""
    own = build.cuda
    if own is None or not (line.starts_with(own) or own.starts_with(line)):
        return False
    low, high = build.cuda_min, build.cuda_max
    return len(own.parts) > 1 or not ((low and line < low) or (high and line > high))


def _for_python(framework: FrameworkRequest, builds: list[FrameworkBuild], request: Request) -> Iterator[str]:
    asked = request.python.exact if request.python is not None else None
    if asked is None or "python" not in request.asked:
        return
    python, title = asked.release(2), framework_title(framework.name)
    found = spans_in_words(builds, lambda build: python in build.pythons)
    if found:
        yield f"{title} releases for Python {python}: {found}"
    elif any(build.pythons for build in builds):
        yield f"no release of {title} known to envkit has GPU packages for Python {python}"


_RUNS = (CodeMatch.NATIVE, CodeMatch.BINARY)


def _for_gpu(
    framework: FrameworkRequest, builds: list[FrameworkBuild], gpu: TargetGpu, tables: Tables
) -> Iterator[str]:
    """The releases with code for a GPU, where not all have it."""
    capability = gpu.compute_capability
    known = [build for build in builds if build.sass is not None and build.cuda is not None]

    def runs(build: FrameworkBuild) -> bool:
        own = build.cuda is not None and cuda_match(capability, build.cuda, tables).runs is not False
        return own and code_match(capability, build.sass, build.ptx) in _RUNS

    found, releases = spans(known, runs), releases_of(known)
    title = framework_title(framework.name)
    if not found:
        return
    first, last = found[0][0], found[-1][1]
    if first != releases[0]:
        cudas = listed(build.cuda for build in known if build.version == first and runs(build))
        yield f"the first release of {title} with code for {gpu} is {first} (CUDA {cudas})"
    if last != releases[-1] and last < max(build.version for build in builds):
        newest = cuda_span(capability, tables)[1]
        until = f", with CUDA {newest} or older" if newest is not None else ""
        yield (
            f"the last release of {title} with code for {gpu} is {last}; a newer one would have to be built from "
            f"source for it{until}"
        )


def _for_driver(
    framework: FrameworkRequest, builds: list[FrameworkBuild], request: Request, tables: Tables
) -> Iterator[str]:
    """The drivers that the CUDAs of one release need."""
    wanted = _wanted(framework, builds)
    if request.driver is None or framework.spec is None or framework.spec.exact is None:
        return
    floors = {}
    for cuda in sorted({build.cuda for build in wanted if build.cuda is not None}):
        known = driver_floors(cuda, tables, request.platform)
        lowest = known.minor_version or known.native
        if lowest is not None:
            floors[cuda] = lowest
    if floors:
        each = ", ".join(f"CUDA {cuda} needs {lowest}" for cuda, lowest in floors.items())
        yield f"drivers for the builds of {framework_title(framework.name)} {framework.spec}: {each} (or newer)"


# ---- containers


def _in_containers(request: Request, tables: Tables) -> Iterator[str]:
    """The older driver branches that an image's cuda-compat takes, which is for data center GPUs."""
    cuda = request.cuda.exact if request.cuda is not None else None
    if not request.container or cuda is None or request.driver is None:
        return
    if request.gpus and all(gpu.data_center for gpu in request.gpus):
        return
    line = compat_line(cuda)
    floors, branches = driver_floors(cuda, tables), compat_branches(toolkits_of(line, tables)) or ()
    lowest = floors.minor_version or floors.native
    if lowest is None or request.driver >= lowest or request.driver.major not in branches:
        return
    yield (
        f"a data center GPU (Tesla T4, A100) runs an image for CUDA {line} with driver branch {request.driver.major} "
        f"too, by the cuda-compat package in it; a GeForce card does not, and needs driver {lowest} or newer"
    )


# ---- Windows


def _on_windows(framework: FrameworkRequest, builds: list[FrameworkBuild], tables: Tables) -> Iterator[str]:
    """Where the packages for Windows ended, and that the default index has none for the GPU."""
    title = framework_title(framework.name)
    native = [build for build in tables.builds(framework.name) if not build.cpu_only and WINDOWS in build.platforms]
    every = releases_of(build for build in tables.builds(framework.name) if not build.cpu_only)
    if not native or not every:
        return
    last = max(build.version for build in native)
    if last != every[-1]:
        ending = [build for build in native if build.version == last]
        cudas = ", ".join(_with_cudnn(cuda, ending) for cuda in sorted({one.cuda for one in ending if one.cuda}))
        pythons = listed(python for build in ending for python in build.pythons)
        yield (
            f"the last release of {title} that uses the GPU on Windows itself is {last}"
            f" (CUDA {cudas}; Python {pythons}); newer ones use it in WSL 2"
        )
