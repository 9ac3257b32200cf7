"""The framework's own needs: Python, glibc, NumPy, and the CUDA and cuDNN that it does not provide itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from functools import cache

from envkit.base.kept import kept
from envkit.base.versions import ComputeCapability, Version, VersionSpec, called
from envkit.compat.cuda_line import toolkits_of
from envkit.compat.gpu import ToolkitMatch, best_match
from envkit.compat.tables import Tables
from envkit.compat.verdict import Verdict
from envkit.tables.rows import CudnnRelease, FrameworkBuild, Toolkit


def title_of(build: FrameworkBuild) -> str:
    """The build in words: `PyTorch 1.1.0 for CUDA 9.0`."""
    return f"{build.named}" + (f" for CUDA {build.cuda}" if build.cuda else "")


def needs_system_cuda(build: FrameworkBuild) -> bool:
    """True when the build loads a CUDA of its own line from the system."""
    return build.cuda is not None and not build.bundles_cuda and not build.cpu_only


def has_own_cudnn(build: FrameworkBuild) -> bool:
    """False for a build that takes the cuDNN of the system's CUDA, or none."""
    return not build.cpu_only and not needs_system_cuda(build)


class GlibcMatch(str, Enum):
    """How a glibc suits a build's binaries."""

    FITS = "fits"
    TOO_OLD = "too-old"
    TOO_NEW = "too-new"  # a library of the build asks for an executable stack, which glibc refuses in time
    UNKNOWN = "unknown"

    @property
    def fits(self) -> bool | None:
        """Whether the binaries run; None where the tables leave it open."""
        return None if self is GlibcMatch.UNKNOWN else self is GlibcMatch.FITS


def glibc_match(build: FrameworkBuild, glibc: Version | None) -> GlibcMatch:
    """How a glibc (None: not known) suits a build."""
    if glibc is not None and build.execstack_glibc is not None and glibc >= build.execstack_glibc:
        return GlibcMatch.TOO_NEW
    if glibc is None or build.min_glibc is None:
        return GlibcMatch.UNKNOWN
    return GlibcMatch.FITS if glibc >= build.min_glibc else GlibcMatch.TOO_OLD


def glibc_meets(build: FrameworkBuild, glibc: Version | None, *, where: str = "") -> Verdict:
    """The verdict on a build and the target's glibc."""
    match, title, place = glibc_match(build, glibc), title_of(build), where or "this system"
    status = {True: "ok", False: "fail", None: "unknown"}[match.fits]
    details = {
        GlibcMatch.FITS: f"{title} needs glibc {build.min_glibc} or newer, and {place} has {glibc}",
        GlibcMatch.TOO_OLD: f"{title} needs glibc {build.min_glibc} or newer, but {place} has {glibc}",
        GlibcMatch.TOO_NEW: (
            f"a library in {title} requires an executable stack, which glibc {build.execstack_glibc} and newer "
            f"reject; {place} has {glibc}"
        ),
        GlibcMatch.UNKNOWN: (
            f"{title} needs glibc {build.min_glibc} or newer, and it is not known which glibc {place} has"
            if build.min_glibc
            else f"it is not known which glibc {title} needs"
        ),
    }
    return Verdict("glibc-meets-build", status, details[match], build.sources)


@cache
def range_of_row(versions: str) -> VersionSpec:
    """The range that a row writes, `<2` or `>=1.26,<2.1`: there are few of them, and each is asked for many times."""
    return VersionSpec.parse(versions)


def some_version_meets(specs: Iterable[VersionSpec]) -> bool:
    """Whether any version at all lies in every one of these ranges."""
    wanted = tuple(specs)
    bounds = [bound for spec in wanted for _, bound in spec.clauses]
    candidates = [Version((0,)), *bounds]
    candidates += [Version((*bound.parts[:-1], bound.parts[-1] + 1)) for bound in bounds]
    candidates += [Version((*bound.parts, 1)) for bound in bounds]
    return any(all([spec.holds(candidate) for spec in wanted]) for candidate in candidates)


def numpy_agree(builds: Iterable[FrameworkBuild]) -> Verdict:
    """Whether one NumPy release can meet every build's bound."""
    bounded = [build for build in builds if build.numpy]
    sources = tuple(dict.fromkeys(key for build in bounded for key in build.sources))
    wants = "; ".join(f"{title_of(build)} requires numpy{build.numpy}" for build in bounded)
    if not bounded:
        return Verdict("numpy-agrees", "ok", "no package restricts the NumPy version", sources)
    if some_version_meets(range_of_row(build.numpy) for build in bounded if build.numpy):
        return Verdict("numpy-agrees", "ok", wants, sources)
    return Verdict("numpy-agrees", "fail", f"no NumPy release meets them all: {wants}", sources)


class LibraryMatch(str, Enum):
    """How a system CUDA toolkit serves a build that provides no CUDA of its own, best first."""

    SAME = "same"
    STATED = "stated"  # another minor of the range that the build's makers state
    MINOR = "minor"  # newer minor of the same major, under NVIDIA's minor-version compatibility
    UNKNOWN = "unknown"
    NONE = "none"


def toolkit_serves(build: FrameworkBuild, toolkit: Toolkit) -> LibraryMatch:
    """How this toolkit's libraries serve a build made for its own CUDA line.

    Under minor-version compatibility libraries keep their interface inside a major version, so a build for an earlier
    minor loads them, provided that they are still called what they were then (not so from 11.0 to 11.1 and 11.2).
    """
    if build.cuda is None:
        return LibraryMatch.UNKNOWN
    if toolkit.version.starts_with(build.cuda):
        return LibraryMatch.SAME if _inside(build, toolkit) else LibraryMatch.NONE
    if states_cuda(build, toolkit):
        return LibraryMatch.STATED
    since = toolkit.libraries_since
    if toolkit.minor_compatibility_driver is not None and since is not None and since <= build.cuda < toolkit.version:
        return LibraryMatch.MINOR
    return LibraryMatch.NONE


def states_cuda(build: FrameworkBuild, toolkit: Toolkit) -> bool:
    """Whether a build's makers state that it works with this CUDA of its major, next to the one it was built with."""
    same_major = build.cuda is not None and build.cuda.major == toolkit.version.major
    return build.cuda_min is not None and same_major and _inside(build, toolkit)


def _inside(build: FrameworkBuild, toolkit: Toolkit) -> bool:
    low, high = build.cuda_min, build.cuda_max
    below = low is not None and toolkit.version < low
    above = high is not None and toolkit.version > high and not toolkit.version.starts_with(high)
    return not below and not above


def toolkit_serves_build(build: FrameworkBuild, toolkit: Toolkit) -> Verdict:
    """The verdict on a build that loads CUDA from the system, and one toolkit."""
    match = toolkit_serves(build, toolkit)
    sources = tuple(dict.fromkeys((*build.sources, *toolkit.sources)))
    if match is LibraryMatch.SAME:
        detail = f"{title_of(build)} loads the CUDA {toolkit.release} libraries from the system"
        return Verdict("toolkit-serves-build", "ok", detail, sources)
    if match is LibraryMatch.STATED:
        detail = (
            f"{title_of(build)} also loads the CUDA {toolkit.release} libraries from the system, according to its "
            "developers"
        )
        return Verdict("toolkit-serves-build", "ok", detail, sources)
    if match is LibraryMatch.MINOR:
        detail = (
            f"{title_of(build)} loads the CUDA {toolkit.release} libraries: CUDA "
            f"{toolkit.version.major}.x libraries are ABI-compatible, but the vendor did not test this combination"
        )
        return Verdict("toolkit-serves-build", "warn", detail, sources)
    if match is LibraryMatch.UNKNOWN:
        detail = f"it is not known which CUDA version {title_of(build)} was built for"
        return Verdict("toolkit-serves-build", "unknown", detail, sources)
    detail = f"{title_of(build)} cannot load the libraries of CUDA {toolkit.release}"
    return Verdict("toolkit-serves-build", "fail", detail, sources)


def cudnn_supports_cuda(release: CudnnRelease, cuda: Version) -> bool:
    """Whether this cuDNN build is made for a CUDA version; its spans are like `10.2`, `11.0-11.8` or `12.x`."""
    if release.cuda.major != cuda.major:  # no cuDNN build serves two majors
        return False
    return any(_span_holds(spec, cuda) for spec in release.supported_cuda or (str(release.cuda),))


def _span_holds(spec: str, cuda: Version) -> bool:
    first, last = _span(spec)
    if first is None or last is None:
        return first is not None and cuda.starts_with(first)
    return first <= cuda and (cuda <= last or cuda.starts_with(last))


@cache
def _span(spec: str) -> tuple[Version | None, Version | None]:
    """The ends of a span such as `11.0-11.8`; a single one is a line, and what cannot be read is no span at all."""
    low, _, high = spec.strip().partition("-")
    try:
        first = Version.parse(low.removesuffix(".x"))
        return first, Version.parse(high.removesuffix(".x")) if high else None
    except ValueError:
        return None, None


def cudnn_knows_gpu(release: CudnnRelease, gpu: ComputeCapability) -> bool | None:
    """Whether this cuDNN has kernels for a GPU; None where its range is not recorded."""
    low, high = release.min_compute_capability, release.max_compute_capability
    if low is not None and (gpu.major, gpu.minor) < (low.major, low.minor):
        return False
    if high is not None and gpu.major > high.major:
        return False
    return None if low is None else True


def cudnn_serves(build: FrameworkBuild, cudnn: Version) -> bool | None:
    """Whether a system cuDNN serves a build: the same major and not an older minor; None where not recorded."""
    if build.cudnn is None:
        return None
    return cudnn.major == build.cudnn.major and cudnn.release(2) >= build.cudnn.release(2)


def cudnn_meets(build: FrameworkBuild, wanted: VersionSpec, tables: Tables) -> bool | None:
    """Whether the cuDNN of a build is a wanted one; None where its number is not recorded, or not as exactly.

    One that is not recorded cannot be a version that was never made for the build's CUDA.
    """
    if build.cudnn is not None:
        told_less = wanted.exact is not None and len(build.cudnn.parts) < len(wanted.exact.parts)
        if told_less and wanted.exact is not None and wanted.exact.starts_with(build.cudnn):
            return None
        return wanted.holds(build.cudnn)
    made = (row for row in tables.cudnns if build.cuda is None or row.cuda.major == build.cuda.major)
    return None if any(wanted.holds(row.version) for row in made) else False


def gpu_on_cudnn(
    gpu: ComputeCapability,
    cudnn: Version,
    cuda: Version | None,
    tables: Tables,
    *,
    name: str = "",
) -> Verdict:
    """Whether a cuDNN version, as built for this CUDA major, has kernels for a GPU.

    Where the CUDA is not known, a cuDNN made for CUDA releases that do not know the GPU has no kernels for it, nor has
    an older one.
    """
    label = called(name, gpu)
    rows = [
        row
        for row in _by_release(tables).get((cudnn.major, cudnn.minor)[: len(cudnn.parts)], ())
        if (cuda is None or row.cuda.major == cuda.major) and row.version.starts_with(cudnn)
    ]
    apart = _made_for_others(cudnn, gpu, rows, tables) if cuda is None else None
    if apart is not None:
        detail = f"cuDNN {cudnn} was built for CUDA {apart.cuda} and older, which do not support {label}"
        return Verdict("gpu-on-cudnn", "fail", detail, apart.sources)
    usable = [row for row in rows if cuda is not None or _is_for_gpu(row, gpu, tables)]
    if rows and not usable:
        first = min(rows, key=lambda row: row.cuda)
        detail = f"cuDNN {cudnn} was built for CUDA {first.cuda} and newer, which do not support {label}"
        return Verdict("gpu-on-cudnn", "fail", detail, first.sources)
    later = _came_with_later_cuda(tables, gpu, cudnn.major, cuda.major) if cuda is not None else None
    if later is not None and cuda is not None:
        named = f"NVIDIA lists {label} among the GPUs that cuDNN {cudnn.major} supports with CUDA {later.cuda.major}"
        detail = f"{named}, but not with CUDA {cuda.major}: convolutions fail with cuDNN {cudnn} for CUDA {cuda}"
        return Verdict("gpu-on-cudnn", "fail", detail, later.sources)
    answers = [cudnn_knows_gpu(row, gpu) for row in usable]
    sources = rows[-1].sources if rows else ()
    if True in answers:
        return Verdict("gpu-on-cudnn", "ok", f"cuDNN {cudnn} has kernels for {label}", sources)
    if None in answers or not answers:
        return Verdict("gpu-on-cudnn", "unknown", f"it is not known which GPUs cuDNN {cudnn} supports", sources)
    low, high = rows[-1].min_compute_capability, rows[-1].max_compute_capability
    bounds = " ".join([*([f"from {low}"] if low else []), *([f"to {high}"] if high else [])])
    detail = f"cuDNN {cudnn} has no kernels for {label}: it supports compute capabilities {bounds}"
    return Verdict("gpu-on-cudnn", "fail", detail, sources)


def cudnn_rules_out(gpu: ComputeCapability, build: FrameworkBuild, tables: Tables) -> bool:
    """Whether the cuDNN that a build was made for certainly has no kernels for a GPU, wherever it comes from."""
    major = build.cuda.major if build.cuda is not None else None
    return build.cudnn is not None and cudnn_status(tables, gpu, build.cudnn.parts, major) == "fail"


@kept
def _by_release(tables: Tables) -> dict[tuple[int, ...], list[CudnnRelease]]:
    """The rows of cuDNN by their major version, and by their major and minor."""
    found: dict[tuple[int, ...], list[CudnnRelease]] = {}
    for row in tables.cudnns:
        version = row.version
        found.setdefault((version.major,), []).append(row)
        found.setdefault((version.major, version.minor), []).append(row)
    return found


@kept
def cudnn_status(tables: Tables, gpu: ComputeCapability, cudnn: tuple[int, ...], cuda: int | None) -> str:
    """The status of a cuDNN version, as built for a CUDA major, on a GPU: ok, fail or unknown.

    The version is its numbers: 8 and 8.0 are equal, and other lines.
    """
    return gpu_on_cudnn(gpu, Version(cudnn), Version.of(cuda) if cuda is not None else None, tables).status


@kept
def _came_with_later_cuda(tables: Tables, gpu: ComputeCapability, cudnn: int, cuda: int) -> CudnnRelease | None:
    """The first build of a cuDNN major that lists a GPU, where none for this CUDA major or an older one does.

    Kernels for a lower minor of the GPU's major are there, and run; that all do, nobody has tested.
    """
    alike = _by_release(tables).get((cudnn,), ())
    listing = [row for row in alike if _lists(row, gpu)]
    first = min(listing, key=lambda row: (row.cuda.major, row.version), default=None)
    known = any(row.max_compute_capability is not None for row in alike if row.cuda.major == cuda)
    return first if first is not None and known and first.cuda.major > cuda else None


def _lists(row: CudnnRelease, gpu: ComputeCapability) -> bool:
    """Whether NVIDIA names the very capability of a GPU, or one above it, among those of a cuDNN.

    Where the lowest one is not known, a GPU may be too old: that one is named is not known.
    """
    low, high = row.min_compute_capability, row.max_compute_capability
    number = gpu.major, gpu.minor
    if low is None or high is None:
        return False
    return (low.major, low.minor) <= number <= (high.major, high.minor)


def _is_for_gpu(row: CudnnRelease, gpu: ComputeCapability, tables: Tables) -> bool:
    """Whether the CUDA that a cuDNN is made for may know a GPU."""
    return best_match(gpu, toolkits_of(row.cuda, tables)).runs is not False


def _made_for_others(
    cudnn: Version, gpu: ComputeCapability, rows: Sequence[CudnnRelease], tables: Tables
) -> CudnnRelease | None:
    """The newest of a cuDNN's rows where every CUDA that it is made for is older than the GPU; None where one is not.

    A cuDNN that is older than all in the data was made for no newer CUDA than the oldest.
    """
    if not rows and tables.cudnns:
        oldest = min(row.version for row in tables.cudnns)
        rows = [row for row in tables.cudnns if cudnn < oldest and row.version.major == oldest.major]
    too_new = [best_match(gpu, toolkits_of(row.cuda, tables)) is ToolkitMatch.TOO_NEW for row in rows]
    return max(rows, key=lambda row: row.cuda) if rows and all(too_new) else None
