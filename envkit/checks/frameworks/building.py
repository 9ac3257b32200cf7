"""Builds of extensions that stop before or while they compile, for a reason that is not in their source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.checks.cuda.toolkit import build_nvcc
from envkit.checks.engine.ask import install_cuda
from envkit.checks.engine.evidence import known
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, Remedy, Status, ok, skip
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.frameworks.build_again import fewer_compilers, without_isolation
from envkit.checks.frameworks.installs import distribution, distribution_evidence, judged, nothing_to_judge
from envkit.model import Environment
from envkit.tables.codes import limit

if TYPE_CHECKING:
    from envkit.tables import Matrix

_COMPILED_AT_INSTALL = ("flash-attn", "apex", "detectron2", "mmcv", "xformers", "deepspeed", "torch-scatter")
_BYTES_PER_COMPILER = 3 * 1024**3  # nvcc on the kernels of flash-attn takes more


def _newer_toolkit(environment: Environment, matrix: Matrix) -> Remedy:
    square = (named(seen(environment, "glibc-newer-than-toolkit"), "function") or "").startswith("rsqrt")
    if square:  # which glibc took over one release later than the others
        first, fits = limit("glibc-rsqrt"), limit("toolkit-with-rsqrt")
    else:
        first, fits = limit("glibc-pi-functions"), limit("toolkit-with-pi-functions")
    return Remedy(
        f"Compile with CUDA {fits} or newer, or in a container whose glibc is older than {first}.",
        install_cuda(environment, fits),
    )


_ISOLATED = Fault(
    "build-isolation-hides-torch",
    "pip's isolated build environment does not contain torch",
    impact="pip builds the package in an isolated environment without your torch, so setup.py fails at import torch.",
    remedy=without_isolation,
)


_KILLED = Fault(
    "build-out-of-memory",
    "A build runs out of memory and is killed",
    impact="The extension does not build; the source code and the compilers are fine.",
    remedy=fewer_compilers,
)
_HEADERS_CLASH = Fault(
    "glibc-newer-than-toolkit",
    "The CUDA toolkit's headers clash with the system's glibc",
    impact="No CUDA source file compiles; programs that are already compiled still run.",
    remedy=_newer_toolkit,
)


@check(
    _ISOLATED,
    layer=Layer.FRAMEWORK_BUILD,
    rank=9,
    any_of=("pythons", "messages"),
    fix="Install the build requirements by hand and pass --no-build-isolation.",
    references=threads("open-mmlab/mmdetection#12414", "Dao-AILab/flash-attention#246"),
)
def build_isolation_hides_torch(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The modules that a setup.py imports are available in the isolated environment in which pip builds it.

    pip and uv build in a fresh environment that contains only the declared requirements. A setup.py that imports torch
    without declaring it fails there, although torch is installed.
    """
    if reported := _ISOLATED.reported(environment):
        yield reported
        return
    built = [item for python in judged(environment) if (item := distribution(python, *_COMPILED_AT_INSTALL))]
    if built:
        yield ok("extensions are built", evidence=[distribution_evidence(item) for item in built])
    else:
        yield nothing_to_judge(environment, "extension that needs compiling")


@check(
    _KILLED,
    layer=Layer.TOOLKIT,
    rank=12,
    any_of=("system.memory_bytes", "messages"),
    explained_by=("gcc-too-new-for-nvcc", "glibc-newer-than-toolkit", "nvcc-too-old-for-gpu", "toolkit-missing"),
    fix="Run fewer compilers at a time (MAX_JOBS), or give the build more memory.",
    references=threads("Dao-AILab/flash-attention#347", "Dao-AILab/flash-attention#358"),
)
def build_out_of_memory(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """A parallel build starts no more compilers than fit in memory.

    ninja starts one compiler per processor, and each can take gigabytes for CUDA code. The kernel then kills one, and
    the only sign is "Killed" or signal 9.
    """
    memory, processors = environment.system.memory_bytes, environment.system.processors
    if reported := _KILLED.reported(environment):
        yield reported
    elif not (memory.known and processors.known):
        return
    elif memory.get() >= processors.get() * _BYTES_PER_COMPILER:
        yield ok(
            "there is enough memory for one compiler per processor",
            evidence=[known(environment, "system.memory_bytes")],
        )
    else:
        yield skip("a build with one compiler per processor may need more memory; no such build was seen")


@check(
    _HEADERS_CLASH,
    layer=Layer.TOOLKIT,
    rank=34,
    any_of=("system.glibc", "messages"),
    fix="Compile with a newer CUDA toolkit, or in a container of an older distribution.",
    references=threads("NVIDIA/cuda-samples#378"),
)
def glibc_newer_than_toolkit(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """nvcc's headers are compatible with the math headers of the system's glibc.

    Newer glibc releases declare functions such as cospi and rsqrt that the toolkit's headers also declare, with a
    different exception specification. Choosing another host compiler does not help.
    """
    glibc, place = environment.system.glibc, build_nvcc(environment)
    if reported := _HEADERS_CLASH.reported(environment):
        yield reported
    elif not glibc.known or place is None:
        return
    elif glibc.get() >= limit("glibc-pi-functions") and place[0] < limit("toolkit-with-pi-functions"):
        yield _HEADERS_CLASH.found(
            [known(environment, "system.glibc"), Evidence("nvcc", str(place[0]), place[1])],
            title=f"CUDA {place[0]} does not compile with glibc {glibc.get()}",
            status=Status.WARN,
        )
    else:
        yield ok("the toolkit's headers are compatible with glibc", evidence=[known(environment, "system.glibc")])
