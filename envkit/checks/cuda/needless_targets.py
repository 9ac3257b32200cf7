"""A target that nvcc refuses and no GPU here needs; and the cuDNN that a build with another toolkit needs beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.base.sentences import series
from envkit.base.versions import ComputeCapability, Version
from envkit.checks.cuda.nvcc_ages import capability_of_target, newest_possible
from envkit.checks.cuda.toolkit import build_nvcc, toolkit_row, toolkits
from envkit.checks.engine.command import TARGETS, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import managers
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.remedies import remedy
from envkit.checks.frameworks.installs import capable_gpus
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix
    from envkit.tables.rows import Toolkit


def without_target(environment: Environment, matrix: Matrix, target: str) -> Remedy | None:
    """The remedy where every GPU that is known has another target, which this toolkit supports; otherwise None."""
    owns = list(dict.fromkeys(own for _, own in capable_gpus(environment, matrix)))
    version = _supporting(environment, matrix, owns, target)
    if not version or any(_word(own) == target for own in owns):
        return None
    words = series(f"{own} ({gpu.title})" for gpu, own in capable_gpus(environment, matrix))
    why = (
        f"The build asks for sm_{target}, which no GPU here has, and which {version} does not "
        f"compile for; it does compile for {words}. Keep the toolkit, and take compute_{target} out of the build's "
        "list of architectures"
    )
    if "caffe" in managers(environment):
        return remedy(
            environment,
            f"{why}: the first command does so in Makefile.config and keeps the old file with the suffix .bak.",
            "drop-target",
            number=target,
        )
    return Remedy(
        f"{why} (CMAKE_CUDA_ARCHITECTURES for CMake, TORCH_CUDA_ARCH_LIST for extensions of PyTorch, the lines with "
        "-gencode in a Makefile); then configure again in an empty build directory:",
        (
            run(
                "cmake",
                "-B",
                "build",
                f"-DCMAKE_CUDA_ARCHITECTURES={TARGETS(';'.join(map(_word, owns)))}",
            ),
        ),
    )


def _word(own: ComputeCapability) -> str:
    return f"{own.major}{own.minor}"


def _supporting(environment: Environment, matrix: Matrix, owns: list[ComputeCapability], target: str) -> str:
    """The toolkit in words, where it compiles for all of `owns`; '' where it does not, or may not."""
    from envkit.compat.gpu import target_span, toolkit_match

    row = _toolkit(environment, matrix)
    if row is not None:
        fits = all(toolkit_match(own, row).value not in ("too-new", "dropped") for own in owns)
        return f"CUDA {row.version.release(2)}" if owns and fits else ""
    dropped, newest = capability_of_target(target), newest_possible(environment, matrix)
    last = target_span(dropped, matrix)[1] if dropped is not None else None
    if last is None or newest is None or newest.release(2) <= last:
        return ""
    spans = [target_span(own, matrix) for own in owns]
    known = all(first and first <= last and (end is None or newest.release(2) <= end) for first, end in spans)
    return "this nvcc" if owns and known else ""


def _toolkit(environment: Environment, matrix: Matrix) -> Toolkit | None:
    """That of the build: of nvcc, otherwise the only one that the text names."""
    place = build_nvcc(environment)
    there = {item.version for item in toolkits(environment)}
    version = place[0] if place is not None else next(iter(there)) if len(there) == 1 else None
    return toolkit_row(version, matrix) if version is not None else None


def cudnn_beside(environment: Environment, matrix: Matrix, cuda: Version) -> Version | None:
    """The cuDNN for another CUDA, of the major release that the build found; None where it uses none."""
    lines = seen(environment, "nvcc-too-old-for-gpu", "detail-cudnn")
    own = Version.find(named(lines, "version") or named(lines, "told") or "")
    if own is None:
        return None
    rows = [
        row.version
        for row in matrix.cudnns
        if row.cuda is not None and row.cuda.release(2) == cuda.release(2) and row.version.major == own.major
    ]
    return max(rows, default=None)
