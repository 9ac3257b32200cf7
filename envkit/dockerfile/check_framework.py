"""Judges one framework package of a Dockerfile against the Python, CUDA, cuDNN, GPUs and driver around it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.checks.containers import image_faults as faults
from envkit.checks.engine.command import NAME, REQUIREMENT, Command, run
from envkit.checks.engine.findings import Finding, Remedy, Status
from envkit.compat.package_breaks import extra_against, with_its_extra
from envkit.compat.pythons import python_has_wheel
from envkit.compat.software import (
    GlibcMatch,
    glibc_match,
    glibc_meets,
)
from envkit.dockerfile.check_numpy import numpy_beside
from envkit.dockerfile.check_parts import finding, from_verdict, subject_of
from envkit.dockerfile.check_system_cuda import cuda_of_the_system
from envkit.dockerfile.check_targets import build_targets
from envkit.dockerfile.common_python import newest_for_all
from envkit.dockerfile.contents import Contents
from envkit.dockerfile.cpu_builds import cpu_build, cpu_on_purpose, cpu_without_python, is_for_the_cpu
from envkit.dockerfile.framework_packages import Wanted
from envkit.dockerfile.wanted import Choices, Problem, cuda_comes_from
from envkit.image.own_base import foreign_system
from envkit.solver.request import Request
from envkit.tables.build_stops import GoneExtra
from envkit.tables.images import ForeignSystem
from envkit.tables.loader import read
from envkit.tables.rows import FrameworkBuild

if TYPE_CHECKING:
    from envkit.tables import Matrix

_OF_GLIBC = "manylinux"


def framework_findings(chosen: Choices, found: Contents, request: Request, matrix: Matrix) -> Iterator[Finding]:
    """What is to say of every framework package, in the order of the file."""
    for wanted, build in chosen.items():
        yield from _framework(wanted, build, found, request, matrix)


def _framework(
    wanted: Wanted, build: FrameworkBuild | Problem, found: Contents, request: Request, matrix: Matrix
) -> Iterator[Finding]:
    subject = subject_of(wanted.line, _in_words(wanted))
    foreign = foreign_system(found.base.repository, found.base.tag)
    if foreign is not None and foreign.libc == "musl" and wanted.tool == "pip" and _needs_glibc(wanted, matrix):
        if found.glibc:
            yield _glibc_unknown(wanted, subject, "the image seems to have both glibc and musl")
        elif _is_made_here(wanted, found):
            yield _glibc_unknown(wanted, subject, "its wheel may have been compiled for musl")
        else:
            yield _without_glibc(wanted, foreign, found, subject)
        return
    if is_for_the_cpu(wanted, found):
        yield from cpu_without_python(wanted, subject, matrix)
        yield from cpu_on_purpose(wanted, subject, found, request, matrix)
        return
    if isinstance(build, Problem):
        yield finding(faults.FRAMEWORK_VERSION, build.status, build.told, subject, remedy=Remedy(build.fix))
        return
    if build.cpu_only:
        title = f"{build.named} is a CPU build: it will not use a GPU"
        yield cpu_build(title, subject, run("envkit", "resolve", "--framework", NAME(build.framework)))
        return
    gone = _gone_extra(build, wanted)
    if gone is not None:
        title = f"{build.framework} {build.version} has no extra {gone.extra}: pip warns and installs it without CUDA"
        yield cpu_build(title, subject, run("pip", "install", REQUIREMENT(build.package or wanted.package)))
        return
    if wanted.tool == "pip":  # conda provides Python, NumPy and CUDA that suit, or refuses
        yield from _build(build, wanted, found, request, subject, matrix)


def _gone_extra(build: FrameworkBuild, wanted: Wanted) -> GoneExtra | None:
    """The extra that the release no longer has, where no other one provides CUDA."""
    gone = {row.extra: row for row in read(GoneExtra) if row.package == wanted.package and build.version >= row.since}
    left = [extra for extra in wanted.extras if extra not in gone and extra.startswith("cuda")]
    return None if left else next((gone[extra] for extra in wanted.extras if extra in gone), None)


def _needs_glibc(wanted: Wanted, matrix: Matrix) -> bool:
    """True for a framework whose packages hold compiled code: pip takes none of those where the C library is musl."""
    return any(build.min_glibc is not None or build.cuda is not None for build in matrix.builds(wanted.framework))


def _is_made_here(wanted: Wanted, found: Contents) -> bool:
    """True for a wheel of a folder that does not say that it is for glibc: it may have been compiled for musl."""
    wheels = (wheel for line, wheel, _ in found.wheels if line == wanted.line)
    return any("://" not in wheel.folder and _OF_GLIBC not in wheel.file for wheel in wheels)


def _glibc_unknown(wanted: Wanted, subject: str, why: str) -> Finding:
    title = f"it is not known whether {wanted.package} can be installed: {why}"
    return finding(faults.GLIBC_MISSING, Status.UNKNOWN, title, subject)


def _without_glibc(wanted: Wanted, foreign: ForeignSystem, found: Contents, subject: str) -> Finding:
    fix = "Start from an image of a distribution with glibc."
    if found.base.repository == "python" and wanted.python is not None:
        fix = f"Start from python:{wanted.python}-slim."
    return finding(
        faults.GLIBC_MISSING,
        Status.FAIL,
        f"{wanted.package} cannot be installed on {foreign.title}: {foreign.reason}",
        subject,
        impact="pip finds no package, or builds from source for hours.",
        remedy=Remedy(fix),
    )


def _build(
    build: FrameworkBuild, wanted: Wanted, found: Contents, request: Request, subject: str, matrix: Matrix
) -> Iterator[Finding]:
    """What is to say of a build that pip takes; of one that this Python does not take, the errors."""
    anew = run("envkit", "dockerfile", "--framework", REQUIREMENT(f"{build.framework}=={build.version}"))
    if wanted.python is not None and build.pythons:
        verdict = python_has_wheel(build, wanted.python)
        if verdict.status == "fail" and not wanted.spec and wanted.python.release(2) < min(build.pythons):
            title = f"which release of {build.framework} pip takes for Python {wanted.python.release(2)} is not known"
            yield finding(faults.PYTHON_WITHOUT_PACKAGE, Status.UNKNOWN, title, subject)
            return
        best = newest_for_all(found.packages, found.base.architecture, build.pythons) or build.pythons[-1]
        fix = f"Use a supported Python version, such as {best}, or generate a Dockerfile that uses one:"
        yield from_verdict(
            faults.PYTHON_WITHOUT_PACKAGE,
            verdict,
            subject,
            "The build stops with 'No matching distribution found'.",
            fix,
            anew,
        )
        if verdict.status == "fail":  # pip stops there: of the rest, only an image without CUDA is a fault by itself
            around = _around(build, wanted, found, request, subject, anew, matrix) if found.cuda is None else ()
            yield from (one for one in around if one.status is Status.FAIL)
            return
    gone = None if wanted.places or found.index_set else extra_against(_in_words(wanted), wanted.python)
    if gone is not None:
        title = f"{_in_words(wanted)} cannot be installed: {gone[0]}"
        impact = "The build stops with 'No matching distribution found'."
        remedy = Remedy(gone[1])
        yield finding(
            faults.FRAMEWORK_VERSION, Status.FAIL, title, subject, impact=impact, remedy=remedy, sources=gone[2]
        )
        return
    yield from _around(build, wanted, found, request, subject, anew, matrix)
    yield from numpy_beside(build, wanted, found, subject, matrix)


def _around(
    build: FrameworkBuild,
    wanted: Wanted,
    found: Contents,
    request: Request,
    subject: str,
    anew: Command,
    matrix: Matrix,
) -> Iterator[Finding]:
    """What is to say of a build and the glibc, CUDA and GPUs around it."""
    certain = wanted.python is not None or "==" in wanted.spec  # which release pip takes
    if found.base.system is not None and build.min_glibc is not None and certain:
        where, glibc = found.base.system.title, found.base.system.glibc
        verdict = glibc_meets(build, glibc, where=where)
        if glibc_match(build, glibc) is GlibcMatch.TOO_NEW:
            fix = f"Start from a distribution with a glibc older than {build.execstack_glibc}, or use another release."
            yield from_verdict(faults.GLIBC_TOO_NEW, verdict, subject, "Its import fails.", fix, anew)
        else:
            fix = "Start from a newer distribution."
            yield from_verdict(faults.GLIBC_TOO_OLD, verdict, subject, "pip rejects the package.", fix, anew)
    origin = cuda_comes_from(build, wanted, found)
    if origin == "nowhere":
        title = f"{wanted.package} {build.version} has no CUDA: the CUDA build is {build.package}"
        own = with_its_extra(build, matrix.builds(build.framework), wanted.python)
        yield cpu_build(title, subject, run("pip", "install", REQUIREMENT(own)))
        return
    from_system = origin == "system"
    if from_system:
        yield from cuda_of_the_system(build, wanted, found, request, subject, anew, matrix)
    yield from build_targets(build, wanted.python, from_system, subject, found, request, matrix)


def _in_words(wanted: Wanted) -> str:
    suffix = f"+{wanted.variant}" if wanted.suffix else ""
    extras = f"[{','.join(wanted.extras)}]" if wanted.extras else ""
    return f"{wanted.package}{extras}{wanted.spec}{suffix}"


def brings_its_cuda(chosen: Choices) -> bool:
    """True when every framework of the file comes with CUDA of its own, so that the system's serves none of them."""
    builds = chosen.values()
    return bool(builds) and all(not isinstance(build, Problem) and build.bundles_cuda for build in builds)
