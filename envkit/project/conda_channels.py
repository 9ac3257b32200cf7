"""Judges what the channels of conda have of a framework: builds for a Python, and the package that chooses its CUDA."""

from __future__ import annotations

from collections.abc import Iterator

from envkit.base.platforms import WINDOWS
from envkit.base.sentences import series
from envkit.base.versions import Version
from envkit.checks.containers import project_faults as faults
from envkit.checks.engine.findings import Finding, Remedy, Status
from envkit.compat.conda import channel_build, last_of_channel, only_channels
from envkit.dockerfile.check_parts import finding
from envkit.dockerfile.framework_packages import Wanted
from envkit.dockerfile.specifiers import Release, Wish
from envkit.project.choose import Chosen
from envkit.project.conda_cuda import companions_of_conda, toolkit_findings
from envkit.project.model import Item
from envkit.project.subject import subject_of
from envkit.solver.query import Query
from envkit.tables.rows import FrameworkBuild, framework_title

_FRAMEWORK = "pytorch"
_TOOLKIT = "cudatoolkit"
_CHOOSES = "pytorch-cuda"  # which CUDA the builds of the channel pytorch are for
_UNSOLVED = "conda finds no solution."


def channel_findings(have: Chosen, query: Query) -> Iterator[Finding]:
    """What no channel has of the frameworks that conda installs."""
    for wanted in have.builds:
        if wanted.tool == "conda" and have.python is not None:
            yield from _without_python(wanted, have.python, have.item_of(wanted.package), query)
    yield from _toolkit_elsewhere(have, query)
    yield from toolkit_findings(have)
    yield from companions_of_conda(have, query)
    chooser = have.item_of(_CHOOSES)
    if chooser is not None and chooser.package.tool == "conda":
        yield from _chooser(chooser, have)


def _toolkit_elsewhere(have: Chosen, query: Query) -> Iterator[Finding]:
    """A cudatoolkit without the channel that PyTorch's own instructions take that release from.

    On Windows, that is by the release of PyTorch; on Linux, other channels may have it, but where none is ever named.
    """
    one = have.item_of(_TOOLKIT)
    channels, cuda = (one.package.places.channels, Version.find(one.package.spec)) if one is not None else ((), None)
    windows = query.packages == WINDOWS
    for wanted, build in have.meant if channels and cuda is not None else ():
        named = channel_build if windows else only_channels
        row = named(wanted.framework, build.version, cuda) if wanted.tool == "conda" else None
        missing = [channel for channel in row.channels if channel not in channels] if row is not None else []
        if one is None or row is None or not missing:
            continue
        yield finding(
            faults.NOT_JUDGED,
            Status.UNKNOWN,
            f"it is not known whether the channels {series(channels)} have {_TOOLKIT} {cuda}"
            f"{' for Windows' if windows else ''}",
            subject_of(one),
            impact=f"Where they have none, conda installs {wanted.package} for the CPU.",
            remedy=Remedy(
                f"PyTorch's own instructions take it from {series(missing)}: add that channel and name the build "
                f"({wanted.package}={build.version}=*cuda{row.cuda}*), or use the pip wheel for CUDA {row.cuda}."
            ),
            sources=row.sources,
        )


def _without_python(wanted: Wanted, python: Version, one: Item | None, query: Query) -> Iterator[Finding]:
    """A release for a Python that it does not take yet, or that came long after it.

    Other channels than the project's may build a release once more for the next Python, and not for the one after that.
    """
    rows = _allowed(wanted, query)
    pythons = sorted({known.release(2) for row in rows for known in row.pythons})
    if not pythons or any(not row.pythons for row in rows):
        return
    oldest, newest = pythons[0], pythons[-1]
    later = python.major == newest.major and python.minor > newest.minor + 1
    if not later and python >= oldest:
        return
    title = f"{framework_title(wanted.framework)} {wanted.spec.lstrip('=')}"
    yield finding(
        faults.PYTHON_WITHOUT_PACKAGE,
        Status.FAIL,
        f"{title} was made for Python {oldest} to {newest}, and no channel has it for Python {python}",
        subject_of(one, wanted),
        impact=_UNSOLVED,
        remedy=Remedy(
            f"Use Python {newest}, or a newer {wanted.package}."
            if later
            else f"Use Python {oldest}, or an older {wanted.package}."
        ),
        sources=rows[-1].sources,
    )


def _allowed(wanted: Wanted, query: Query) -> list[FrameworkBuild]:
    try:
        wish = Wish.parse(wanted.spec, wanted.tool)
    except ValueError:
        return []
    builds = query.knowledge.tables.builds(wanted.framework)
    return [row for row in builds if not row.archived and wish.holds(Release(row.version))]


def _chooser(one: Item, have: Chosen) -> Iterator[Finding]:
    """pytorch-cuda where no channel has it, and next to a PyTorch that it chooses nothing of."""
    channels, last = one.package.places.channels, last_of_channel(_FRAMEWORK)
    if channels and not any(_FRAMEWORK in channel for channel in channels):
        yield finding(
            faults.NOT_ON_INDEX,
            Status.FAIL,
            f"{_CHOOSES} is a package of the channel {_FRAMEWORK}, which is not among the channels",
            subject_of(one),
            impact=_UNSOLVED,
            remedy=Remedy(f"With conda-forge, use pytorch-gpu and cuda-version{one.package.spec} in place of it."),
        )
        return
    for wanted, build in have.meant:
        if wanted.framework == _FRAMEWORK and wanted.tool == "conda" and last is not None and build.version > last:
            yield finding(
                faults.REQUIREMENTS_CLASH,
                Status.WARN,
                f"{_CHOOSES} chooses among builds of the channel {_FRAMEWORK}, which ended with PyTorch {last}",
                subject_of(one),
                impact=f"PyTorch {build.version} comes from another channel, perhaps without CUDA, if any has it.",
                remedy=Remedy(
                    f"Use {_FRAMEWORK}={last}, or conda-forge with pytorch-gpu and cuda-version in place of {_CHOOSES}."
                ),
                sources=build.sources,
            )
