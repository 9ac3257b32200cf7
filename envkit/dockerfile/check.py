"""Judges somebody's Dockerfile: its base image, and whether CUDA, cuDNN, Python, GPU and driver suit its frameworks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from envkit.base.names import normalized
from envkit.base.sentences import series
from envkit.checks.containers import image_faults as faults
from envkit.checks.engine.findings import Finding, Remedy, Status
from envkit.compat.companion_gpus import companion_on_gpu
from envkit.dockerfile.base_ended import base_ended
from envkit.dockerfile.base_outgrown import base_outgrown
from envkit.dockerfile.base_replaced import base_replaced, own_build_replaced, wheel_over_own_build
from envkit.dockerfile.build_context import BuildContext, not_in_context
from envkit.dockerfile.build_passes import build_passes
from envkit.dockerfile.build_stops import build_stops
from envkit.dockerfile.check_base import base_findings, meant_for
from envkit.dockerfile.check_framework import brings_its_cuda, framework_findings
from envkit.dockerfile.check_parts import finding, from_verdict, line_of, package_subject, subject_of
from envkit.dockerfile.check_pythons import other_python
from envkit.dockerfile.check_requirement import requirement_findings
from envkit.dockerfile.check_targets import container_targets, cuda_targets, driver_targets
from envkit.dockerfile.clashes import (
    Clash,
    clashes,
    if_certain,
    of_other_cuda,
    of_other_torch,
    together,
    unknown_releases,
)
from envkit.dockerfile.companions_newest import companions_newest
from envkit.dockerfile.compiled_for import compiled_for_other_cuda
from envkit.dockerfile.contents import Contents, contents
from envkit.dockerfile.cpu_builds import chosen_by_the_driver
from envkit.dockerfile.cuda import Held
from envkit.dockerfile.environments_copied import environments_copied
from envkit.dockerfile.framework_packages import Wanted
from envkit.dockerfile.frozen_lists import frozen_folder, is_frozen
from envkit.dockerfile.gpu_hidden import gpu_hidden
from envkit.dockerfile.ground import alone, grounds
from envkit.dockerfile.installed_before import without_installed
from envkit.dockerfile.libraries_shared import libraries_shared
from envkit.dockerfile.needs import Needs
from envkit.dockerfile.other_vendors import other_vendors
from envkit.dockerfile.pins_outgrown import pins_outgrown
from envkit.dockerfile.requirement_lists import Reader, nothing_beside
from envkit.dockerfile.server_arguments import server_arguments
from envkit.dockerfile.specifiers import pinned_release
from envkit.dockerfile.stages import BuildStage, needed_stages, read_stages
from envkit.dockerfile.start_words import start_unread
from envkit.dockerfile.stops_companions import WHEN_INSTALLED
from envkit.dockerfile.wanted import choices
from envkit.solver.request import Request

if TYPE_CHECKING:
    from envkit.tables import Matrix

_NOT_FOUND = frozenset({faults.PYTHON_WITHOUT_PACKAGE.id, faults.FRAMEWORK_VERSION.id})
_NOT_HEALTHY = frozenset({Status.FAIL, Status.UNKNOWN})
_NOTHING_ELSE = "nothing else in this file can be checked"
_MISSED = frozenset({faults.CUDA_MISSING.id, faults.CUDNN_MISSING.id})


def check_dockerfile(
    text: str,
    request: Request,
    matrix: Matrix,
    beside: Reader = nothing_beside,
    context: BuildContext | None = None,
) -> tuple[Finding, ...]:
    """Every finding on a Dockerfile, failures first, then in the order of its lines; the request names GPUs and driver.

    `beside` reads a file that lies next to the Dockerfile, by its name; None for one that cannot be read. `context` is
    the build context, where it is named: what it lacks cannot be copied.
    Raises SourceError for a text that is not a Dockerfile.
    """
    stages = read_stages(text)
    found = contents(stages, matrix, beside)
    findings = [*_driver_inside(found), *driver_targets(found, request, matrix)]
    meant = meant_for(_asked(found.wanted), request, matrix)
    for stage in needed_stages(stages):
        findings += base_findings(stage, matrix, meant)
    made = tuple(grounds(stages, found, matrix))
    findings += build_stops(made, matrix)
    findings += base_ended(stages, findings, matrix)
    findings += environments_copied(stages, {one.place: one for one in made})
    findings += base_replaced(made, found, matrix)
    findings += own_build_replaced(made, found, matrix)
    findings += wheel_over_own_build(made, found)
    findings += base_outgrown(made, found, matrix)
    findings += other_vendors(made, found)
    findings += pins_outgrown(made, matrix)
    findings += companions_newest(made, found, matrix)
    findings += gpu_hidden(stages, found)
    findings += server_arguments(stages, found.base)
    findings += start_unread(stages)
    findings += other_python(stages, found.callers)
    chosen = without_installed(choices(found, matrix))
    findings += framework_findings(chosen, found, request, matrix)
    findings += compiled_for_other_cuda(made, chosen)
    findings += chosen_by_the_driver(found)
    unused = brings_its_cuda(chosen)
    if found.cuda is not None:
        findings += cuda_targets(found.cuda, found, request, matrix, unused=unused)
    elif not unused:
        findings += _targets_unknown(found, request)
    findings += container_targets(found, request, matrix)
    of_conda = _beside_the_system(found)
    if of_conda is not None:
        findings += cuda_targets(of_conda, found, request, matrix)
    if not any(finding.id == "image.driver-too-old" and finding.status is Status.FAIL for finding in findings):
        findings += requirement_findings(found, request, matrix)
    needs = Needs(found.python, found.base.architecture, found.platform, alone(made))
    clashing = (
        *map(if_certain, clashes(found.packages, needs, every=True)),
        *of_other_torch(found.packages, matrix),
        *of_other_cuda(found.packages),
    )
    findings += libraries_shared(made, chosen, found, needs, matrix)
    never = {one.package.line for one in clashing if one.breaks}  # what pip does not install misses no library
    findings = [one for one in findings if one.id not in _MISSED or line_of(one) not in never]
    findings += [
        *_clashes(clashing),
        *_unknown_releases(found, matrix),
        *_companions(found, request),
        *_wheels(found),
        *_lists(found),
    ]
    findings = list(_without_never_installed(findings))
    if context is not None:
        findings += not_in_context(text, stages, context)
    findings += build_passes(made, findings, matrix)
    if not found.base.known and not any(one.status in _NOT_HEALTHY for one in findings):
        findings += _base_unjudged(findings, found)
    findings += _left_out(stages)
    order = {Status.FAIL: 0, Status.WARN: 1, Status.UNKNOWN: 2}
    return tuple(sorted(findings, key=lambda finding: (order.get(finding.status, 3), line_of(finding))))


def _asked(wanted: Iterable[Wanted]) -> list[str]:
    """The frameworks of a file as a command of envkit names them, each in the release that is pinned."""
    pins: dict[str, str] = {}
    for item in wanted:
        pins[item.framework] = pins.get(item.framework) or pinned_release(item.spec) or ""
    return [f"{name}=={pin}" if pin else name for name, pin in pins.items()]


def _without_never_installed(findings: Iterable[Finding]) -> Iterator[Finding]:
    """The findings without what is said of a package once it is installed, where pip certainly finds none, and
    without what is unknown of releases that cannot be."""
    findings = tuple(findings)
    stopping = [one for one in findings if one.status is Status.FAIL]
    never = {one.subject for one in stopping if one.id in _NOT_FOUND}
    clashing = {one.subject for one in stopping if one.id == faults.REQUIREMENTS_CLASH.id}
    for one in findings:
        moot = one.id == faults.FRAMEWORK_VERSION.id and one.status is Status.UNKNOWN and one.subject in clashing
        if not moot and (one.impact != WHEN_INSTALLED or one.subject not in never):
            yield one


def _beside_the_system(found: Contents) -> Held | None:
    """The CUDA that conda provides for a framework, where the system's is another."""
    held = found.conda_cuda
    apart = held is not None and (found.cuda is None or held.version != found.cuda.version)
    return held if apart and any(item.tool == "conda" for item in found.wanted) else None


def _base_unjudged(findings: Sequence[Finding], found: Contents) -> Iterator[Finding]:
    """What is to say where the base is in no table, and nothing else says that something is wrong."""
    rest = "their fit with the rest of this file was not checked" if findings else _NOTHING_ELSE
    title = f"the contents of {found.base.image} are not known, and {rest}"
    yield finding(faults.BASE_UNKNOWN, Status.UNKNOWN, title, subject_of(found.base.line, found.base.image))


def _left_out(stages: tuple[BuildStage, ...]) -> Iterator[Finding]:
    """The stages that the builder skips: silence on them is no praise either."""
    needed = {stage.index for stage in needed_stages(stages)}
    for stage in stages:
        if stage.index not in needed:
            subject = subject_of(stage.line, stage.name or stage.image)
            told = "not checked: the last stage does not use this one"
            if stage.name:
                yield finding(faults.STAGE_UNUSED, Status.SKIP, told, subject)
                continue
            yield finding(
                faults.STAGE_UNUSED,
                Status.WARN,
                "nothing from this stage is in the image: a later FROM starts over, and nothing is copied from this "
                "stage",
                subject,
                impact="BuildKit skips it.",
                remedy=Remedy("Remove the stage, or copy from it: COPY --from=0."),
            )


def _targets_unknown(found: Contents, request: Request) -> Iterator[Finding]:
    """What is to say of the named GPUs and driver where the image may hold a CUDA that is not told."""
    named = [f"driver {request.driver}"] if request.driver is not None else []
    named += [str(gpu) for gpu in request.gpus]
    if not named or (found.base.plain and not found.some_cuda):
        return
    line, source = found.base.line, found.base.image
    if found.some_cuda is not None:
        line, source = found.some_cuda.line, found.some_cuda.text
    title = f"it is not known which CUDA {source} contains, or whether it runs with {series(named)}"
    yield finding(faults.CUDA_UNKNOWN, Status.UNKNOWN, title, subject_of(line, source))


def _driver_inside(found: Contents) -> Iterator[Finding]:
    for mention in found.driver_packages:
        name = mention.text
        yield finding(
            faults.DRIVER_INSIDE,
            Status.WARN,
            f"{name} installs an NVIDIA driver in the image",
            subject_of(mention.line, name),
            impact="Its libraries shadow the host's, and fail if they do not match the host's kernel module.",
            remedy=Remedy(f"Remove {name}: the NVIDIA container toolkit mounts the host's driver with --gpus all."),
        )


_REFUSED = "pip reports a conflict and stops."
_STOPS = "The import stops: the two were compiled with different CUDA versions."
_REPLACED = "The later command replaces packages that the earlier one installed."


def _clashes(apart: Iterable[Clash]) -> Iterator[Finding]:
    """The packages that do not go together; those of two commands replace each other."""
    for clash in apart:
        package = clash.package
        yield finding(
            faults.REQUIREMENTS_CLASH,
            Status.FAIL if clash.breaks else Status.WARN,
            clash.verdict.detail,
            package_subject(package),
            impact=_REPLACED if clash.apart else _STOPS if "+" in clash.release else _REFUSED,
            remedy=Remedy(together(clash)),
            sources=clash.verdict.sources,
        )


def _unknown_releases(found: Contents, matrix: Matrix) -> Iterator[Finding]:
    """The companions of a framework of which nothing is known: silence would be praise."""
    for package in unknown_releases(found.packages, matrix):
        title = f"{package.name}{package.spec} is not a release that envkit knows"
        subject = package_subject(package)
        yield finding(faults.FRAMEWORK_VERSION, Status.UNKNOWN, title, subject)


def _companions(found: Contents, request: Request) -> Iterator[Finding]:
    """The packages next to a framework that need newer GPUs than it."""
    for package in found.packages:
        for gpu in request.gpus:
            name = normalized(package.name)
            verdict = companion_on_gpu(name, package.spec, gpu.compute_capability, name=str(gpu))
            if verdict is not None:
                subject = package_subject(package)
                impact = "It has no kernels for this GPU, or stops when it starts."
                fix = f"Use a release of {package.name} that supports {gpu}, or remove it."
                yield from_verdict(faults.GPU_WITHOUT_CODE, verdict, subject, impact, fix)


def _wheels(found: Contents) -> Iterator[Finding]:
    """The wheels, named by their files, that the image's Python does not take."""
    for line, wheel, python in found.wheels:
        if python is not None and not wheel.installs_on(python):
            yield finding(
                faults.PYTHON_WITHOUT_PACKAGE,
                Status.FAIL,
                f"this {wheel.name} {wheel.version} wheel is for {wheel.interpreters}, but the image has Python "
                f"{python}",
                subject_of(line, wheel.file),
                impact="pip stops: the wheel is not supported on this platform.",
                remedy=Remedy("Use the wheel for that Python, or specify its index instead of the file."),
            )


def _lists(found: Contents) -> Iterator[Finding]:
    yield from frozen_folder(found.lists)
    for item in found.lists:
        if is_frozen(item.name) or item.invalid:
            continue
        name = {"": "a file without a name", ".": "the project in . (pip install .)"}.get(item.name, item.name)
        title = f"{name} was not checked: its contents are not available"
        yield finding(faults.LIST_UNREAD, Status.UNKNOWN, title, subject_of(item.line, item.name))
