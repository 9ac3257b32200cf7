"""Where a build stops at a package that pip builds from source: a tool is missing, or none of today builds it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.base.versions import Version
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import stop, subject_of
from envkit.dockerfile.ground import APT, Ground, Step, arguments
from envkit.dockerfile.least_python import python_for
from envkit.dockerfile.newest_pip import builds_apart, with_newest_pip
from envkit.dockerfile.packages import Package
from envkit.dockerfile.shell import called
from envkit.dockerfile.stops_packages import asks_only
from envkit.dockerfile.stops_releases import elsewhere, from_default_index
from envkit.tables.codes import limit
from envkit.tables.known_images import CUDA_REPOSITORY, PYTORCH_REPOSITORY
from envkit.tables.loader import read
from envkit.tables.source_stops import HarmlessPackage, SourceTool, StoppingSource

_COMPILER = "c++"
_CUDA = "nvcc"
_LEAN = frozenset({"base", "runtime"})
# What may bring anything at all.
BRINGS = regex(r"\.sh\b|\b(?:ba)?sh\b -?|conda|mamba|ansible|spack|brew|nix-|\.deb\b|\bapk\b|\byum\b|\bdnf\b|setup_")
_PLAIN_INSTALL = "--no-install-recommends"
_RUNTIME_LIBRARY = regex(
    r"lib[a-z0-9.+-]{1,40}\d(?:t64)?|python3(?:\.\d{1,2})?(?:-(?:dev|distutils|venv|full|lib2to3))?"
)
_NOT_BUILT = regex(r"--only-binary.*|--no-deps|--no-build-isolation.*|--build-constraint.*|--dry-run|--target.*")
_CONSTRAINED = regex(r"CONSTRAINT|BUILD_ISOLATION|ONLY_BINARY")


def source_stops(ground: Ground) -> Iterator[Finding]:
    """The first such package of each command."""
    if elsewhere(ground) or _CONSTRAINED.search(" ".join((*ground.environment, *ground.texts))):
        return
    for step, newest in with_newest_pip(ground):
        if not step.command.decisive or any(_NOT_BUILT.fullmatch(word) for word in step.command.words):
            continue
        found = next(filter(None, (_stopping(package, step, ground, newest) for package in step.packages)), None)
        if found is not None:
            yield _told(*found)


def _stopping(
    package: Package, step: Step, ground: Ground, newest: bool
) -> tuple[Package, StoppingSource, SourceTool | None] | None:
    """Why the build of a package stops in a step; None where it is not certain that it does."""
    if not from_default_index(package):
        return None
    name = normalized(package.name)
    python = python_for(package, step, ground)
    tools = {row.tool: row for row in read(SourceTool)}
    for row in read(StoppingSource):
        if row.package != name or not asks_only(package, row.versions) or not _holds(row, python, step, ground):
            continue
        if row.today and not builds_apart(package.caller, ground, python, newest=newest):
            continue
        if row.tool is None or _lacks(ground, tools[row.tool], step):
            return package, row, tools[row.tool] if row.tool else None
    return None


def _holds(row: StoppingSource, python: Version | None, step: Step, ground: Ground) -> bool:
    """Whether a row is on this Python and on these options."""
    if row.since is not None and (python is None or python.release(2) < row.since):
        return False
    words = (*step.command.words, ground.environment.get("CMAKE_ARGS", ""))
    return row.option is None or any(row.option in word for word in words)


def _lacks(ground: Ground, tool: SourceTool, step: Step) -> bool:
    """Whether a tool is certainly missing at a step: the base has none, and nothing in the stage may bring it."""
    if not ground.first or "copied" in ground.tells or not _base_lacks(ground, tool.tool):
        return False
    texts = " ".join((*ground.written, *ground.addresses))
    if any(word in texts for word in tool.words) or BRINGS.search(" ".join(ground.texts)):
        return False
    return tool.tool != _COMPILER or all(_brings_no_compiler(one) for one in ground.steps)


def _base_lacks(ground: Ground, tool: str) -> bool:
    base = ground.base
    lean = base.row is not None and base.row.flavor in _LEAN
    apt = base.system is None or base.system.package_manager == "apt"
    if base.repository == CUDA_REPOSITORY:
        return apt and base.row is not None and (lean or tool not in (_COMPILER, _CUDA))
    if ground.of_python:
        return "slim" in base.tag or ("alpine" not in base.tag and tool != _COMPILER)
    if base.repository == PYTORCH_REPOSITORY:
        runtime = base.tag.endswith("runtime")
        old = (  # later runtime images have gcc for Triton
            base.own is not None
            and base.own.version is not None
            and limit("first-pytorch-image-without-compiler") <= base.own.version < limit("pytorch-image-with-compiler")
        )
        return runtime and (tool != _COMPILER or old)
    return ground.plain and apt and base.system is not None


def _brings_no_compiler(step: Step) -> bool:
    """True for a command that installs no package of apt of which it is not known that it brings no compiler."""
    words = arguments(step.command, APT, ("install",))
    if words is None:
        return True
    lean = _PLAIN_INSTALL in called(step.command)
    return all(is_harmless(word.partition("=")[0], lean=lean) for word in words if not word.startswith("-"))


@cache
def _harmless() -> dict[str, HarmlessPackage]:
    return {row.package: row for row in read(HarmlessPackage)}


def is_harmless(name: str, *, lean: bool) -> bool:
    """True for a package of apt that brings nothing but itself and libraries.

    `lean`: it is installed without what it recommends.
    """
    row = _harmless().get(name)
    if row is not None:
        return lean or not row.recommends
    return _RUNTIME_LIBRARY.fullmatch(name) is not None


def _told(package: Package, row: StoppingSource, tool: SourceTool | None) -> Finding:
    asked = package.asked
    if tool is not None and tool.tool == _CUDA:
        return stop(
            faults.COMPILER_MISSING,
            f"{asked} {row.because}, and the image has no CUDA compiler",
            subject_of(package.line, asked),
            impact="The build of the package stops: CUDA is not found.",
            sources=row.sources,
        )
    missing = f", and the image has no {tool.title}" if tool is not None else ""
    return stop(
        faults.PACKAGE_REFUSES,
        f"{asked} {row.because}{missing}",
        subject_of(package.line, asked),
        impact="The build stops while pip builds it.",
        fix=tool.fix if tool is not None else f"Use a newer release of {package.name}, or an older Python.",
        sources=(*row.sources, *(tool.sources if tool is not None else ())),
    )
