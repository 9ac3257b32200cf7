"""The GPU: which compiled code it runs, and which CUDA versions know it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum

from envkit.base.sentences import series
from envkit.base.versions import ComputeCapability, Version, called
from envkit.compat.cuda_line import sources_of, toolkits_of
from envkit.compat.tables import Tables
from envkit.compat.verdict import DriverVerdict, Verdict
from envkit.tables.rows import FrameworkBuild, Toolkit


class CodeMatch(str, Enum):
    """How a GPU runs a set of compiled code, best first."""

    NATIVE = "native"  # binary code of exactly this capability
    BINARY = "binary"  # binary code of the same major and a lower minor
    JIT = "jit"  # PTX of an equal or lower capability, compiled by the driver at first use
    UNKNOWN = "unknown"
    NONE = "none"


def code_match(
    gpu: ComputeCapability,
    sass: Iterable[ComputeCapability] | None,
    ptx: Iterable[ComputeCapability] | None,
    minimum: ComputeCapability | None = None,
) -> CodeMatch:
    """How `gpu` runs a build with this binary code and PTX; None stands for a list that is not known.

    NVIDIA's rule: binaries run on the same major with an equal or higher minor; PTX is compiled for an equal or
    higher capability. `a` targets run on their own capability only, `f` targets inside their major.
    """
    match = _sass_match(gpu, sass or ())
    if match is not CodeMatch.NONE:
        return match
    if any(_ptx_fits(gpu, target) for target in ptx or ()):
        return CodeMatch.JIT
    if minimum is not None and gpu.numbers < minimum.numbers:
        return CodeMatch.NONE
    return CodeMatch.UNKNOWN if sass is None or ptx is None else CodeMatch.NONE


def _sass_match(gpu: ComputeCapability, targets: Iterable[ComputeCapability]) -> CodeMatch:
    match = CodeMatch.NONE
    for target in targets:
        if target.major == gpu.major:
            if target.minor == gpu.minor:
                return CodeMatch.NATIVE
            if target.minor < gpu.minor and target.specific != "a":
                match = CodeMatch.BINARY
    return match


def _ptx_fits(gpu: ComputeCapability, target: ComputeCapability) -> bool:
    if target.specific == "a":
        return gpu.numbers == target.numbers
    if target.specific == "f":
        return target.major == gpu.major and target.minor <= gpu.minor
    return target.numbers <= gpu.numbers


def gpu_runs_build(
    gpu: ComputeCapability, build: FrameworkBuild, *, driver_verdict: str = "", name: str = ""
) -> Verdict:
    """Whether the build holds code that this GPU runs; with the driver's verdict also whether PTX can be compiled."""
    label = called(name, gpu)
    title = f"{build.named}" + (f" for CUDA {build.cuda}" if build.cuda else "")
    if build.cpu_only:
        return Verdict("gpu-runs-build", "warn", f"{title} is a CPU build: it does not use {label}", build.sources)
    match = code_match(gpu, build.sass, build.ptx, build.min_compute_capability)
    if match is CodeMatch.UNKNOWN:
        from envkit.compat.runtime_code import runtime_code

        known = runtime_code(gpu, build)
        if known is not None:
            sources = (*build.sources, *known.sources)
            told = f"{title} {known.how.replace('{gpu}', label)}"
            return Verdict("gpu-runs-build", "ok" if known.runs else "fail", told, tuple(dict.fromkeys(sources)))
    status, reason = _build_reason(gpu, match, label, build, driver_verdict)
    return Verdict("gpu-runs-build", status, f"{title} {reason}", build.sources)


def _build_reason(
    gpu: ComputeCapability, match: CodeMatch, label: str, build: FrameworkBuild, driver_verdict: str
) -> tuple[str, str]:
    held = series([target.sm for target in build.sass or ()])
    if match is CodeMatch.NATIVE:
        return "ok", f"has binary kernels for {label}"
    if match is CodeMatch.BINARY:
        run = series([one.sm for one in build.sass or () if _sass_match(gpu, (one,)) is not CodeMatch.NONE])
        return "ok", f"has binary kernels ({run}) that run on {label}"
    if match is CodeMatch.UNKNOWN:
        return "unknown", f"may or may not have kernels for {label}: its architecture list is not known"
    if match is CodeMatch.JIT:
        ptx = series([target.compute for target in build.ptx or ()])
        if driver_verdict == DriverVerdict.MINOR_VERSION.value:
            return "fail", (
                f"has only PTX ({ptx}) for {label}, and a driver that supports its CUDA only through minor-version "
                "compatibility cannot JIT-compile it"
            )
        return (
            "warn",
            f"has no binary kernels for {label}; the driver JIT-compiles its PTX ({ptx}), which makes the first start "
            "slow",
        )
    if build.sass is None and build.min_compute_capability is not None:
        return "fail", f"needs compute capability {build.min_compute_capability} or higher, which {label} does not have"
    ptx = series([target.compute for target in build.ptx or ()])
    inside = series(filter(None, (held and f"binaries for {held}", ptx and f"PTX for {ptx}")))
    return "fail", f"has no kernels for {label}" + (f", only {inside}" if inside else "")


class ToolkitMatch(str, Enum):
    """How a CUDA toolkit knows a GPU, best first."""

    TARGET = "target"  # nvcc compiles for exactly this capability
    BINARY = "binary"  # it compiles for a lower minor of the same major, which runs
    UNKNOWN = "unknown"
    TOO_NEW = "too-new"  # the GPU came after this toolkit
    DROPPED = "dropped"  # the toolkit no longer compiles for this GPU

    @property
    def runs(self) -> bool | None:
        """Whether the GPU runs what the toolkit holds; None where that is not recorded."""
        return None if self is ToolkitMatch.UNKNOWN else self in (ToolkitMatch.TARGET, ToolkitMatch.BINARY)


def toolkit_match(gpu: ComputeCapability, toolkit: Toolkit) -> ToolkitMatch:
    """How one toolkit knows a GPU: its compiler's targets, and with them the code inside its libraries."""
    low, high = toolkit.min_compute_capability, toolkit.max_compute_capability
    if low is not None and gpu.numbers < low.numbers:
        return ToolkitMatch.DROPPED
    if toolkit.compute_capabilities is None:
        return _bounded_match(gpu, low, high)
    minors = toolkit.minors.get(gpu.major, ())
    if gpu.minor in minors:
        return ToolkitMatch.TARGET
    return ToolkitMatch.BINARY if minors and min(minors) < gpu.minor else ToolkitMatch.TOO_NEW


def _bounded_match(
    gpu: ComputeCapability, low: ComputeCapability | None, high: ComputeCapability | None
) -> ToolkitMatch:
    if low is None or high is None:
        return ToolkitMatch.UNKNOWN
    if gpu.numbers <= high.numbers:
        return ToolkitMatch.TARGET
    return ToolkitMatch.BINARY if gpu.major == high.major else ToolkitMatch.TOO_NEW


_TOOLKIT_ORDER = list(ToolkitMatch)


def cuda_match(gpu: ComputeCapability, cuda: Version, tables: Tables) -> ToolkitMatch:
    """How a CUDA version or release line knows a GPU: the best of its toolkits, UNKNOWN for an unlisted CUDA."""
    return best_match(gpu, _alike(cuda, tables))


def _alike(cuda: Version, tables: Tables) -> Sequence[Toolkit]:
    """The toolkits of a CUDA version; of its release line where it is a build that was published in no toolkit.

    NVIDIA's images have such early builds (11.0.167), and the builds of one line know the same GPUs.
    """
    return toolkits_of(cuda, tables) or toolkits_of(cuda.release(2), tables)


def best_match(gpu: ComputeCapability, rows: Iterable[Toolkit]) -> ToolkitMatch:
    """`cuda_match` for a CUDA whose toolkits are available."""
    best: ToolkitMatch | None = None
    for toolkit in rows:
        match = toolkit_match(gpu, toolkit)
        if match is ToolkitMatch.TARGET:
            return match
        if best is None or (match is not best and _TOOLKIT_ORDER.index(match) < _TOOLKIT_ORDER.index(best)):
            best = match
    return best or ToolkitMatch.UNKNOWN


def gpu_runs_cuda(gpu: ComputeCapability, cuda: Version, tables: Tables, *, name: str = "") -> Verdict:
    """Whether a CUDA version's compiler and libraries know this GPU; a refusal names the first and last that do.

    Code that was compiled for an older GPU may carry PTX that a newer one's driver compiles, but CUDA's own
    libraries (cuBLAS, cuDNN) of a toolkit older than the GPU hold no code for it, so it counts as not runnable.
    """
    label = called(name, gpu)
    sources = sources_of(_alike(cuda, tables))
    match = cuda_match(gpu, cuda, tables)
    if match is ToolkitMatch.TARGET:
        return Verdict("gpu-runs-cuda", "ok", f"CUDA {cuda} can compile for {label}", sources)
    if match is ToolkitMatch.BINARY:
        detail = f"CUDA {cuda} predates {label}, but its kernels for the same major compute capability run on it"
        return Verdict("gpu-runs-cuda", "ok", detail, sources)
    if match is ToolkitMatch.UNKNOWN:
        return Verdict("gpu-runs-cuda", "unknown", f"it is not known which GPUs CUDA {cuda} supports", sources)
    first, last = cuda_span(gpu, tables)
    if match is ToolkitMatch.DROPPED:
        until = (
            f"CUDA {last} was the last release that did" if last else f"only releases before {oldest_cuda(tables)} do"
        )
        return Verdict("gpu-runs-cuda", "fail", f"CUDA {cuda} does not support {label}; {until}", sources)
    compiling = target_span(gpu, tables)[0]
    to_compile = f" ({compiling} or newer to compile for it)" if compiling not in (None, first) else ""
    detail = (
        f"CUDA {cuda} predates {label}, which needs CUDA {first} or newer{to_compile}. PTX from CUDA {cuda} could be "
        f"JIT-compiled, but cuBLAS {cuda} and the matching cuDNN have no kernels for this GPU"
    )
    return Verdict("gpu-runs-cuda", "fail", detail, sources)


def nvcc_targets_gpu(gpu: ComputeCapability, toolkit: Toolkit, tables: Tables, *, name: str = "") -> Verdict | None:
    """A warning that this toolkit's compiler does not know the GPU, whose code of an older one it can build; otherwise
    None.

    What is built for the GPU itself stops with "Unsupported gpu architecture".
    """
    if toolkit_match(gpu, toolkit) is not ToolkitMatch.BINARY:
        return None
    first = target_span(gpu, tables)[0]
    newer = f"; CUDA {first} is the first that does" if first else ""
    detail = (
        f"nvcc {toolkit.release} does not compile for {called(name, gpu)}, only for older GPUs of the same major "
        f"architecture{newer}"
    )
    return Verdict("nvcc-targets-gpu", "warn", detail, toolkit.sources)


def oldest_cuda(tables: Tables) -> Version:
    """The first CUDA release line of the tables: of older ones, no GPU is known."""
    return tables.toolkits[0].release


def cuda_span(gpu: ComputeCapability, tables: Tables) -> tuple[Version | None, Version | None]:
    """The first and last CUDA release line that a GPU runs; None where none is recorded."""
    return _span(gpu, tables, (ToolkitMatch.TARGET, ToolkitMatch.BINARY))


def target_span(gpu: ComputeCapability, tables: Tables) -> tuple[Version | None, Version | None]:
    """The first and last CUDA release line whose compiler targets this GPU; None where none is recorded."""
    return _span(gpu, tables, (ToolkitMatch.TARGET,))


def _span(
    gpu: ComputeCapability, tables: Tables, wanted: Iterable[ToolkitMatch]
) -> tuple[Version | None, Version | None]:
    lines = [row.release for row in tables.toolkits if toolkit_match(gpu, row) in wanted]
    return (lines[0], lines[-1]) if lines else (None, None)
