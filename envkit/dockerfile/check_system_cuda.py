"""Judges the CUDA and the cuDNN of the system against a framework that loads them from there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.checks.containers import image_faults as faults
from envkit.checks.engine.command import REQUIREMENT, Command, run
from envkit.checks.engine.findings import Finding, Remedy, Status
from envkit.compat.package_breaks import with_its_extra
from envkit.compat.software import toolkit_serves_build
from envkit.compat.verdict import Verdict
from envkit.dockerfile.check_parts import finding, from_verdict
from envkit.dockerfile.contents import Contents
from envkit.dockerfile.cuda import image_cuda
from envkit.dockerfile.cudnn_brought import cudnn_may_come_from_pip
from envkit.dockerfile.framework_packages import CUDNN_AT_WILL, Wanted
from envkit.solver.request import Request
from envkit.tables.codes import limit
from envkit.tables.known_images import CUDA_REPOSITORY
from envkit.tables.loader import read
from envkit.tables.rows import CudnnRelease, FrameworkBuild, Toolkit, framework_title

if TYPE_CHECKING:
    from envkit.tables import Matrix

_ON_THE_CPU = "It does not use the GPU: it falls back to the CPU."
_GPU_IN_NAME = regex(r"gpu|cu(?:da)?-?\d|^cupy")
_TENSORFLOW = "tensorflow"
_OF_TENSORFLOW = frozenset({_TENSORFLOW, "keras"})


def cuda_of_the_system(
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
    title = build.named
    if found.cuda is None:
        yield _without_cuda(build, wanted, found, request, subject, anew, matrix)
        return
    toolkits = [row for row in matrix.toolkits if row.version.starts_with(found.cuda.version)]
    toolkits = _serving_of_the_base(build, found, matrix) or toolkits
    if toolkits:
        verdict = toolkit_serves_build(build, toolkits[-1])
        if verdict.status == "warn":  # a later minor release keeps the interface: worth a note, not a complaint
            verdict = Verdict(verdict.relation, "ok", verdict.detail, verdict.sources)
        name = framework_title(build.framework)
        fix = f"Use an image with CUDA {build.cuda}, or the release of {name} built for yours."
        if verdict.status == "fail" and _may_load(build, toolkits[-1]):
            detail = f"whether {title}, built for CUDA {build.cuda}, works with the libraries of {found.cuda.version}"
            verdict = Verdict(verdict.relation, "unknown", f"{detail} is not known", verdict.sources)
        if verdict.status == "fail" and _goes_on(build, wanted, found):
            verdict = Verdict(verdict.relation, "warn", verdict.detail, verdict.sources)
        impact = f"{title} cannot find its libraries: the import fails, or the framework runs on the CPU."
        yield from_verdict(faults.FRAMEWORK_FOR_OTHER_CUDA, verdict, subject, impact, fix, anew)
    yield from _cudnn_of(build, wanted, found, subject, anew)


def _serving_of_the_base(build: FrameworkBuild, found: Contents, matrix: Matrix) -> list[Toolkit]:
    """The CUDA of the base image, which is there as well as another one, where it serves a build."""
    base = found.base
    own = image_cuda(base.row, base.own, base.tag, base.repository)
    toolkits = [row for row in matrix.toolkits if own is not None and row.version.starts_with(own)]
    return toolkits if toolkits and toolkit_serves_build(build, toolkits[-1]).status != "fail" else []


def _goes_on(build: FrameworkBuild, wanted: Wanted, found: Contents) -> bool:
    """True for a framework that starts without its libraries and runs on the CPU, where that may be meant.

    It is not where its name asks for a GPU, and not in an image with CUDA which has nothing else that uses it.
    """
    goes_on = build.framework == _TENSORFLOW and build.version >= limit("tensorflow-starting-without-cuda")
    return goes_on and _GPU_IN_NAME.search(wanted.package) is None and not _is_what_cuda_is_for(found)


def _is_what_cuda_is_for(found: Contents) -> bool:
    """True for an image of nvidia/cuda in which TensorFlow certainly is the only framework."""
    frameworks = {one.framework for one in found.wanted}
    unseen = found.lists or found.elsewhere or found.conda_cuda is not None
    return found.base.repository == CUDA_REPOSITORY and frameworks <= _OF_TENSORFLOW and not unseen


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
    title = build.named
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
        goes_on = _goes_on(build, wanted, found)
        if not goes_on and cudnn_may_come_from_pip(build, found.packages):
            told = f"{title} loads cuDNN {build.cudnn.major}: whether it finds the one of a wheel is not known"
            yield finding(faults.CUDNN_DIFFERS, Status.UNKNOWN, told, subject)
            return
        remedy = Remedy(f"Start from an image with cuDNN {build.cudnn.major}.", (anew,))
        status, impact = (Status.WARN, _ON_THE_CPU) if goes_on else (Status.FAIL, impact)
        yield finding(faults.CUDNN_DIFFERS, status, told, subject, impact=impact, remedy=remedy)
    elif found.cudnn is not None and build.framework == _TENSORFLOW:
        yield from _older_cudnn(build, found, subject, anew)


def _older_cudnn(build: FrameworkBuild, found: Contents, subject: str, anew: Command) -> Iterator[Finding]:
    """What is to say of a cuDNN of the right major and an older minor than TensorFlow was compiled with."""
    have = found.cudnn if found.cudnn is not None and len(found.cudnn.parts) > 1 else _newest_of_tag(found)
    if have is None or build.cudnn is None or have.release(2) >= build.cudnn.release(2):
        return
    yield finding(
        faults.CUDNN_DIFFERS,
        Status.WARN,
        f"{build.named} was built with cuDNN {build.cudnn}, but the image has {have.release(2)}",
        subject,
        impact="TensorFlow refuses a cuDNN with an older minor version: convolutions fail on the GPU.",
        remedy=Remedy(
            f"Start from an image with cuDNN {build.cudnn.release(2)} or a newer {build.cudnn.major}.x.", (anew,)
        ),
        sources=("tensorflow-60913",),
    )


def _newest_of_tag(found: Contents) -> Version | None:
    """The newest cuDNN that a tag of nvidia/cuda may have: the packages are those for its own CUDA."""
    row, cudnn = found.base.row, found.cudnn
    if row is None or row.cuda is None or not row.cudnn or cudnn is None:
        return None
    line = f"+cuda{row.cuda.release(2)}"
    packaged = (one for one in read(CudnnRelease) if any(name.endswith(line) for name in one.deb_packages))
    return max((one.version for one in packaged if one.soname_major == cudnn.major), default=None)
