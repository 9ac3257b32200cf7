"""Which driver fits the GPUs: kernel module, driver branches, and the distribution's packages that provide them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from envkit.base.errors import EnvkitError
from envkit.compat.module_flavors import apart
from envkit.install.model import DriverPackage
from envkit.solver.request import TargetGpu
from envkit.tables.installer import DriverPackageRow, ModuleRow, for_os
from envkit.tables.loader import read
from envkit.tables.rows import DriverBranch

_OPEN_BY_DEFAULT = ("default", "only")
_LASTING = ("lts", "production")  # the kinds of branches that distributions recommend
_BRANCH = "{branch}"


def module_for(branch: DriverBranch, gpus: tuple[TargetGpu, ...]) -> str | None:
    """`open` or `proprietary` module of this branch for all these GPUs; None where neither drives them all."""
    may_open, may_close = drives("open", branch, gpus), drives("proprietary", branch, gpus)
    if may_open and (branch.open_kernel_module in _OPEN_BY_DEFAULT or not may_close):
        return "open"
    return "proprietary" if may_close else None


def refuse_apart(gpus: tuple[TargetGpu, ...]) -> None:
    """Raises EnvkitError for GPUs of which some need the open kernel module and others the proprietary one."""
    if why := apart((str(gpu), _module_row(gpu)) for gpu in gpus):
        raise EnvkitError(
            f"No driver supports all of these GPUs: {why}.", "Pass only GPUs that one driver supports with --gpu."
        )


def drives(module: str, branch: DriverBranch, gpus: tuple[TargetGpu, ...]) -> bool:
    """True when this branch has the module, and the module drives all these GPUs."""
    missing = {"open": "none", "proprietary": "only"}[module]
    rows = [_module_row(gpu) for gpu in gpus]
    return branch.open_kernel_module != missing and all(
        row.open if module == "open" else row.proprietary for row in rows
    )


def _module_row(gpu: TargetGpu) -> ModuleRow:
    for row in read(ModuleRow):
        after = row.first_capability is None or gpu.compute_capability >= row.first_capability
        before = row.last_capability is None or gpu.compute_capability <= row.last_capability
        if after and before:
            return row
    raise EnvkitError(f"No kernel module for {gpu} is known to envkit.", "Install the driver manually.")


def packages_for(
    os_id: str, branches: Sequence[DriverBranch], gpus: tuple[TargetGpu, ...], last: int | None
) -> tuple[DriverPackage, ...]:
    """The packages to try: what the distribution itself recommends, then branches, lasting ones first, newest first.

    A package of no branch that is before all others in the table is the recommended one: Debian updates its
    nvidia-driver, while its packages of branches stay behind. Data-center GPUs get those without a display first.
    `last`: the last branch for the GPUs. A name on offer may change its branch, so each package comes with the branches
    that its module may be of.
    """
    rows = _rows(os_id)
    if all(gpu.data_center for gpu in gpus):
        rows.sort(key=lambda row: not row.screenless)
    spans = _spans(branches, gpus, last)
    preferred = {module_for(branch, gpus) for branch in branches}
    branches = sorted(branches, key=lambda branch: branch.kind not in _LASTING)
    of_branches = [
        (row.position, _package(row, str(branch.branch), spans[row.module]))
        for branch in branches
        for row in rows
        if row.module == module_for(branch, gpus)
        and (_BRANCH in row.packages[0] or (_BRANCH in row.stream and last is not None))
    ]
    first = min((position for position, _ in of_branches), default=0)
    others = [
        (row.position, _package(row, "", spans[row.module]))
        for row in rows
        if row.module in preferred and _BRANCH not in row.packages[0] + row.stream
    ]
    recommended = [package for position, package in others if position < first]
    found = [*recommended, *(package for _, package in of_branches), *(package for _, package in others)]
    return tuple(dict.fromkeys(found))


def others_for(
    os_id: str, branches: Sequence[DriverBranch], gpus: tuple[TargetGpu, ...], last: int | None
) -> tuple[DriverPackage, ...]:
    """All other packages that drive the GPUs, newest branch first: for machines where somebody has chosen one."""
    rows = _rows(os_id)
    spans = _spans(branches, gpus, last)
    found = [
        _package(row, str(branch.branch), spans[row.module])
        for branch in branches
        for row in rows
        if drives(row.module, branch, gpus)
    ]
    own = packages_for(os_id, branches, gpus, last)
    return tuple(package for package in dict.fromkeys(found) if package not in own)


def _rows(os_id: str) -> list[DriverPackageRow]:
    return sorted(for_os(read(DriverPackageRow), os_id), key=lambda row: row.position) if os_id else []


def _spans(
    branches: Sequence[DriverBranch], gpus: tuple[TargetGpu, ...], last: int | None
) -> dict[str, tuple[int | None, int | None]]:
    return {module: _span(module, branches, gpus, last) for module in ("open", "proprietary")}


def _span(
    module: str, branches: Sequence[DriverBranch], gpus: tuple[TargetGpu, ...], last: int | None
) -> tuple[int | None, int | None]:
    """The first and the last branch whose `module` drives the GPUs; no last one where the newest one does."""
    fitting = [branch.branch for branch in branches if drives(module, branch, gpus)]
    if not fitting:
        return None, None
    newest = max(branch.branch for branch in branches)
    return min(fitting), last if max(fitting) == newest else max(fitting)


def _package(row: DriverPackageRow, branch: str, span: tuple[int | None, int | None]) -> DriverPackage:
    # {version} stays: the script puts in the version that it finds on offer
    names: Iterator[str] = (name.replace(_BRANCH, branch) for name in row.packages)
    return DriverPackage(tuple(names), row.stream.replace(_BRANCH, branch), *span, row.origin)
