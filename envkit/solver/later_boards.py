"""Cards that came out after the driver or the CUDA of a request, which know other cards with the same chip."""

from __future__ import annotations

from collections.abc import Iterator

from envkit.base.versions import Version
from envkit.compat.cuda_line import toolkits_of
from envkit.compat.driver import branch_of
from envkit.compat.tables import Tables
from envkit.solver.request import Request, TargetGpu
from envkit.tables.rows import GpuModel


def later_boards(gpu: TargetGpu, request: Request, tables: Tables) -> Iterator[str]:
    """What to know of such a card, where no first driver of its own is recorded."""
    launched = _launched_later(gpu, tables)
    asked = request.cuda.exact if request.cuda is not None else None
    branch = branch_of(request.driver, tables, request.platform) if request.driver is not None else None
    known = branch.driver_cuda_version if branch is not None else asked
    year = _year_of(known, tables) if known is not None else None
    if launched is None or year is None or year >= launched:
        return
    if branch is not None:
        yield (
            f"the {gpu.name} came out in {launched}, later than the first cards with its chip and than driver branch "
            f"{branch.branch} ({year}): look for it in the list of supported products of that driver"
        )
    else:
        yield (
            f"the {gpu.name} came out in {launched}, after CUDA {known} ({year}): the driver inside its installer is "
            "too old for this card. Install a newer driver, and the toolkit without its own"
        )


def _launched_later(gpu: TargetGpu, tables: Tables) -> int | None:
    """The year of a card that came after the first one with its chip; None for others, and where that is not known."""
    own = next((row for row in tables.gpus if row.name == gpu.name and row.launch_year), None)
    if own is None or own.launch_year is None or _has_its_own_driver(own, tables):
        return None
    years = [row.launch_year for row in tables.gpus if row.chip == own.chip and row.launch_year is not None]
    return own.launch_year if own.launch_year > min(years) else None


def _has_its_own_driver(own: GpuModel, tables: Tables) -> bool:
    """Whether the first driver of a card is recorded, rather than that of its chip."""
    firsts = [row.first_driver for row in tables.gpus if row.chip == own.chip and row.first_driver is not None]
    return own.first_driver is not None and own.first_driver > min(firsts)


def _year_of(cuda: Version, tables: Tables) -> int | None:
    """The year of the first release of a CUDA line."""
    dates = [row.release_date for row in toolkits_of(cuda.line, tables) if row.release_date]
    return int(dates[0][:4]) if dates else None
