"""Judges the CUDA of an image, and of its frameworks, against GPUs and the driver of the host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.base.versions import Version
from envkit.checks.containers import image_faults as faults
from envkit.checks.engine.command import NAME, REQUIREMENT, TITLE, VERSION, Word, run
from envkit.checks.engine.findings import Finding, Remedy, Status
from envkit.checks.frameworks.swap import place_words
from envkit.compat.driver import driver_floors, driver_runs_cuda
from envkit.compat.driver_gpu import gpu_on_driver
from envkit.compat.gpu import ToolkitMatch, cuda_match, gpu_runs_build, gpu_runs_cuda, target_span
from envkit.compat.pythons import python_has_wheel
from envkit.compat.software import gpu_on_cudnn
from envkit.compat.verdict import DriverVerdict, Verdict
from envkit.dockerfile.base import Base
from envkit.dockerfile.check_parts import finding, from_verdict, subject_of
from envkit.dockerfile.contents import Contents
from envkit.dockerfile.cuda import Held
from envkit.dockerfile.specifiers import package_release
from envkit.solver.request import Request, TargetGpu
from envkit.tables.known_bases import gpus_of_month
from envkit.tables.known_images import CUDA_REPOSITORY
from envkit.tables.rows import FrameworkBuild

if TYPE_CHECKING:
    from envkit.tables import Matrix

_NVIDIAS = "nvcr.io/nvidia/"
_FAILS_INSIDE = "The container starts, but CUDA fails inside it: the driver is too old."
_NOT_SUPPORTED_HARDWARE = "CUDA stops with error 804: forward compatibility was attempted on non supported HW."
_IMPACTS = {
    True: "The container does not start.",
    False: _FAILS_INSIDE,
    None: "The container does not start, or CUDA fails inside it.",
}


def driver_targets(found: Contents, request: Request, matrix: Matrix) -> Iterator[Finding]:
    """The named GPUs that the named driver does not support, whatever the image holds."""
    subject = subject_of(found.base.line, found.base.image)
    for verdict in _unsupported(request, matrix):
        fault = faults.DRIVER_WITHOUT_GPU
        yield from_verdict(fault, verdict, subject, "No image can use the GPU with this driver.", fault.fix)


def container_targets(found: Contents, request: Request, matrix: Matrix) -> Iterator[Finding]:
    """The named GPUs that one of NVIDIA's monthly containers is not made for: older ones, and those that came later."""
    base = found.base
    yield from _later_gpus(base, request, matrix)
    row = gpus_of_month(base.repository, base.tag)
    if row is None:
        return
    for gpu in request.gpus:
        if gpu.compute_capability.numbers < row.lowest.numbers:
            need = f"need compute capability {row.lowest}, which {gpu} does not have"
            detail = f"NVIDIA's containers of {row.first} to {row.last} {need}"
            verdict = Verdict("gpu-runs-build", "fail", detail, row.sources)
            fix = "Use a newer GPU, or an image of the framework's own project."
            subject = subject_of(base.line, base.image)
            yield from_verdict(faults.GPU_WITHOUT_CODE, verdict, subject, "It uses the CPU, or stops.", fix)


def _later_gpus(base: Base, request: Request, matrix: Matrix) -> Iterator[Finding]:
    """The named GPUs that came after a container of NVIDIA, whose kernels for older ones of their kind run on them."""
    own = base.own
    if own is None or own.cuda is None or not base.repository.startswith(_NVIDIAS):
        return
    for gpu in request.gpus:
        first = target_span(gpu.compute_capability, matrix)[0]
        if first is None or cuda_match(gpu.compute_capability, own.cuda, matrix) is not ToolkitMatch.BINARY:
            continue
        rows = [row for row in matrix.framework_images if row.repository == own.repository and row.flavor == own.flavor]
        newer = min((row.tag for row in rows if row.cuda is not None and row.cuda >= first), default="")
        detail = f"the container's CUDA {own.cuda} predates {gpu}; CUDA {first} is the first that compiles for it"
        fix = f"Use a container with CUDA {first} or newer" + (f": {own.repository}:{newer}." if newer else ".")
        yield from_verdict(
            faults.GPU_UNKNOWN_TO_CUDA,
            Verdict("gpu-runs-cuda", "warn", detail, own.sources),
            subject_of(base.line, base.image),
            "It may say that the GPU is not yet supported; kernels for older GPUs of its kind run on it at best.",
            fix,
        )


def _unsupported(request: Request, matrix: Matrix) -> Iterator[Verdict]:
    """The refusals of the named driver, one for each GPU."""
    if request.driver is None:
        return
    for gpu in request.gpus:
        verdict = gpu_on_driver(
            gpu.compute_capability,
            request.driver,
            matrix,
            name=str(gpu),
            last_driver_branch=gpu.last_driver_branch,
            first_driver=gpu.first_driver,
            platform=request.platform,
        )
        if verdict.status == "fail":
            yield verdict


def cuda_targets(
    held: Held, found: Contents, request: Request, matrix: Matrix, *, unused: bool = False
) -> Iterator[Finding]:
    """Whether the named GPUs and driver run a CUDA of the image; `unused`: no framework of the file loads it."""
    subject, cuda = subject_of(held.line, held.where), held.version
    compat = held is found.cuda and found.base.repository == CUDA_REPOSITORY  # cuda-compat, for data-center GPUs
    anew = run("envkit", "dockerfile", *_frameworks(found, matrix), *_named(request, matrix))
    if request.driver is not None:
        helped = compat and bool(request.gpus) and all(gpu.data_center for gpu in request.gpus)
        verdict = driver_runs_cuda(request.driver, cuda, matrix, data_center=helped)
        fix = f"Update the host driver, or use an older CUDA version{_older_tag(found, request, matrix)}."
        if held is found.cuda and request.gpus and not any(gpu.data_center for gpu in request.gpus):
            fix += " Forward compatibility (cuda-compat) does not help: it is for data-center GPUs only."
        impact = _IMPACTS[_refuses_old_drivers(held, found)]
        if verdict.status == DriverVerdict.MINOR_VERSION.value and _loads_compat(held, found, request):
            native = driver_floors(cuda, matrix).native
            detail = (
                f"driver {request.driver} is older than {native}, the driver released with CUDA {cuda}, so the image "
                f"loads its cuda-compat, which is for data-center GPUs and not for {request.gpus[0]}"
            )
            verdict, impact = Verdict(verdict.relation, "fail", detail, verdict.sources), _NOT_SUPPORTED_HARDWARE
            fix = f"Update the host driver to {native} or newer, or use an image for an older CUDA version"
            fix += (
                f"{_older_tag(found, request, matrix)}. Without its directory compat, the image's CUDA runs as it is."
            )
        yield from_verdict(faults.DRIVER_TOO_OLD, verdict, subject, impact, fix, anew)
    for gpu in request.gpus:
        verdict = gpu_runs_cuda(gpu.compute_capability, cuda, matrix, name=str(gpu))
        if unused and verdict.status == "fail":
            verdict = Verdict(verdict.relation, "warn", verdict.detail, verdict.sources)
        fix = "Use a CUDA release that supports this GPU."
        yield from_verdict(
            faults.GPU_UNKNOWN_TO_CUDA,
            verdict,
            subject,
            "The image's CUDA libraries have no kernels for this GPU.",
            fix,
            anew,
        )


def _loads_compat(held: Held, found: Contents, request: Request) -> bool:
    """Whether a container of NVIDIA's own comes with a cuda-compat that none of the GPUs takes."""
    own = held is found.cuda and found.base.own is not None and found.base.repository.startswith(_NVIDIAS)
    return own and bool(request.gpus) and not any(gpu.data_center for gpu in request.gpus)


def _older_tag(found: Contents, request: Request, matrix: Matrix) -> str:
    """The newest tag of a framework's own image whose CUDA the driver knows, in words; '' for none on record."""
    own, driver = found.base.own, request.driver
    if own is None or driver is None or own.cuda is None:
        return ""
    rows = (row for row in matrix.framework_images if row.repository == own.repository and row.flavor == own.flavor)
    known = [row for row in rows if row.cuda is not None and row.cuda < own.cuda]
    runs = [
        row
        for row in known
        if row.cuda and driver_runs_cuda(driver, row.cuda, matrix).status == DriverVerdict.NATIVE.value
    ]
    newest = max(runs, key=lambda row: row.tag, default=None)
    return f", as {newest.repository}:{newest.tag} has (CUDA {newest.cuda})" if newest is not None else ""


def _refuses_old_drivers(held: Held, found: Contents) -> bool | None:
    """True where NVIDIA_REQUIRE_CUDA keeps a container from starting; None where what the image sets is not known."""
    environment, base = found.environment, found.base
    if environment.get("NVIDIA_DISABLE_REQUIRE", "").lower() in ("1", "true"):
        return False
    if "NVIDIA_REQUIRE_CUDA" in environment:
        return None
    if base.repository == CUDA_REPOSITORY:  # it asks for its own CUDA, not for one that is installed on top
        return held.line == base.line
    return False if base.plain else None


def build_targets(
    build: FrameworkBuild,
    python: Version | None,
    from_system: bool,
    subject: str,
    found: Contents,
    request: Request,
    matrix: Matrix,
) -> Iterator[Finding]:
    """Whether the named GPUs and driver run a build; without a driver, whether it asks for more than its base does."""
    anew = run("envkit", "dockerfile", "--framework", NAME(build.framework), *_named(request, matrix))
    driver_verdict = ""
    if build.cuda is not None and not from_system and request.driver is not None:
        verdict = driver_runs_cuda(request.driver, build.cuda, matrix)
        driver_verdict = verdict.status
        fix = "Update the host driver, or use a build for an older CUDA version."
        yield from_verdict(faults.DRIVER_TOO_OLD, verdict, subject, _FAILS_INSIDE, fix, anew)
    elif build.cuda is not None and not from_system:
        yield from _newer_than_base(build, build.cuda, python, subject, found, matrix)
    for gpu in () if uses_anothers_cuda(build.framework, matrix) and build.cuda is None else request.gpus:
        verdict = gpu_runs_build(gpu.compute_capability, build, driver_verdict=driver_verdict, name=str(gpu))
        fix = f"Use a release that supports {gpu}."
        unknown = _own_cuda_against(build, gpu, matrix) if verdict.status != "fail" and not from_system else None
        if unknown is not None:
            impact = "The program stops where it calls one of these libraries."
            yield from_verdict(faults.GPU_UNKNOWN_TO_CUDA, unknown, subject, impact, fix, anew)
            continue
        stops = "The program stops with: no kernel image is available for execution on the device."
        impact = stops if verdict.status == "fail" else "The first start takes several minutes."
        yield from_verdict(faults.GPU_WITHOUT_CODE, verdict, subject, impact, fix, anew)


def _own_cuda_against(build: FrameworkBuild, gpu: TargetGpu, matrix: Matrix) -> Verdict | None:
    """Why the CUDA libraries or the cuDNN that a build brings have no code for a GPU; None where they may have.

    These are the relations by which the resolver refuses such a build.
    """
    if build.cuda is None or not build.bundles_cuda or build.cpu_only:
        return None
    verdict = gpu_runs_cuda(gpu.compute_capability, build.cuda, matrix, name=str(gpu))
    if verdict.status != "fail" and build.cudnn is not None:
        verdict = gpu_on_cudnn(gpu.compute_capability, build.cudnn, build.cuda, matrix, name=str(gpu))
    if verdict.status != "fail":
        return None
    detail = f"{build.named} brings CUDA libraries that do not know the GPU: {verdict.detail}"
    return Verdict(verdict.relation, "fail", detail, tuple(dict.fromkeys((*build.sources, *verdict.sources))))


def uses_anothers_cuda(name: str, matrix: Matrix) -> bool:
    """Whether a framework has no kernels of its own, as Keras, which runs on another."""
    framework = matrix.framework(name)
    return framework is not None and bool(framework.cuda_from)


def _newer_than_base(
    build: FrameworkBuild, cuda: Version, python: Version | None, subject: str, found: Contents, matrix: Matrix
) -> Iterator[Finding]:
    """A build whose CUDA needs a newer driver than that of the base image, which lets older ones start."""
    held = found.base.cuda
    base, wanted = _floor(held, matrix), _floor(cuda, matrix)
    if base is None or wanted is None or runs_where_base_does(cuda, found, matrix):
        return
    if python is not None and python_has_wheel(build, python).status == "fail":
        return  # it is not installed there
    title = (
        f"{build.named} ships with CUDA {cuda}, which needs driver {wanted} or newer; the "
        f"base image is for CUDA {held}, which needs only driver {base} or newer"
    )
    fix = f"Use a CUDA {cuda.release(2)} base image, so that the container refuses to start on an older driver"
    older = _build_for_base(build, python, found, matrix)
    steps = (run("envkit", "dockerfile", "--framework", NAME(build.framework)),)
    if older is not None:
        fix += f", or install a build for CUDA {older.cuda}"
        steps = (run("pip", "install", REQUIREMENT(older.package), *place_words(older.index_url, older.find_links)),)
    yield finding(
        faults.NEEDS_NEWER_DRIVER,
        Status.WARN,
        title,
        subject,
        impact="On a host with an older driver, the container starts, but the framework does not see the GPU.",
        remedy=Remedy(f"{fix}.", steps),
        sources=build.sources,
    )


def runs_where_base_does(cuda: Version, found: Contents, matrix: Matrix) -> bool:
    """False for a CUDA that needs a newer driver than that of the base image."""
    base, wanted = _floor(found.base.cuda, matrix), _floor(cuda, matrix)
    return base is None or wanted is None or wanted <= base


def _floor(cuda: Version | None, matrix: Matrix) -> Version | None:
    """The oldest driver that runs a CUDA version, with minor-version compatibility."""
    return driver_floors(cuda, matrix).lowest if cuda is not None else None


def _build_for_base(
    build: FrameworkBuild, python: Version | None, found: Contents, matrix: Matrix
) -> FrameworkBuild | None:
    """The build that needs no newer driver than the base: of the same release where there is one, otherwise the
    newest."""
    fitting = [
        other
        for other in matrix.builds(build.framework)
        if other.package and other.bundles_cuda and other.cuda is not None and not (other.cpu_only or other.yanked)
        if found.base.architecture in other.architectures
        if python is None or python in other.pythons
        if runs_where_base_does(other.cuda, found, matrix)
    ]
    same = [other for other in fitting if other.version == build.version]
    return max(same or fitting, key=lambda other: (package_release(other).order, other.cuda), default=None)


def _frameworks(found: Contents, matrix: Matrix) -> Iterator[Word]:
    """The options that name what the image is for: the framework of its base, otherwise those that the file installs.

    One that uses the CUDA of another counts only where there is no other.
    """
    named = [item.framework for item in found.wanted]
    of_base = [found.base.own.framework] if found.base.own is not None else []
    with_cuda = [name for name in named if not uses_anothers_cuda(name, matrix)]
    for name in dict.fromkeys(of_base or with_cuda or named):
        yield from ("--framework", NAME(name))


def _named(request: Request, matrix: Matrix) -> Iterator[Word]:
    """The options that name the same GPUs and driver; no driver that does not support them, as no plan has it."""
    for gpu in request.gpus:
        yield from ("--gpu", TITLE(gpu.name or gpu))
    if request.driver is not None and not any(_unsupported(request, matrix)):
        yield from ("--driver", VERSION(request.driver))
