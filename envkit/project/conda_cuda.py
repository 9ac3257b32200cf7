"""Judges which CUDA conda's packages choose: builds of PyTorch's own channel, and the toolkit next to them."""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.records import replace
from envkit.base.names import normalized
from envkit.base.platforms import WINDOWS
from envkit.base.sentences import series
from envkit.base.versions import Version
from envkit.checks.containers import project_faults as faults
from envkit.checks.engine.findings import Finding, Remedy, Status
from envkit.compat.conda import last_of_channel
from envkit.dockerfile.check_parts import finding
from envkit.dockerfile.framework_packages import Wanted
from envkit.dockerfile.specifiers import Release, Wish
from envkit.dockerfile.wanted import Problem
from envkit.project.choose import Chosen
from envkit.project.model import Item
from envkit.project.subject import subject_of
from envkit.solver.query import Query
from envkit.tables.loader import read
from envkit.tables.pairs import CondaBuild, CondaCompanion

_FRAMEWORK = _CHANNEL = "pytorch"
_CHOOSES, _TOOLKIT = "pytorch-cuda", "cudatoolkit"
_COMPILERS = ("cuda", "cuda-toolkit", "cuda-nvcc", "cuda-compiler")
_OF_ONE_CUDA = "nvidia/label/"  # the beginning of channels that have one CUDA each
_OTHER_CHANNELS = ("conda-forge",)


def told_of_conda(problem: Problem, wanted: Wanted, have: Chosen, query: Query) -> Problem:
    """What the builds of PyTorch's own channel tell, where it is not known which build conda takes."""
    channels = wanted.source.split()
    if wanted.tool != "conda" or wanted.framework != _FRAMEWORK or problem.status is not Status.UNKNOWN:
        return problem
    held, rows = have.contents.conda_cuda, _rows_of(wanted)
    if held is None:
        return _left_open(problem, rows) if channels == [_CHANNEL] else problem
    chooser = have.item_of(_CHOOSES)
    own = _CHANNEL in channels and not set(_OTHER_CHANNELS) & set(channels)
    if chooser is not None and Version.find(chooser.package.spec) == held.version:
        told = _without_chooser(problem, held.version, wanted)
        return _not_chosen(problem, held.version, rows) if own and told is problem else told
    if own and query.packages == WINDOWS:
        return _only_elsewhere(problem, held.version, wanted, query)
    here = _cudas_here(wanted, query)
    return (
        replace(problem, fix=f"Check with conda search: its wheels are for CUDA {series(here)}.") if here else problem
    )


def toolkit_findings(have: Chosen) -> Iterator[Finding]:
    """The toolkits of conda that are of another CUDA than the PyTorch next to them, or may be."""
    chooser = have.item_of(_CHOOSES)
    cuda = Version.find(chooser.package.spec) if chooser is not None and chooser.package.tool == "conda" else None
    for one in have.items if chooser is not None and cuda is not None else ():
        name, own = normalized(one.package.name), Version.find(one.package.spec)
        if one.package.tool != "conda" or name not in _COMPILERS or chooser is None or cuda is None:
            continue
        if own is not None and own.major == cuda.major or set(one.package.spec) & set("<>!~,|"):
            continue
        if own is None and all(_OF_ONE_CUDA in channel for channel in one.package.places.channels):
            continue
        which = "has no version, so conda may take one of a newer CUDA" if own is None else f"is of CUDA {own}"
        yield finding(
            faults.REQUIREMENTS_CLASH,
            Status.WARN,
            f"{name} {which}, and {chooser.written} selects PyTorch for CUDA {cuda}",
            subject_of(one),
            impact="Extensions that are compiled with it stop: its CUDA mismatches the version that PyTorch was "
            "compiled with.",
            remedy=Remedy(
                f'Pin it to the CUDA of PyTorch, as in {name}="{cuda.release(2)}.*", or choose a PyTorch for its CUDA.'
            ),
        )


def of_channel(one: Item, have: Chosen, query: Query) -> CondaCompanion | None:
    """The newest release of a package that a channel has for the file's CUDA and Python; None where none is known."""
    held = have.contents.conda_cuda
    if one.package.tool != "conda" or held is None or query.packages == WINDOWS:
        return None
    try:
        wish = Wish.parse(one.package.spec, "conda")
    except ValueError:
        return None
    rows = (
        row
        for row in read(CondaCompanion)
        if row.package == normalized(one.package.name)
        and row.channel in one.package.places.channels
        and row.cuda.starts_with(held.version)
        and wish.holds(Release(row.version))
        and (have.python is None or have.python.release(2) in row.pythons)
    )
    return max(rows, key=lambda row: row.version, default=None)


def companions_of_conda(have: Chosen, query: Query) -> Iterator[Finding]:
    """The packages with GPU code of their own that are known to come for the CUDA of the file."""
    for one in have.items:
        row = of_channel(one, have, query)
        if row is not None:
            title = f"{row.package} comes as {row.version} for CUDA {row.cuda} from the channel {row.channel}"
            yield finding(faults.INSTALLS, Status.OK, title, subject_of(one), sources=row.sources)


def _rows_of(wanted: Wanted) -> list[CondaBuild]:
    """The builds of the channel of the newest release that a requirement takes."""
    try:
        wish = Wish.parse(wanted.spec, wanted.tool)
    except ValueError:
        return []
    rows = [row for row in read(CondaBuild) if row.framework == wanted.framework and wish.holds(Release(row.version))]
    newest = max((row.version for row in rows), default=None)
    return [row for row in rows if row.version == newest]


def _left_open(problem: Problem, rows: list[CondaBuild]) -> Problem:
    """The channel's builds of a release, none of which asks for a driver."""
    if not rows or not any(line.startswith(_CHOOSES) for line in rows[-1].requirements):
        return problem
    cudas = [row.cuda for row in rows]
    told = (
        f"nothing here chooses among the builds of {_FRAMEWORK} {rows[-1].version} that the channel {_CHANNEL} has: "
        f"for CUDA {series(cudas)}, and for the CPU"
    )
    fix = (
        f"For a GPU, specify {_CHOOSES}={cudas[-1]} (or {series(cudas[:-1], 'or')}), with the channel nvidia; for the "
        "CPU, cpuonly. These builds do not ask for a driver (__cuda), so one for CUDA may come without "
        "system-requirements, which only packages of conda-forge need. "
        f"The channel ended with PyTorch {last_of_channel(_FRAMEWORK)}."
    )
    return replace(problem, told=told, fix=fix)


def _without_chooser(problem: Problem, cuda: Version, wanted: Wanted) -> Problem:
    """pytorch-cuda in a version that it never had: PyTorch's own channel has no other builds of it."""
    rows = [row for row in read(CondaBuild) if row.framework == _FRAMEWORK]
    known = sorted({row.cuda for row in rows if any(line.startswith(_CHOOSES) for line in row.requirements)})
    if any(one.starts_with(cuda) or cuda.starts_with(one) for one in known):
        return problem
    older = [row for row in rows if row.cuda.starts_with(cuda) and row.cuda not in known]
    last = max(older, key=lambda row: row.version, default=None)
    ways = [f"{_CHOOSES}={row.cuda}" for row in _rows_of(wanted)]
    ways += [f"{_FRAMEWORK}={last.version} with {_TOOLKIT}={last.cuda}"] if last is not None else []
    told = f"there is no {_CHOOSES} {cuda}: it exists for CUDA {series(known)} alone"
    return Problem(Status.FAIL, told, f"Use {series(ways, 'or')}." if ways else f"Use one of these {_CHOOSES}.")


def _not_chosen(problem: Problem, cuda: Version, rows: list[CondaBuild]) -> Problem:
    """A CUDA that pytorch-cuda has, and the release that is asked for does not."""
    cudas = [row.cuda for row in rows if any(line.startswith(_CHOOSES) for line in row.requirements)]
    if not cudas or any(one.starts_with(cuda) or cuda.starts_with(one) for one in cudas):
        return problem
    every = (row.version for row in read(CondaBuild) if row.framework == _FRAMEWORK and row.cuda.starts_with(cuda))
    first = min(every, default=None)
    told = f"the channel {_CHANNEL} has {_FRAMEWORK} {rows[-1].version} for CUDA {series(cudas)}, not for {cuda}"
    later = f", or {_FRAMEWORK}={first} or newer" if first is not None and first > rows[-1].version else ""
    return Problem(Status.FAIL, told, f"Use {_CHOOSES}={series(cudas, 'or')}{later}.")


def _only_elsewhere(problem: Problem, cuda: Version, wanted: Wanted, query: Query) -> Problem:
    """A CUDA that PyTorch has builds of a release for, but none of them for the target's system."""
    try:
        wish = Wish.parse(wanted.spec, wanted.tool)
    except ValueError:
        return problem
    rows = [row for row in query.knowledge.tables.builds(_FRAMEWORK) if row.cuda and wish.holds(Release(row.version))]
    here = _cudas_here(wanted, query)
    if not here or not any(row.cuda and row.cuda.starts_with(cuda) for row in rows):
        return problem
    told = (
        f"there is no build of {wanted.package}{wanted.spec} for CUDA {cuda} on Windows, so conda takes one for the CPU"
    )
    return Problem(Status.FAIL, told, f"Use {_TOOLKIT}={series(here, 'or')}." if here else problem.fix)


def _cudas_here(wanted: Wanted, query: Query) -> list[Version]:
    """The CUDA versions of the wheels for the target's system of the newest release that a requirement takes."""
    try:
        wish = Wish.parse(wanted.spec, wanted.tool)
    except ValueError:
        return []
    rows = [row for row in query.knowledge.tables.builds(_FRAMEWORK) if wish.holds(Release(row.version))]
    newest = max((row.version for row in rows), default=None)
    return sorted({row.cuda for row in rows if row.cuda and row.version == newest and query.packages in row.platforms})
