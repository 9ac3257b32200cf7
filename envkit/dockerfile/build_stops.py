"""Commands at which the build stops, by rules that each look at one stage."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit._startup.records import replace
from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_base import nearest_tag
from envkit.dockerfile.check_parts import command_subject, stop
from envkit.dockerfile.contents import Contents
from envkit.dockerfile.ground import Ground, Step, grounds
from envkit.dockerfile.packages import Package
from envkit.dockerfile.stages import BuildStage
from envkit.dockerfile.stops_python import managed, pip_missing, script_refuses
from envkit.dockerfile.stops_system import apt_pythons, archived, conda_terms, gone_download, rotated_key
from envkit.tables.build_stops import compiled_packages
from envkit.tables.known_images import CUDA_REPOSITORY, GONE, tag_row

if TYPE_CHECKING:
    from envkit.tables import Matrix
    from envkit.tables.rows import ImageTag

_WITHOUT_COMPILER = frozenset({"base", "runtime"})
_PIP = regex(r".*\bpip[\d.]*")
_NO_ISOLATION = "--no-build-isolation"


def build_stops(stages: tuple[BuildStage, ...], found: Contents, matrix: Matrix) -> Iterator[Finding]:
    """The first such command of each kind in each stage that the image needs."""
    for ground in grounds(stages, found, matrix):
        for rule in (
            archived,
            rotated_key,
            apt_pythons,
            gone_download,
            conda_terms,
            script_refuses,
            pip_missing,
            managed,
            _torch_hidden,
        ):
            yield from rule(ground)
        yield from _without_compiler(ground, matrix)


def _without_compiler(ground: Ground, matrix: Matrix) -> Iterator[Finding]:
    base = ground.base
    if base.row is None or base.row.flavor not in _WITHOUT_COMPILER or base.repository != CUDA_REPOSITORY:
        return
    if "compiler" in ground.tells or "SKIP_CUDA" in " ".join(ground.environment):
        return
    for step in ground.steps:
        words = step.command.words
        compiled = next(_compiled(step), None)
        line, needs = step.command.line, "nvcc" if words[0].rpartition("/")[2] == "nvcc" else ""
        if compiled is not None:
            line, needs = compiled.line, compiled.name
        if needs:
            yield stop(
                faults.COMPILER_MISSING,
                f"{needs} needs the CUDA compiler, and a {base.row.flavor} image has none",
                command_subject(step.command, line),
                impact="The build stops: nvcc is not found.",
                fix=_devel_image(base.row, matrix),
            )
            return


def _devel_image(row: ImageTag, matrix: Matrix) -> str:
    """The same image with the compiler, where it can still be pulled; else the supported one nearest to it."""
    beside = tag_row(row.repository, row.tag.replace(row.flavor, "devel"), matrix)
    if beside is not None and beside.state not in GONE:
        return f"Build in {beside.repository}:{beside.tag}."
    return nearest_tag(replace(row, flavor="devel"), matrix, ())


def _torch_hidden(ground: Ground) -> Iterator[Finding]:
    """A package that imports torch while pip, which is new enough to hide it always, builds it."""
    newest = False
    for step in ground.steps:
        words = step.command.words
        hidden = next((one for one in _compiled(step) if _PIP.fullmatch(one.caller)), None)
        if hidden is not None and newest and _NO_ISOLATION not in words:
            if any("NO_BUILD_ISOLATION" in name for name in ground.environment):
                return
            yield stop(
                faults.TORCH_HIDDEN,
                f"pip builds {hidden.name} where it does not find the torch that its setup imports",
                command_subject(step.command, hidden.line),
                impact="The build stops with: No module named 'torch'.",
                sources=compiled_packages()[normalized(hidden.name)].sources,
            )
            return
        newest = newest or any(one.name == "pip" and one.places.upgrades and not one.spec for one in step.packages)


def _compiled(step: Step) -> Iterator[Package]:
    """What the command builds from source with torch and CUDA: it names no place that may have a wheel."""
    for package in step.packages:
        if normalized(package.name) in compiled_packages() and package.wheel is None and not package.places.more:
            yield package
