"""What the tables of toolkits and driver branches say beside their rows: which compilers and GPUs go with one."""

from __future__ import annotations

from envkit._startup.records import record, types_of
from envkit.tables import Matrix
from envkit.tables.codes import VisualStudio
from envkit.tables.loader import read
from envkit.tables.rows import DriverBranch, Toolkit


@record
class ToolkitGuide(Toolkit):
    """A toolkit with the releases of Visual Studio that its compiler takes; '' where that is unknown."""

    visual_studio: str = ""


def toolkit_guide(matrix: Matrix) -> tuple[ToolkitGuide, ...]:
    """Every toolkit with its host compilers on Windows."""
    guides = []
    for toolkit in matrix.toolkits:
        row = next((row for row in read(VisualStudio) if row.cuda_from <= toolkit.release <= row.cuda_to), None)
        facts = {name: getattr(toolkit, name) for name in types_of(Toolkit)}
        if row is not None:
            facts["sources"] = tuple(dict.fromkeys((*toolkit.sources, *row.sources)))
        guides.append(ToolkitGuide(**facts, visual_studio=_years(row) if row is not None else ""))
    return tuple(guides)


def _years(row: VisualStudio) -> str:
    """From the first release to the last one: 2017-22 17.9, where a later update of 2022 is too new."""
    years = f"{row.first}-{row.last % 100}" if row.first not in (None, row.last) else f"{row.last}"
    return f"{'' if row.first else 'to '}{years}{f' {row.last_update}' if row.last_update is not None else ''}"


@record
class DriverGuide(DriverBranch):
    """A driver branch with the GPUs that its open kernel module drives; '' where it has none."""

    open_modules: str = ""


def driver_guide(matrix: Matrix) -> tuple[DriverGuide, ...]:
    """Every driver branch with what its open kernel module drives."""
    from envkit.compat.driver_gpu import FIRST_OPEN_FAMILY

    return tuple(
        DriverGuide(
            **{name: getattr(branch, name) for name in types_of(DriverBranch)},
            open_modules="" if branch.open_kernel_module in ("", "none") else f"{FIRST_OPEN_FAMILY} and newer",
        )
        for branch in matrix.driver_branches
    )
