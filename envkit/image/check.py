"""Judges somebody's Dockerfile: its base image, and whether CUDA, cuDNN, Python, GPU and driver suit its frameworks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.checks.findings import Finding, Remedy, Status
from envkit.image import data
from envkit.image.base import CUDA_REPOSITORY
from envkit.image.containerfile import BuildStage, needed_stages, read_stages
from envkit.image.containerfile_facts import Contents, Wanted, contents, repository_and_tag, tag_row
from envkit.image.wanted import chosen_build
from envkit.matrix.rows import FrameworkBuild, ImageTag
from envkit.plan import relations
from envkit.plan.model import DriverVerdict, Verdict
from envkit.plan.request import Request
from envkit.versions import Version, VersionSpec

if TYPE_CHECKING:
    from envkit.matrix import Matrix

_STATUS = {
    "ok": Status.OK,
    "warn": Status.WARN,
    "fail": Status.FAIL,
    DriverVerdict.INCOMPATIBLE.value: Status.FAIL,
    DriverVerdict.UNKNOWN.value: Status.UNKNOWN,
}


def check_dockerfile(text: str, request: Request, matrix: Matrix) -> tuple[Finding, ...]:
    """Every finding on a Dockerfile, failures first, then in the order of its lines; the request names GPUs and driver.

    Raises SourceError for a text that is no Dockerfile.
    """
    stages = read_stages(text)
    found = contents(stages, matrix)
    findings = [*_driver_inside(found)]
    for stage in needed_stages(stages):
        findings += _base(stage, matrix)
    for wanted in found.wanted:
        findings += _framework(wanted, found, request, matrix)
    findings += _system_cuda(found, request, matrix)
    order = {Status.FAIL: 0, Status.WARN: 1, Status.UNKNOWN: 2}
    return tuple(sorted(findings, key=lambda finding: order.get(finding.status, 3)))


def _subject(line: int, what: str) -> str:
    return f"line {line}: {what}"


def _from_verdict(id: str, verdict: Verdict, subject: str, impact: str, mend: str, command: str = "") -> Finding:  # noqa: A002
    status = _STATUS.get(verdict.status, Status.OK)
    remedy = Remedy(mend, (command,) if command else ()) if status in (Status.FAIL, Status.WARN) else None
    wrong = status in (Status.FAIL, Status.WARN)
    references = (verdict.source,) if verdict.source else ()
    return Finding(
        id, status, verdict.detail, subject, impact=impact if wrong else "", remedy=remedy, references=references
    )


def _base(stage: BuildStage, matrix: Matrix) -> Iterator[Finding]:
    if stage.parent is not None:
        return
    subject = _subject(stage.line, stage.image)
    if stage.unresolved:
        title = f"the base image {stage.image} depends on a build argument without a default"
        yield Finding("image.base-unknown", Status.UNKNOWN, title, subject)
        return
    repository, tag = repository_and_tag(stage.image)
    row = tag_row(repository, tag, matrix)
    if row is not None:
        verdict = relations.image_fits(row, matrix)
        impact = "The build stops at FROM." if verdict.status == "fail" else "It gets no security updates."
        ids = {"fail": "image.base-gone", "warn": "image.base-end-of-life"}
        mend = nearest_tag(row, matrix)
        yield _from_verdict(ids.get(verdict.status, "image.base-on-record"), verdict, subject, impact, mend)
    elif repository == CUDA_REPOSITORY:
        yield _unlisted(stage.image, tag, subject, matrix)


def _unlisted(image: str, tag: str, subject: str, matrix: Matrix) -> Finding:
    named = Version.find(tag)
    known = {row.cuda.release(2) for row in matrix.image_tags if row.cuda is not None}
    if named is not None and matrix.toolkit(named) is None and named.release(2) not in known:
        title = f"{image} cannot exist: there is no CUDA {named.release(2)}"
        remedy = Remedy("Name a CUDA release that exists: envkit matrix image_tags")
        return Finding("image.base-gone", Status.FAIL, title, subject, impact="The build stops at FROM.", remedy=remedy)
    return Finding("image.base-unknown", Status.UNKNOWN, f"whether {image} exists is not on record", subject)


def nearest_tag(row: ImageTag, matrix: Matrix) -> str:
    """The mend for a tag that is gone: the supported tag nearest to it, or CUDA on the plain distribution."""
    offered = [
        tag
        for tag in matrix.image_tags
        if tag.state == "supported" and tag.repository == row.repository and tag.cuda is not None and tag.flavor
    ]
    flavour = row.flavor or "runtime"
    same = [
        tag
        for tag in offered
        if row.cuda is not None
        and tag.cuda is not None
        and tag.cuda.major == row.cuda.major
        and tag.flavor == flavour
        and bool(tag.cudnn) == bool(row.cudnn)
    ]
    if not same:
        release = f" {row.cuda.release(2)}" if row.cuda else ""
        option = f"--cuda {row.cuda.release(2)} " if row.cuda else ""
        return (
            f"No image of CUDA{release} or its major version is supported any more."
            f" envkit dockerfile {option}installs it on the plain distribution."
        )

    def distance(tag: ImageTag) -> tuple[object, ...]:
        assert tag.cuda is not None and row.cuda is not None
        newest = tuple(-part for part in tag.cuda.parts)
        return (tag.os_id != row.os_id, tag.cuda.release(2) != row.cuda.release(2), newest, tag.tag)

    best = min(same, key=distance)
    return f"The nearest supported tag is {best.repository}:{best.tag}."


def _driver_inside(found: Contents) -> Iterator[Finding]:
    for line, name in found.driver_packages:
        yield Finding(
            "image.driver-inside",
            Status.FAIL,
            f"{name} puts an NVIDIA driver into the image",
            _subject(line, name),
            impact="Its libraries hide the host's, and fail where they differ from the host's kernel module.",
            remedy=Remedy(f"Remove {name}: the NVIDIA container toolkit brings the host's driver in with --gpus all."),
        )


def _framework(wanted: Wanted, found: Contents, request: Request, matrix: Matrix) -> Iterator[Finding]:
    subject = _subject(wanted.line, f"{wanted.package}{wanted.spec}")
    build, problem = chosen_build(wanted, found.python, matrix)
    if build is None:
        yield Finding("image.framework-version", problem[0], problem[1], subject, remedy=Remedy(problem[2]))
        return
    if wanted.cuda == "cpu" or build.cpu_only:
        title = f"{build.framework} {build.version} comes as a CPU build: it will not use a GPU"
        remedy = Remedy(f"Install the CUDA build: envkit resolve --framework {build.framework}=={build.version}")
        yield Finding("image.cpu-build", Status.WARN, title, subject, remedy=remedy)
        return
    anew = f"envkit dockerfile --framework {build.framework}=={build.version}"
    if found.python is not None and build.pythons:
        verdict = relations.python_has_wheel(build, found.python, matrix)
        mend = f"Use one of these Python versions, such as {build.pythons[-1]}."
        yield _from_verdict("image.python-without-package", verdict, subject, "pip finds no package.", mend, anew)
    if found.system is not None and build.min_glibc is not None:
        where = found.system.os_id
        verdict = relations.glibc_meets(build, found.system.glibc, matrix, where=where)
        mend = "Start from a newer distribution."
        yield _from_verdict("image.glibc-too-old", verdict, subject, "pip refuses the package.", mend, anew)
    yield from _cuda_of(build, found, subject, anew, matrix)
    yield from _numpy(build, found, subject)
    yield from _targets(build, subject, request, matrix)


def _cuda_of(build: FrameworkBuild, found: Contents, subject: str, anew: str, matrix: Matrix) -> Iterator[Finding]:
    """Whether the system has the CUDA and cuDNN that a build loads; nothing for one that brings its own."""
    if build.cuda is None or build.bundles_cuda is not False:
        return
    title = f"{build.framework} {build.version}"
    if found.cuda is None:
        told = f"{title} loads CUDA {build.cuda} from the system, and the image has none"
        remedy = Remedy(f"Start from an image with the CUDA {build.cuda} libraries (runtime, not base).", (anew,))
        yield Finding("image.cuda-missing", Status.FAIL, told, subject, impact="The import fails.", remedy=remedy)
        return
    toolkits = [row for row in matrix.toolkits if row.version.starts_with(found.cuda)]
    if toolkits:
        verdict = relations.toolkit_serves_build(build, toolkits[-1], matrix)
        mend = f"Use an image with CUDA {build.cuda}, or the release of {build.framework} built for yours."
        yield _from_verdict(
            "image.framework-for-other-cuda", verdict, subject, "The import does not find its libraries.", mend, anew
        )
    yield from _cudnn_of(build, found, subject, anew)


def _cudnn_of(build: FrameworkBuild, found: Contents, subject: str, anew: str) -> Iterator[Finding]:
    title = f"{build.framework} {build.version}"
    if build.cudnn is None or "nvidia-cudnn" in " ".join(found.pinned):
        return
    impact = "The import, or the first convolution, fails."
    if found.cudnn is None:
        told = f"{title} loads cuDNN {build.cudnn} from the system, and the image has none"
        remedy = Remedy(
            f"Start from an image with cuDNN {build.cudnn.major} in its tag (cudnn{build.cudnn.major}).", (anew,)
        )
        yield Finding("image.cudnn-missing", Status.FAIL, told, subject, impact=impact, remedy=remedy)
    elif found.cudnn.major != build.cudnn.major:
        told = f"{title} loads cuDNN {build.cudnn.major}, the image has cuDNN {found.cudnn.major}"
        remedy = Remedy(f"Start from an image with cuDNN {build.cudnn.major}.", (anew,))
        yield Finding("image.cudnn-differs", Status.FAIL, told, subject, impact=impact, remedy=remedy)


def _numpy(build: FrameworkBuild, found: Contents, subject: str) -> Iterator[Finding]:
    if "numpy" in found.pinned or "numpy" in " ".join(build.companions):
        return
    for spec in relations.numpy_specs(build.numpy, found.python):
        if not _pip_may_pass(spec, found.python):
            continue
        title = f"{build.framework} {build.version} needs numpy{spec}, and nothing here holds NumPy back"
        remedy = Remedy("Pin NumPy in the same pip install.", (f'pip install "numpy{spec}"',))
        impact = "Where the package does not bound NumPy itself, pip brings one on which the import fails or warns."
        yield Finding("image.numpy-unbounded", Status.WARN, title, subject, impact=impact, remedy=remedy)


def _pip_may_pass(spec: VersionSpec, python: Version | None) -> bool:
    """True when pip could bring a NumPy beyond the upper bound: one that runs on this Python."""
    bounds = [bound for operator, bound in spec.clauses if operator in ("<", "<=")]
    if not bounds:
        return False
    floor = data.numpy_needs_python(min(bounds))
    return python is None or floor is None or python >= floor


def _targets(build: FrameworkBuild, subject: str, request: Request, matrix: Matrix) -> Iterator[Finding]:
    """Whether the named GPUs and driver run the build."""
    anew = f"envkit dockerfile --framework {build.framework}"
    driver_verdict = ""
    if request.driver is not None and build.cuda is not None and build.bundles_cuda is not False:
        verdict = relations.driver_runs_cuda(request.driver, build.cuda, matrix)
        driver_verdict = verdict.status
        mend = f"Update the driver of the host, or take a build for an older CUDA: add --driver {request.driver}."
        yield _from_verdict("image.driver-too-old", verdict, subject, "CUDA does not start.", mend, anew)
    for gpu in request.gpus:
        verdict = relations.gpu_runs_build(
            gpu.compute_capability, build, matrix, driver_verdict=driver_verdict, name=str(gpu)
        )
        stops = "It stops with: no kernel image is available for execution on the device."
        impact = stops if verdict.status == "fail" else "The first start takes minutes."
        mend = f"Take a release with code for {gpu}."
        yield _from_verdict(
            "image.gpu-without-code", verdict, subject, impact, mend, f'{anew} --gpu "{gpu.name or gpu}"'
        )


def _system_cuda(found: Contents, request: Request, matrix: Matrix) -> Iterator[Finding]:
    """Whether the named GPUs and driver run the CUDA that the system of the image has."""
    if found.cuda is None:
        return
    subject = _subject(found.line, found.cuda_where)
    if request.driver is not None:
        verdict = relations.driver_runs_cuda(request.driver, found.cuda, matrix)
        mend = "Update the driver of the host, or take an older CUDA."
        yield _from_verdict("image.driver-too-old", verdict, subject, "The container does not start.", mend)
    for gpu in request.gpus:
        verdict = relations.gpu_runs_cuda(gpu.compute_capability, found.cuda, matrix, name=str(gpu))
        mend = f'Take a CUDA that knows it: envkit dockerfile --gpu "{gpu.name or gpu}"'
        yield _from_verdict("image.gpu-unknown-to-cuda", verdict, subject, "Its libraries hold no code for it.", mend)
