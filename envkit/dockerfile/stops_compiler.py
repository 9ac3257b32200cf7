"""Where a build stops for want of the CUDA compiler: in images without it, at nvcc itself or at what it compiles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit._startup.records import replace
from envkit._startup.regex import regex
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_base import Meant, nearest_tag
from envkit.dockerfile.check_parts import command_subject, stop
from envkit.dockerfile.ground import Ground, Step
from envkit.dockerfile.other_tags import devel_image
from envkit.dockerfile.stops_sources import BRINGS
from envkit.dockerfile.stops_torch import Compiled, compiled_anew
from envkit.tables.known_images import CUDA_REPOSITORY, GONE, PYTORCH_REPOSITORY, tag_row

if TYPE_CHECKING:
    from envkit.tables import Matrix
    from envkit.tables.rows import ImageTag

_WITHOUT_COMPILER = frozenset({"base", "runtime"})
_RUNTIME = "-runtime"
_CUDA_FOLDERS = frozenset({"CUDA_HOME", "CUDA_PATH"})  # whoever sets them brings a CUDA
_ANY_CUDA = regex(r"(?m)(?:^|\s)cuda(?:-\d\S{0,20})?(?=\s|$)|/cuda[-/]")


def compiler_missing(ground: Ground, matrix: Matrix) -> Iterator[Finding]:
    """Every command that needs the CUDA compiler in an image that certainly has none."""
    base = ground.base
    if "SKIP_CUDA" in " ".join(ground.environment) or "compiler" in ground.tells:
        return
    if base.repository != CUDA_REPOSITORY:
        if _is_bare(ground) and ground.first and not ground.tells & {"copied", "bind"}:
            yield from _without_toolkit(ground, matrix)
            yield from _without_nvcc(ground, matrix)
        return
    if base.row is None or base.row.flavor not in _WITHOUT_COMPILER:
        return
    for step, made in compiled_anew(ground):
        words = step.command.words
        compiled = _needing(step, made)
        asked = words[:2] == ("which", "nvcc") and step.command.decisive
        line, needs = step.command.line, "nvcc" if asked or words[0].rpartition("/")[2] == "nvcc" else ""
        if compiled is not None:
            line, needs = compiled.line, compiled.name
        if needs:
            yield stop(
                faults.COMPILER_MISSING,
                f"{needs} needs the CUDA compiler, but a {base.row.flavor} image does not have it",
                command_subject(step.command, line),
                impact="The build stops: nvcc is not found.",
                fix=_devel_tag(base.row, matrix),
            )


def _is_bare(ground: Ground) -> bool:
    """True for an image of a distribution, of Python's project or of PyTorch's that has nothing of CUDA's toolkit."""
    base = ground.base
    of_pytorch = base.repository == PYTORCH_REPOSITORY and base.own is not None and base.tag.endswith(_RUNTIME)
    return ground.stock or of_pytorch


def _needing(step: Step, made: tuple[Compiled, ...]) -> Compiled | None:
    """What a step compiles with nvcc, by itself or because an option asks for it."""
    words = " ".join(step.command.words)
    asked = (one for one in made if one.row.needs_nvcc or (one.row.nvcc_option or " -") in words)
    return next(asked, None)


def _without_toolkit(ground: Ground, matrix: Matrix) -> Iterator[Finding]:
    """The first call of nvcc itself in an image that has nothing of CUDA's toolkit."""
    for step in ground.steps:
        if step.command.words[0] == "nvcc" and step.command.decisive:
            yield stop(
                faults.COMPILER_MISSING,
                f"nvcc is the CUDA compiler, which {ground.base.image} does not have",
                command_subject(step.command),
                impact="The build stops: nvcc is not found.",
                fix=f"Start from {_devel(ground, matrix)}, or remove the command.",
            )
            return


def _without_nvcc(ground: Ground, matrix: Matrix) -> Iterator[Finding]:
    """The first package that nvcc compiles in such an image, where nothing may bring a CUDA."""
    texts = (*ground.written, *ground.addresses)
    if not _CUDA_FOLDERS.isdisjoint(ground.environment) or any(
        BRINGS.search(text) or _ANY_CUDA.search(text) for text in texts
    ):
        return
    for step, made in compiled_anew(ground):
        compiled = _needing(step, made)
        if compiled is None or not step.command.decisive:
            continue
        yield stop(
            faults.COMPILER_MISSING,
            f"{compiled.name} needs the CUDA compiler, which {ground.base.image} does not have",
            command_subject(step.command, compiled.line),
            impact="The build stops: CUDA_HOME is not set, or nvcc is not found.",
            fix=f"Start from {_devel(ground, matrix)}.",
            sources=compiled.row.sources,
        )
        return


def _devel(ground: Ground, matrix: Matrix) -> str:
    """An image with the compiler in place of one that has nothing of CUDA's toolkit."""
    other = f"a devel image of {CUDA_REPOSITORY} with the CUDA version of the installed PyTorch"
    return devel_image(ground.base, matrix) or other


def _devel_tag(row: ImageTag, matrix: Matrix) -> str:
    """The same image with the compiler, where it can still be pulled; otherwise the supported one nearest to it."""
    beside = tag_row(row.repository, row.tag.replace(row.flavor, "devel"), matrix)
    if beside is not None and beside.state not in GONE:
        return f"Use {beside.repository}:{beside.tag} as the base image."
    return nearest_tag(replace(row, flavor="devel"), matrix, Meant())
