"""Judges one framework package of a Dockerfile against the Python, CUDA, cuDNN, GPUs and driver around it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.checks.containers import image_faults as faults
from envkit.checks.engine.command import NAME, REQUIREMENT, Command, run
from envkit.checks.engine.findings import Finding, Remedy, Status
from envkit.compat.numpy_bound import numpy_meets
from envkit.compat.package_breaks import extra_against, with_its_extra
from envkit.compat.pythons import python_has_wheel
from envkit.compat.software import (
    GlibcMatch,
    glibc_match,
    glibc_meets,
    range_of_row,
    toolkit_serves_build,
)
from envkit.compat.verdict import Verdict
from envkit.dockerfile.check_parts import finding, from_verdict, subject_of
from envkit.dockerfile.check_targets import build_targets
from envkit.dockerfile.common_python import newest_for_all
from envkit.dockerfile.contents import Contents
from envkit.dockerfile.cpu_builds import cpu_build, cpu_on_purpose, cpu_without_python, is_for_the_cpu
from envkit.dockerfile.cudnn_brought import cudnn_may_come_from_pip
from envkit.dockerfile.framework_packages import CUDNN_AT_WILL, Wanted
from envkit.dockerfile.specifiers import is_bounded
from envkit.dockerfile.wanted import Choices, Problem, cuda_comes_from
from envkit.image.own_base import foreign_system
from envkit.solver.request import Request
from envkit.tables.build_stops import GoneExtra, numpy_bringers
from envkit.tables.codes import limit
from envkit.tables.images import ForeignSystem
from envkit.tables.known_images import CUDA_REPOSITORY
from envkit.tables.loader import read
from envkit.tables.rows import FrameworkBuild, Toolkit, framework_title

if TYPE_CHECKING:
    from envkit.tables import Matrix

_OF_NVIDIA = "nvcr.io/nvidia/"
_ON_THE_CPU = "It does not use the GPU: it falls back to the CPU."
_OF_GLIBC = "manylinux"
_GPU_IN_NAME = regex(r"gpu|cu(?:da)?-?\d|^cupy")


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
    yield from _numpy(build, wanted, found, subject, matrix)


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
        yield from _cuda_of(build, wanted, found, request, subject, anew, matrix)
    yield from build_targets(build, wanted.python, from_system, subject, found, request, matrix)


def _in_words(wanted: Wanted) -> str:
    suffix = f"+{wanted.variant}" if wanted.suffix else ""
    extras = f"[{','.join(wanted.extras)}]" if wanted.extras else ""
    return f"{wanted.package}{extras}{wanted.spec}{suffix}"


def brings_its_cuda(chosen: Choices) -> bool:
    """True when every framework of the file comes with CUDA of its own, so that the system's serves none of them."""
    builds = chosen.values()
    return bool(builds) and all(not isinstance(build, Problem) and build.bundles_cuda for build in builds)


def _cuda_of(
    build: FrameworkBuild,
    wanted: Wanted,
    found: Contents,
    request: Request,
    subject: str,
    anew: Command,
    matrix: Matrix,
) -> Iterator[Finding]:
    """Whether the system has the CUDA and cuDNN that a build loads from there."""
    held = found.conda_cuda
    if build.cuda is None or (held is not None and held.version.starts_with(build.cuda)):
        return  # the Python of conda finds conda's libraries
    title = f"{build.named}"
    if found.cuda is None:
        yield _without_cuda(build, wanted, found, request, subject, anew, matrix)
        return
    toolkits = [row for row in matrix.toolkits if row.version.starts_with(found.cuda.version)]
    if toolkits:
        verdict = toolkit_serves_build(build, toolkits[-1])
        if verdict.status == "warn":  # a later minor release keeps the interface: worth a note, not a complaint
            verdict = Verdict(verdict.relation, "ok", verdict.detail, verdict.sources)
        name = framework_title(build.framework)
        fix = f"Use an image with CUDA {build.cuda}, or the release of {name} built for yours."
        if verdict.status == "fail" and _may_load(build, toolkits[-1]):
            detail = f"whether {title}, built for CUDA {build.cuda}, works with the libraries of {found.cuda.version}"
            verdict = Verdict(verdict.relation, "unknown", f"{detail} is not known", verdict.sources)
        if verdict.status == "fail" and _goes_on(build, wanted):
            verdict = Verdict(verdict.relation, "warn", verdict.detail, verdict.sources)
        impact = f"{title} cannot find its libraries: the import fails, or the framework runs on the CPU."
        yield from_verdict(faults.FRAMEWORK_FOR_OTHER_CUDA, verdict, subject, impact, fix, anew)
    yield from _cudnn_of(build, wanted, found, subject, anew)


def _goes_on(build: FrameworkBuild, wanted: Wanted) -> bool:
    """True for a framework that starts without its libraries and runs on the CPU, and whose name asks for no GPU."""
    goes_on = build.framework == "tensorflow" and build.version >= limit("tensorflow-starting-without-cuda")
    return goes_on and _GPU_IN_NAME.search(wanted.package) is None


def _may_load(build: FrameworkBuild, toolkit: Toolkit) -> bool:
    """True for an older minor release of the build's CUDA, whose libraries have the names that the build asks for."""
    since = toolkit.libraries_since
    return build.cuda is not None and since is not None and since.major == build.cuda.major and build.cuda > since


def _without_cuda(
    build: FrameworkBuild,
    wanted: Wanted,
    found: Contents,
    request: Request,
    subject: str,
    anew: Command,
    matrix: Matrix,
) -> Finding:
    """The finding where no CUDA is named: nothing is certain of a base that is not known to envkit."""
    title = f"{build.named} loads CUDA {build.cuda} from the system, but"
    if found.some_cuda or not found.base.plain:
        source = found.some_cuda.text if found.some_cuda else found.base.image
        told = f"{title} it is not known which CUDA {source} contains"
        return finding(faults.CUDA_UNKNOWN, Status.UNKNOWN, told, subject)
    remedy = Remedy(f"Start from an image with the CUDA {build.cuda} libraries (runtime, not base).", (anew,))
    if build.bundles_cuda:  # with its extra it would provide them
        own = with_its_extra(build, matrix.builds(build.framework), wanted.python)
        remedy = Remedy("Install it with its extra.", (run("pip", "install", REQUIREMENT(own)),))
    if not (_GPU_IN_NAME.search(wanted.package) or _gpu_meant(request, found)):  # it runs on the CPU as well
        told = f"{title} the image has none: it will not use a GPU"
        return finding(faults.CPU_BUILD, Status.WARN, told, subject, remedy=remedy)
    impact = "The import fails, or the framework runs on the CPU."
    return finding(
        faults.CUDA_MISSING, Status.FAIL, f"{title} the image has none", subject, impact=impact, remedy=remedy
    )


def _gpu_meant(request: Request, found: Contents) -> bool:
    """True where something says that the image is for GPUs."""
    return bool(request.gpus or request.driver or found.base.repository == CUDA_REPOSITORY)


def _cudnn_of(build: FrameworkBuild, wanted: Wanted, found: Contents, subject: str, anew: Command) -> Iterator[Finding]:
    title = f"{build.named}"
    if build.cudnn is None or build.framework in CUDNN_AT_WILL:
        return
    impact = "The import, or the first convolution, fails."
    if found.cudnn is None and found.base.plain and not found.some_cudnn:
        told = f"{title} loads cuDNN {build.cudnn} from the system, but the image has none"
        remedy = Remedy(
            f"Start from an image with cuDNN {build.cudnn.major} in its tag (cudnn{build.cudnn.major}).", (anew,)
        )
        yield finding(faults.CUDNN_MISSING, Status.FAIL, told, subject, impact=impact, remedy=remedy)
    elif found.cudnn is not None and found.cudnn.major != build.cudnn.major:
        told = f"{title} loads cuDNN {build.cudnn.major}, but the image has cuDNN {found.cudnn.major}"
        goes_on = _goes_on(build, wanted)
        if not goes_on and cudnn_may_come_from_pip(build, found.packages):
            told = f"{title} loads cuDNN {build.cudnn.major}: whether it finds the one of a wheel is not known"
            yield finding(faults.CUDNN_DIFFERS, Status.UNKNOWN, told, subject)
            return
        remedy = Remedy(f"Start from an image with cuDNN {build.cudnn.major}.", (anew,))
        status, impact = (Status.WARN, _ON_THE_CPU) if goes_on else (Status.FAIL, impact)
        yield finding(faults.CUDNN_DIFFERS, status, told, subject, impact=impact, remedy=remedy)


def _brings_numpy(build: FrameworkBuild, found: Contents) -> bool:
    """True where the framework requires NumPy, or something next to it that takes its newest version."""
    if build.framework != "pytorch" or build.version < limit("pytorch-without-numpy"):
        return True
    rows = numpy_bringers()
    named = ((rows.get(normalized(one.name)), one.spec) for one in found.packages)
    return any(row is not None and (row.always or not is_bounded(spec)) for row, spec in named)


def _numpy(build: FrameworkBuild, wanted: Wanted, found: Contents, subject: str, matrix: Matrix) -> Iterator[Finding]:
    """What is to say of the NumPy that the file asks for, or that pip provides where nothing limits it."""
    own = found.base.own
    if own is not None and own.repository.startswith(_OF_NVIDIA) and found.asked("numpy") is None:
        return  # pip leaves the NumPy of the image, whose release is not known
    titles = (matrix.source(key).title for key in build.sources)
    verdict = numpy_meets(build, found.asked("numpy"), wanted.python, titles)
    if verdict is None or (verdict.status != "fail" and not _brings_numpy(build, found)):
        return
    yield from_verdict(
        faults.NUMPY_UNBOUNDED,
        verdict,
        subject,
        faults.NUMPY_IMPACT,
        "Pin NumPy in the same pip install.",
        run("pip", "install", REQUIREMENT(f"numpy{range_of_row(build.numpy or '')}")),
    )
