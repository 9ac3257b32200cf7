"""Judges one framework of a project's file: what its requirement installs, and whether that runs on the target."""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.records import replace
from envkit.base.names import normalized
from envkit.base.sentences import series, spans
from envkit.base.versions import Version, VersionSpec
from envkit.checks.containers import project_faults as faults
from envkit.checks.engine.findings import Finding, Remedy, Status
from envkit.compat.companion_builds import is_for_usual_torch
from envkit.compat.gpu import gpu_runs_build
from envkit.compat.pairs import required
from envkit.compat.software import title_of
from envkit.compat.verdict import DriverVerdict, Verdict
from envkit.dockerfile.check_parts import finding, status_of
from envkit.dockerfile.clashes import releases_of
from envkit.dockerfile.cpu_builds import is_cpu_by_system, is_for_the_cpu
from envkit.dockerfile.framework_packages import CUDNN_AT_WILL, GPU_ALONE, Wanted
from envkit.dockerfile.specifiers import Release, Wish, package_release, pinned_release
from envkit.dockerfile.wanted import Problem, cuda_comes_from
from envkit.project.choose import Chosen, python_allowed
from envkit.project.conda_cuda import told_of_conda
from envkit.project.model import Item
from envkit.project.nearest import fitting
from envkit.project.places import is_pytorch
from envkit.project.remedy import build_for_gpu, in_words, is_driver_too_new, newer_driver, place_of, remedy_for
from envkit.project.subject import subject_of
from envkit.solver.constraints import CODE, CONSTRAINTS, Constraint
from envkit.solver.query import Query
from envkit.tables.loader import read
from envkit.tables.rows import FrameworkBuild, framework_title

_TORCH = "torch"
_OF_THE_SYSTEM = ("python-has-wheel", "glibc-meets-build", "platform", "architecture")
_OTHER_INDEX = "Specify the index of a CUDA build."
_PYTORCH_CHANNELS = ("pytorch", "pytorch-nightly", "pytorch-lts")


def framework_findings(
    wanted: Wanted, build: FrameworkBuild | Problem, have: Chosen, query: Query
) -> Iterator[Finding]:
    """Whether the build that is installed is for a GPU, and runs on those of the target."""
    one = have.item_of(wanted.package)
    subject = subject_of(one, wanted)
    if _for_the_cpu(wanted, build, have):
        if pythons_left_out(wanted, build, have, query):
            return  # said of the project's Python
        against = (one for one in _against_all(wanted, have, query) if one.relation == "python-has-wheel")
        if (refused := next(against, None)) is not None:  # the package for the CPU is made for the same Pythons
            yield of_relation(refused, subject)
            return
        fix = _gpu_build(wanted, build, query)
        title = f"{wanted.package}{wanted.spec} installs a CPU build"
        yield _cpu(title, subject, query, fix, unasked=is_cpu_by_system(wanted, have.contents))
        return
    if isinstance(build, Problem):
        yield from _problem(wanted, build, subject, have, query)
        return
    origin = cuda_comes_from(build, wanted, have.contents) if wanted.tool == "pip" else "inside"
    if build.cpu_only or origin == "nowhere":
        fix = f"Request {build.package}." if origin == "nowhere" and build.package else _OTHER_INDEX
        yield _cpu(f"{wanted.package} {build.version} has no CUDA", subject, query, fix)
        return
    judged = list(_build(_as_installed(build, wanted, have), wanted, subject, query))
    runs = not any(item.status is Status.FAIL for item in judged)
    if not runs:
        judged = [_helped(item, wanted, build, have, query) if item.status is Status.FAIL else item for item in judged]
    yield from judged
    if origin == "system" and build.cuda is not None and runs:
        yield _system_cuda(build, have, subject, query)


def pythons_left_out(
    wanted: Wanted, build: FrameworkBuild | Problem, have: Chosen, query: Query
) -> list[FrameworkBuild]:
    """The builds of what is asked for that have no package for any Python that the project allows, if none has.

    Where the target's Python is known, that one counts instead. Builds for the CPU are made for the same Pythons.
    """
    if have.python is not None or not have.requires_python or wanted.tool != "pip":
        return []
    rows = [build] if isinstance(build, FrameworkBuild) else []
    if not rows and _for_the_cpu(wanted, build, have) and (pin := pinned_release(wanted.spec)) is not None:
        rows = [row for row in query.knowledge.tables.builds(wanted.framework) if row.version == Version.parse(pin)]
    pythons = {python for row in rows for python in row.pythons}
    none = pythons and not any(python_allowed(have.requires_python, python) for python in pythons)
    return rows if none and all(row.pythons for row in rows) else []


def _system_cuda(build: FrameworkBuild, have: Chosen, subject: str, query: Query) -> Finding:
    """That a build loads CUDA from elsewhere: what another framework of the file provides may be of another major."""
    wants = None if build.framework in CUDNN_AT_WILL else build.cudnn
    cudnn = f" and cuDNN {wants}" if wants else ""
    needed = f"CUDA {build.cuda}{cudnn}"
    them = "them" if cudnn else "it"
    title = f"{title_of(build)} loads {needed} from the system; envkit cannot tell whether the system has {them}"
    for wanted, other in have.meant:
        brings = wanted.tool == "pip" and cuda_comes_from(other, wanted, have.contents) == "inside"
        if other.framework == build.framework or not brings:
            continue
        pairs = (("CUDA", build.cuda, other.cuda), ("cuDNN", wants, other.cudnn))
        apart = [f"{name} {had}" for name, need, had in pairs if need and had and need.major != had.major]
        if apart:
            title = f"{title_of(build)} loads {needed}, but {other.named} includes {series(apart)}"
            loser = framework_title(build.framework)
            fails = "fails" if build.framework in GPU_ALONE else "runs on the CPU"
            impact = f"Unless the system has {needed}, {loser} reports a missing library and {fails}."
            remedy = Remedy(_that_go_together(build, other, have, query))
            sources = tuple(dict.fromkeys((*build.sources, *other.sources)))
            return finding(
                faults.SYSTEM_CUDA, Status.WARN, title, subject, impact=impact, remedy=remedy, sources=sources
            )
    bundled = _that_brings(build)
    other_way = ""
    if bundled is not None:
        plain = (build.package or build.framework).partition("[")[0].partition("=")[0]
        same = bundled.version == build.version
        asked = f"{'request' if same else f'replace {plain}=={build.version} with'} {bundled.package}"
        other_way = f", or {asked}, which installs {them} as wheels"
    remedy = Remedy(f"Install {needed} on the system{other_way}.")
    return finding(faults.SYSTEM_CUDA, Status.UNKNOWN, title, subject, remedy=remedy, sources=build.sources)


def _that_brings(build: FrameworkBuild) -> FrameworkBuild | None:
    """The newest release of the same line that brings its CUDA through an extra, such as tensorflow[and-cuda]."""
    rows = [
        row
        for row in read(FrameworkBuild, build.framework)
        if row.bundles_cuda and not row.yanked and "[" in (row.package or "")
        if row.version.release(2) == build.version.release(2) and row.cuda == build.cuda
    ]
    return max(rows, key=lambda row: (row.version, row.package), default=None)


def _that_go_together(build: FrameworkBuild, other: FrameworkBuild, have: Chosen, query: Query) -> str:
    """The nearest release of each of two frameworks with which the first can load what the second brings."""
    ways = []
    for one in (build, other):
        rows = [
            row
            for row in query.knowledge.tables.builds(one.framework)
            if row.on_pypi and (_serves(row, other) if one is build else _serves(build, row))
        ]
        later = next((row for row in rows if row.version > one.version), None)
        near = later or next((row for row in reversed(rows) if row.version < one.version), None)
        if near is not None and near.package:
            beside = [line for line in near.companions if have.item_of(line.partition("==")[0]) is not None]
            ways.append(near.package + (f" with {series(beside)}" if beside else ""))
    return f"Use {series(ways, 'or')}." if ways else "Use releases for the same major versions of CUDA and cuDNN."


def _serves(loads: FrameworkBuild, brings: FrameworkBuild) -> bool:
    """Whether a build can load another's libraries: the same CUDA major, and a cuDNN as new as that it is made with."""
    if loads.cuda is None or brings.cuda is None or loads.cuda.major != brings.cuda.major:
        return False
    if loads.framework in CUDNN_AT_WILL or brings.framework in CUDNN_AT_WILL:
        return True
    if loads.cudnn is None or brings.cudnn is None or loads.cudnn.major != brings.cudnn.major:
        return False
    return brings.cudnn.release(2) >= loads.cudnn.release(2)


def _helped(item: Finding, wanted: Wanted, build: FrameworkBuild, have: Chosen, query: Query) -> Finding:
    """The failure with what helps against it: a driver that is too old for a GPU is not a reason to keep the build."""
    if item.id == faults.GPU_WITHOUT_CODE.id and query.driver_drops_gpu and not is_driver_too_new(query):
        remedy = build_for_gpu(wanted, build, query)
        if remedy is not None:
            return replace(item, remedy=remedy)
    bound = next((one for one in have.items if _is_bound(one, build)), None) if wanted.package == _TORCH else None
    if bound is not None and build.cuda is not None and not _another_serves(wanted, build, query):
        advice = (
            f"The wheels of {bound.package.name}{bound.package.spec} load CUDA {build.cuda.major}, so a different "
            "torch does not help: use a different release"
        )
        driver = ", or update the driver" if item.id == faults.DRIVER_TOO_OLD.id else ""
        return replace(item, remedy=Remedy(f"{advice}{driver}."))
    older = _older_python(wanted, build, have, query) if item.id == faults.PYTHON_WITHOUT_PACKAGE.id else None
    return replace(item, remedy=older or remedy_for(wanted, build, query))


def _older_python(wanted: Wanted, build: FrameworkBuild, have: Chosen, query: Query) -> Remedy | None:
    """The newest Python that a build has a wheel for, where the requirement takes none of those for the target's."""
    other = next(iter(fitting(wanted, build, query)), None)
    python = max(build.pythons, default=None)
    if other is None or python is None or wanted.tool != "pip" or not build.package or _takes(wanted, other):
        return None
    if have.requires_python and not python_allowed(have.requires_python, python):
        return None
    older = query.changed(replace(query.request, python=VersionSpec.parse(str(python))))
    if not any(one.version == build.version for one in fitting(wanted, build, older)):
        return None
    beside = f", and {series(build.companions)} match it" if build.companions else ""
    return Remedy(f"Use Python {python}: {build.package} has a wheel for it{beside}.")


def _takes(wanted: Wanted, build: FrameworkBuild) -> bool:
    """Whether a requirement allows the release of a build."""
    try:
        return Wish.parse(wanted.spec, wanted.tool).holds(package_release(build))
    except ValueError:
        return True


def _is_bound(one: Item, build: FrameworkBuild) -> bool:
    """Whether a package is compiled for the default index's build of the one torch that it requires, which this is."""
    package, rows = one.package, releases_of(one.package)
    lines = [line for line in required(rows[-1]) if line.package == _TORCH and line.spec.exact] if rows else []
    tied = lines and all(line.spec.holds(build.version) for line in lines)
    plain = package.tool == "pip" and package.wheel is None and not (package.places.index or "+" in package.spec)
    return bool(tied) and plain and is_for_usual_torch(normalized(package.name), package.spec)


def _another_serves(wanted: Wanted, build: FrameworkBuild, query: Query) -> bool:
    """Whether the nearest build of torch that runs on the target is one of the same major version of CUDA."""
    other = next(iter(fitting(wanted, build, query)), None)
    return (
        other is not None and other.cuda is not None and build.cuda is not None and other.cuda.major == build.cuda.major
    )


def _for_the_cpu(wanted: Wanted, build: FrameworkBuild | Problem, have: Chosen) -> bool:
    if is_for_the_cpu(wanted, have.contents):
        return not (isinstance(build, Problem) and build.status is Status.FAIL)
    return False


def _gpu_build(wanted: Wanted, build: FrameworkBuild | Problem, query: Query) -> str:
    """The remedy for a build for the CPU that nobody asked for by name: the nearest build that runs on the GPUs."""
    if wanted.variant == "cpu" or wanted.package.endswith("-cpu") or wanted.tool != "pip":
        return _OTHER_INDEX
    other = next((one for one in fitting(wanted, build, query) if one.index_url or one.on_pypi), None)
    return _OTHER_INDEX if other is None else f"Use {in_words(other, wanted)}."


def _cpu(title: str, subject: str, query: Query, fix: str = _OTHER_INDEX, *, unasked: bool = False) -> Finding:
    """A build for the CPU: a fault where a GPU is meant, or where only the system makes it one (`unasked`)."""
    meant = unasked or bool(query.request.gpus or query.request.driver)
    status = Status.WARN if meant else Status.OK
    remedy = Remedy(fix) if meant else None
    return finding(
        faults.CPU_BUILD,
        status,
        f"{title}: it will not use a GPU" if meant else title,
        subject,
        impact="Everything runs on the CPU without any error." if meant else "",
        remedy=remedy,
    )


def _problem(wanted: Wanted, problem: Problem, subject: str, have: Chosen, query: Query) -> Iterator[Finding]:
    """What is to say where no build can be named: still, what rules out every build of that release.

    A build that is only looked for in the wrong place is judged as well: it will be installed once that is put right.
    """
    if problem.meant is not None:
        yield _told(replace(problem, told=problem.told + _for_pythons(wanted, problem.meant)), subject)
        judged = _build(_as_installed(problem.meant, wanted, have), wanted, subject, query)
        yield from (_helped(one, wanted, problem.meant, have, query) for one in judged if one.status is Status.FAIL)
        return
    refused = next(_against_all(wanted, have, query), None)
    if refused is not None:
        found = of_relation(refused, subject)
        too_old = refused.relation == "gpu-on-driver" and not is_driver_too_new(query)
        yield replace(found, remedy=newer_driver(query)) if too_old else found
        return
    yield _told(told_of_conda(_asked_of_index(problem, wanted), wanted, have, query), subject)


def _for_pythons(wanted: Wanted, meant: FrameworkBuild) -> str:
    """The Pythons that a pinned release has wheels for, where it is not known which one asks."""
    if wanted.python is not None or pinned_release(wanted.spec) is None or not meant.pythons:
        return ""
    return f"; its wheels are for Python {spans(meant.pythons, 'and')} alone"


def _asked_of_index(problem: Problem, wanted: Wanted) -> Problem:
    """What is not known of a package that the file takes from somebody's own index: only that index can tell."""
    place = next(filter(_has_own_builds, wanted.places.split()), "") if wanted.tool == "pip" else ""
    if not place or problem.status is not Status.UNKNOWN:
        return problem
    command = f"python -m pip index versions {wanted.package} --index-url {place}"
    return replace(problem, fix=f"It is not known what {place} has. To list its releases: {command}")


def _told(problem: Problem, subject: str) -> Finding:
    fault = faults.NOT_ON_INDEX if problem.status is Status.FAIL else faults.NOT_JUDGED
    title = problem.told[0].lower() + problem.told[1:] if problem.told[:3].isalpha() else problem.told
    return finding(fault, problem.status, title, subject, remedy=Remedy(problem.fix) if problem.fix else None)


def _against_all(wanted: Wanted, have: Chosen, query: Query) -> Iterator[Verdict]:
    """The relations by which the target rules out every GPU build of the releases that are asked for."""
    try:
        wish = Wish.parse(wanted.spec, wanted.tool)
    except ValueError:
        return
    if not wanted.spec or (wanted.tool == "conda" and not _from_pytorch(wanted, have)):
        return
    builds = (row for row in query.knowledge.tables.builds(wanted.framework) if row.cuda and not row.cpu_only)
    every = tuple(builds)
    rows = [row for row in every if wish.holds(Release(row.version))]
    others = {row.version for row in every if not rows and wish.holds(package_release(row))}  # post releases
    rows = rows or [row for row in every if row.version in others]
    for constraint in _asked(wanted, query) if rows else ():
        if others and constraint.relation != "python-has-wheel":
            continue
        if all(constraint.holds(query, row) is False for row in rows):
            yield constraint.refusal(query, rows[-1])


def _asked(wanted: Wanted, query: Query) -> Iterator[Constraint]:
    """The constraints that the target has for a package; conda provides what the system would have to have.

    An index of somebody else may have the release for another system than the known packages are for.
    """
    elsewhere = wanted.tool == "conda" or any(map(_has_own_builds, wanted.places.split()))
    for constraint in CONSTRAINTS:
        brought = elsewhere and constraint.relation in _OF_THE_SYSTEM
        if not brought and constraint.asks(query) is not None:
            yield constraint


def _has_own_builds(place: str) -> bool:
    """Whether an address is neither an index of PyTorch nor, as far as it tells, a mirror of the default one."""
    return "/simple" not in place and not is_pytorch(place)


def _from_pytorch(wanted: Wanted, have: Chosen) -> bool:
    """Whether conda takes builds of PyTorch's own channel: their CUDA is chosen by pytorch-cuda or cudatoolkit."""
    return "pytorch-cuda" in have.contents.names or not set(_PYTORCH_CHANNELS).isdisjoint(wanted.source.split())


def _as_installed(build: FrameworkBuild, wanted: Wanted, have: Chosen) -> FrameworkBuild:
    """A build of another channel than PyTorch's own was compiled by others: which code it holds is not known here."""
    if wanted.tool == "conda" and not _from_pytorch(wanted, have):
        return replace(build, sass=None, ptx=None, min_compute_capability=None)
    return build


def of_relation(verdict: Verdict, subject: str) -> Finding:
    """The finding that a relation's verdict is."""
    fault = faults.OF_RELATION[verdict.relation]
    status = status_of(verdict)
    impact = faults.IMPACT_OF_RELATION[verdict.relation] if status is Status.FAIL else ""
    remedy = Remedy(fault.fix) if status is Status.FAIL else None
    return finding(fault, status, verdict.detail, subject, impact=impact, remedy=remedy, sources=verdict.sources)


def with_compat(verdict: Verdict, cuda: Version | None, query: Query) -> Verdict:
    """A refusal by the driver, with the way around it that data center GPUs have and the file does not install."""
    driver, platform = query.driver, query.request.platform
    if verdict.relation != "driver-runs-cuda" or query.data_center or not query.takes_compat:
        return verdict
    if driver is None or cuda is None or status_of(verdict) is not Status.FAIL:
        return verdict
    if query.knowledge.level(driver, cuda, platform, True) is not DriverVerdict.FORWARD:
        return verdict
    package = f"cuda-compat-{cuda.major}-{cuda.minor}"
    return replace(verdict, detail=f"{verdict.detail}; it runs only with {package}, which the file does not install")


def _build(build: FrameworkBuild, wanted: Wanted, subject: str, query: Query) -> Iterator[Finding]:
    """What every constraint says of the build that is installed; a fault of one kind is reported once.

    A release is built with the cuDNN that it names: where that one's GPUs are not in the data, its own code counts.
    """
    told: dict[str, Finding] = {}
    for constraint in _asked(wanted, query):
        holds = constraint.holds(query, build)
        if holds is not True and not (holds is None and constraint.relation == "gpu-on-cudnn"):
            one = of_relation(with_compat(constraint.refusal(query, build), build.cuda, query), subject)
            kept = told.get(one.id)
            own = constraint is CODE and build.sass is None  # its makers name the GPUs, which says more than its CUDA
            if kept is None or (one.status is Status.FAIL and (own or kept.status is not Status.FAIL)):
                told[one.id] = one
    failed = [one for one in told.values() if one.status is Status.FAIL]
    yield from failed or told.values()
    if not told:
        yield from _compiled_late(build, subject, query)
        title = f"{wanted.package}{wanted.spec} installs {title_of(build)} {place_of(build, wanted)}"
        yield finding(faults.INSTALLS, Status.OK, title.rstrip(), subject, sources=build.sources)


def _compiled_late(build: FrameworkBuild, subject: str, query: Query) -> Iterator[Finding]:
    for gpu in query.request.gpus:
        verdict = gpu_runs_build(gpu.compute_capability, build, name=str(gpu))
        if verdict.status == "warn":
            impact = "The first start takes several minutes."
            yield finding(
                faults.GPU_WITHOUT_CODE, Status.WARN, verdict.detail, subject, impact=impact, sources=verdict.sources
            )
