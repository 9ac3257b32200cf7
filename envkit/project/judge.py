"""Judges what a project's file installs against driver, GPUs, Python and system of a target."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import TYPE_CHECKING

from envkit._startup.records import record, replace
from envkit.base.names import normalized
from envkit.base.versions import Version, VersionSpec
from envkit.checks.containers import project_faults as faults
from envkit.checks.containers.image_faults import NUMPY_IMPACT
from envkit.checks.engine.findings import Finding, Remedy, Status
from envkit.compat.driver import branch_of, driver_runs_cuda
from envkit.compat.gpu import gpu_runs_cuda
from envkit.compat.numpy_bound import numpy_meets
from envkit.compat.pairs import meeting, pairs_by_package, required
from envkit.dockerfile.check_parts import finding, status_of
from envkit.dockerfile.clashes import clashes, of_other_cuda, together, unknown_releases
from envkit.dockerfile.framework_packages import Wanted
from envkit.dockerfile.libraries_shared import with_its_cuda
from envkit.dockerfile.needs import Needs
from envkit.project.choose import Chosen, chosen, python_allowed
from envkit.project.companion_releases import needs_of, of_the_same_line
from envkit.project.companions import alone_findings, companion_findings
from envkit.project.conda_builds import conda_findings
from envkit.project.conda_channels import channel_findings
from envkit.project.excluding import excluding_findings
from envkit.project.framework import framework_findings, of_relation, pythons_left_out, with_compat
from envkit.project.from_sources import source_findings
from envkit.project.installable import installable_findings
from envkit.project.library_pins import cudnn_findings, library_findings
from envkit.project.marker_gaps import gap_findings
from envkit.project.misspelled import meant_by
from envkit.project.model import Manifest
from envkit.project.places import is_requirement
from envkit.project.prebuilt import comes_prebuilt
from envkit.project.subject import place_and_words, subject_of
from envkit.solver.knowledge import knowledge_of
from envkit.solver.not_covered import is_compiled, where_to_look
from envkit.solver.query import Query
from envkit.solver.request import Request
from envkit.tables.rows import FrameworkBuild, framework_title

if TYPE_CHECKING:
    from envkit.tables import Matrix

_TORCH = "pytorch"


@record
class Judged:
    """The findings on a file, and what they rest on."""

    findings: tuple[Finding, ...]
    chosen: Chosen
    query: Query

    @property
    def faults(self) -> list[Finding]:
        """What is wrong, a build for the CPU where a GPU is meant too."""
        return [one for one in self.findings if is_fault(one)]


def judge(manifest: Manifest, request: Request, extras: Iterable[str], matrix: Matrix) -> Judged:
    """Every finding on a file, failures first, then in the order of its lines."""
    have = chosen(manifest, request, extras, matrix)
    query = Query(_question(request, have.python), knowledge_of(matrix), compat=_brings_compat(have))
    found = [*_python_allowed(manifest, request, have), *_without_python(have, query)]
    found += [*_pairs(have, None if manifest.locked else needs_of(have, query)), *alone_findings(have)]
    clashing = bool(found)
    for wanted, build in have.builds.items():
        found += framework_findings(wanted, build, have, query)
    if not clashing:
        found += _together(have, query)
        found += library_findings(have, query) if not manifest.locked else ()
        found += cudnn_findings(have)
    found += excluding_findings(manifest, have)
    found += _numpy(have, matrix)
    found += [*_conda(have, query), *conda_findings(manifest, have), *channel_findings(have, query)]
    found += companion_findings(have, query)
    told = {(one.id, one.subject) for one in found if one.status is Status.FAIL}
    found += [one for one in installable_findings(have, query) if (one.id, one.subject) not in told]
    found += _driver_wanted(manifest, query)
    found += _refused(manifest)
    found += _idle_indexes(manifest, have)
    found += _idle_sources(manifest)
    found += gap_findings(manifest, have, query.request, matrix)
    found += source_findings(manifest, have)
    found += _not_judged(manifest, have, found, matrix)
    order = {Status.FAIL: 0, Status.WARN: 1, Status.UNKNOWN: 2}
    return Judged(tuple(sorted(dict.fromkeys(found), key=lambda one: order.get(one.status, 3))), have, query)


def _brings_compat(have: Chosen) -> bool:
    """Whether the file installs cuda-compat itself, as conda can: a pip package never does."""
    return any(normalized(one.package.name).startswith("cuda-compat") for one in have.items)


def is_fault(one: Finding) -> bool:
    """Whether a change of the file is to take a finding away."""
    return one.status is Status.FAIL or (one.status is Status.WARN and one.id == faults.CPU_BUILD.id)


def _question(request: Request, python: Version | None) -> Request:
    spec = VersionSpec.parse(str(python)) if python is not None else None
    return replace(request, frameworks=(), cuda=None, cudnn=None, python=spec)


def without_gpu(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """The findings where a GPU is meant and the target has none: what is installed is known, not whether it runs."""
    remedy = Remedy("To check for a machine with a GPU, add --gpu and --driver, or --target CAPTURE.")
    return tuple(
        replace(
            one,
            status=Status.UNKNOWN,
            title=f"{one.title}; the target has no GPU, so it was not checked against one",
            remedy=remedy,
        )
        if one.id == faults.INSTALLS.id
        else one
        for one in findings
    )


# ---- the file by itself


def _idle_sources(manifest: Manifest) -> Iterator[Finding]:
    """The packages whose index the file names in vain."""
    for one in manifest.idle_sources:
        title = f"{one.name} is not a dependency of the project, so the index in tool.uv.sources does not apply to it"
        impact = f"If another package requires {one.name}, its build of the default index is installed."
        remedy = Remedy(f"Add {one.name} to the dependencies of the project.")
        subject = place_and_words(one.line, one.name)
        yield finding(faults.SOURCE_WITHOUT_EFFECT, Status.WARN, title, subject, impact=impact, remedy=remedy)


def _python_allowed(manifest: Manifest, request: Request, have: Chosen) -> Iterator[Finding]:
    """Whether the project takes the Python of the target."""
    python = have.python
    if python is None or not manifest.requires_python or manifest.python is not None:
        return
    if not python_allowed(manifest.requires_python, python):
        title = f"the project requires Python {manifest.requires_python}, but the target has {python}"
        impact = "The installer rejects the project."
        remedy = Remedy(f"Use Python {manifest.requires_python}.")
        yield finding(faults.PYTHON_WITHOUT_PACKAGE, Status.FAIL, title, manifest.kind, impact=impact, remedy=remedy)


def _without_python(have: Chosen, query: Query) -> Iterator[Finding]:
    """The builds that have no package for any Python that the project allows, where the target names none."""
    for wanted, build in have.builds.items():
        left_out = pythons_left_out(wanted, build, have, query)
        if left_out:
            own = left_out[-1]
            named = own.named if own == build else f"{framework_title(own.framework)} {own.version}"
            yield finding(
                faults.PYTHON_WITHOUT_PACKAGE,
                Status.FAIL,
                f"{named} has wheels only for Python {', '.join(map(str, own.pythons))}, but the project requires"
                f" Python {have.requires_python}",
                subject_of(have.item_of(wanted.package), wanted),
                impact="The installer finds no matching distribution.",
                remedy=Remedy(faults.PYTHON_WITHOUT_PACKAGE.fix),
                sources=own.sources,
            )


_REJECTED = "The installer rejects these requirements, or the import fails."
_UNTESTED = "The import warns, and the compiled operations may fail."


def _pairs(have: Chosen, needs: Needs | None) -> Iterator[Finding]:
    """The requirements that no release of a package and of its neighbors meets together."""
    packages = [one.package for one in have.items]
    for clash in (*clashes(packages, needs), *of_other_cuda(packages)):
        package, verdict = clash.package, clash.verdict
        tested = verdict.relation == "pair-tested"
        yield finding(
            faults.REQUIREMENTS_CLASH,
            Status.WARN if tested else Status.FAIL,
            verdict.detail,
            subject_of(have.item_of(normalized(package.name))),
            impact=_UNTESTED if tested else f"{_REJECTED}{of_the_same_line(clash, have)}",
            remedy=Remedy(together(clash, packages)),
            sources=verdict.sources,
        )


# ---- all of them


def _together(have: Chosen, query: Query) -> Iterator[Finding]:
    pip = [
        (wanted, with_its_cuda(build, wanted, have.contents)) for wanted, build in have.meant if wanted.tool == "pip"
    ]
    for (other, first), (wanted, second) in combinations(pip, 2):
        if first.framework == second.framework and first.version != second.version:
            yield _overwritten(other, first, wanted, second, subject_of(have.item_of(wanted.package), wanted))
            continue
        for verdict in query.together.verdicts(first, second):
            if verdict.status == "fail":
                yield finding(
                    faults.REQUIREMENTS_CLASH,
                    Status.FAIL,
                    verdict.detail,
                    subject_of(have.item_of(wanted.package), wanted),
                    impact="The installer fails: the requirements conflict.",
                    remedy=Remedy("Use compatible releases: envkit resolve finds them for both frameworks."),
                    sources=verdict.sources,
                )


def _numpy(have: Chosen, matrix: Matrix) -> Iterator[Finding]:
    """What the file's NumPy is to each framework; one that the file does not name, others may provide and limit."""
    asked = have.contents.asked("numpy")
    if asked is None:
        return
    subject = subject_of(have.item_of("numpy"))
    for wanted, build in have.meant:
        if wanted.tool != "pip":
            continue
        titles = (matrix.source(key).title for key in build.sources)
        verdict = numpy_meets(build, asked, have.python, titles)
        if verdict is not None:
            status = status_of(verdict)
            yield finding(
                faults.NUMPY,
                status,
                verdict.detail,
                subject,
                impact="" if status is Status.UNKNOWN else NUMPY_IMPACT,
                remedy=Remedy(f"Require numpy{build.numpy}."),
                sources=verdict.sources,
            )


def _overwritten(other: Wanted, first: FrameworkBuild, wanted: Wanted, second: FrameworkBuild, subject: str) -> Finding:
    """Two packages of one framework, as tensorflow and tensorflow-gpu: an installer takes both."""
    return finding(
        faults.REQUIREMENTS_CLASH,
        Status.FAIL,
        f"{other.package} {first.version} and {wanted.package} {second.version} install the same files",
        subject,
        impact="Each overwrites the other's files, so the imported package is a mix of two releases.",
        remedy=Remedy(f"Remove {other.package} or {wanted.package}."),
        sources=tuple(dict.fromkeys((*first.sources, *second.sources))),
    )


def _conda(have: Chosen, query: Query) -> Iterator[Finding]:
    """Whether driver and GPUs run the CUDA that conda provides, whatever loads it."""
    held, request = have.contents.conda_cuda, query.request
    if held is None or any(
        isinstance(build, FrameworkBuild) for wanted, build in have.builds.items() if wanted.tool == "conda"
    ):
        return
    subject = place_and_words(held.line, held.where)
    verdicts = []
    if query.driver is not None:
        verdicts.append(
            driver_runs_cuda(
                query.driver,
                held.version,
                query.knowledge.tables,
                data_center=query.data_center,
                platform=request.platform,
            )
        )
    for gpu in request.gpus:
        verdicts.append(gpu_runs_cuda(gpu.compute_capability, held.version, query.knowledge.tables, name=str(gpu)))
    yield from (
        of_relation(with_compat(verdict, held.version, query), subject)
        for verdict in verdicts
        if status_of(verdict) is Status.FAIL
    )


def _driver_wanted(manifest: Manifest, query: Query) -> Iterator[Finding]:
    """Whether the driver reports the CUDA that the file asks of it."""
    wanted, driver = manifest.driver_cuda, query.driver
    branch = branch_of(driver, query.knowledge.tables, query.request.platform) if driver is not None else None
    reported = branch.driver_cuda_version if branch is not None else None
    if wanted is not None and reported is not None and reported < wanted:
        title = f"the file requires a driver for CUDA {wanted}, and driver {driver} reports CUDA {reported}"
        yield finding(
            faults.DRIVER_TOO_OLD,
            Status.FAIL,
            title,
            "system-requirements",
            impact="pixi refuses to install the environment.",
            remedy=Remedy(f'Update the driver, or request cuda = "{reported}" and packages that run with it.'),
            sources=branch.sources if branch is not None else (),
        )


def _refused(manifest: Manifest) -> Iterator[Finding]:
    """The lines at which the installer stops."""
    for one in manifest.unread:
        if one.refused:
            right = one.name.replace("=", "==", 1)
            yield finding(
                faults.NOT_A_REQUIREMENT,
                Status.FAIL,
                f"{one.name} is not a valid requirement",
                place_and_words(one.line, one.name, one.file),
                impact="pip stops at this line and installs nothing.",
                remedy=Remedy(f"Write {right}." if is_requirement(right) else faults.NOT_A_REQUIREMENT.fix),
            )


def _idle_indexes(manifest: Manifest, have: Chosen) -> Iterator[Finding]:
    """The indexes that the file names and that its installer takes nothing from."""
    meant = [wanted for wanted, _ in have.meant if wanted.framework == _TORCH]
    for one in manifest.idle_indexes if meant else ():
        package = meant[0].package
        yield finding(
            faults.NOT_ON_INDEX,
            Status.WARN,
            f"nothing is installed from the index {one.name}: it is explicit, and [tool.uv.sources] does not name it",
            place_and_words(one.line, one.name, one.file),
            impact=f"uv takes {package} from the default index, with the CUDA of that build.",
            remedy=Remedy(f'Add to [tool.uv.sources]: {package} = {{ index = "{one.name}" }}'),
        )


def _not_judged(manifest: Manifest, have: Chosen, found: list[Finding], matrix: Matrix) -> Iterator[Finding]:
    names = [normalized(one.package.name) for one in have.items]
    listed = (normalized(one.package.name) for one in have.items if comes_prebuilt(one, have))
    known = {*pairs_by_package(), *_tied(have), *listed}
    known.update(one.title.partition(" ")[0] for one in found if one.id == faults.INSTALLS.id)
    told = " ".join(one.title for one in found if one.status is Status.FAIL)  # of what is part of a conflict
    unknown = [
        name
        for name in dict.fromkeys(names)
        if is_compiled(name) and name not in known and not _names(name, told) and not _has_told(name, found)
    ]
    if unknown:
        title = f"Not checked, because envkit has no data: {', '.join(unknown)}"
        places = "; ".join(subject_of(have.item_of(name)) for name in unknown)
        ways = dict.fromkeys(filter(None, map(where_to_look, unknown)))
        remedy = Remedy(" ".join(ways)) if ways else None
        yield finding(faults.NOT_JUDGED, Status.UNKNOWN, title, places, remedy=remedy)
    for package in unknown_releases((one.package for one in have.items), matrix):
        title = f"Not checked: {package.name}{package.spec} is not a release that envkit knows"
        yield finding(faults.NOT_JUDGED, Status.UNKNOWN, title, subject_of(have.item_of(normalized(package.name))))
    yield from _misspelled(have, matrix)
    for one in manifest.unread:
        if (
            not one.refused
            and not one.name.startswith((".", "-e"))
            and "git+" not in one.name
            and "://" not in one.name
        ):
            title = f"Not checked: {one.name} could not be read"
            yield finding(faults.NOT_JUDGED, Status.UNKNOWN, title, place_and_words(one.line, one.name, one.file))
    for item in have.unsure:
        title = f"Not checked: whether {item.package.name} is installed depends on the Python version: pass --python"
        yield finding(faults.NOT_JUDGED, Status.UNKNOWN, title, subject_of(item))
    groups = dict.fromkeys(one.group for one in manifest.items if one.group)
    if groups and not have.builds:
        title = f"Not checked: the extras {', '.join(groups)}: choose one with --extra"
        yield finding(faults.NOT_JUDGED, Status.UNKNOWN, title, manifest.kind)
    elif not have.builds and not found and not have.contents.conda_cuda:
        title = "nothing in this file is known to use a GPU"
        yield finding(faults.NOT_JUDGED, Status.UNKNOWN, title, manifest.kind)


def _names(name: str, told: str) -> bool:
    """Whether titles name a package, with a version or as what a list has."""
    return f"{name}=" in told or f" {name} from " in told or f" {name} for " in told


def _tied(have: Chosen) -> Iterator[str]:
    """The packages that the builds of the file require themselves: torch a release of triton."""
    for wanted, build in have.meant:
        for row in meeting(wanted.package, lambda version, build=build: version == str(build.version)):  # type: ignore[misc]
            yield from (line.package for line in required(row))


def _has_told(name: str, found: list[Finding]) -> bool:
    """Whether it was said already that a package was not checked, or that the index has another under its name."""
    return any(
        (one.status is Status.UNKNOWN and one.title.removeprefix("Not checked: ").startswith(name))
        or (one.id == faults.NOT_ON_INDEX.id and f" {name} " in one.title)
        for one in found
    )


def _misspelled(have: Chosen, matrix: Matrix) -> Iterator[Finding]:
    """The names one slip away from that of a package in the data."""
    known = {*(normalized(name) for row in matrix.frameworks for name in row.packages), *pairs_by_package()}
    for one in have.items:
        meant = meant_by(normalized(one.package.name), known)
        if meant:
            title = f"Not checked: {one.package.name} is not known to envkit; did you mean {meant}?"
            yield finding(faults.NOT_JUDGED, Status.UNKNOWN, title, subject_of(one))
