"""What to know before a driver is installed: which packages it is, where they are, and what goes with it."""

from __future__ import annotations

from collections.abc import Iterator

from envkit.install.model import InstallDriver
from envkit.install.options import ScriptOptions
from envkit.install.repository import OPTION, repository_row
from envkit.solver.model import Plan
from envkit.solver.request import TargetGpu
from envkit.tables import Matrix

_SHOWN = 3  # packages that are named in the plan
_SWITCHED_FROM = 8  # the compute capability of the first GPUs whose usual boards have NVSwitches


def driver_notes(plan: Plan, driver: InstallDriver, options: ScriptOptions) -> Iterator[str]:
    """One sentence or two for each."""
    names = [" ".join(package.names) for package in driver.packages]
    if driver.chosen:
        yield "The driver comes from the runfile given with --driver-runfile."
    elif names:
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        yield (
            "Installs the first of these driver packages that the machine's package sources have in a suitable "
            f"version: {', '.join(names[:_SHOWN])}{more}. An installed driver that is suitable is kept."
        )
        yield from _only_nvidias(plan, driver, options)
    boards = ", ".join(str(gpu) for gpu in plan.request.gpus if may_have_switches(gpu))
    if boards:
        yield (
            f"{boards}: on a board with NVSwitches (HGX, DGX), CUDA works only while NVIDIA's Fabric Manager runs, in "
            "exactly the driver's version. The script looks for NVSwitches on the PCI bus and prints the required "
            "version, but does not install Fabric Manager. With fourth-generation switches or newer ones (B200 and "
            "later), which the PCI bus does not show, check this yourself: envkit doctor."
        )


def _only_nvidias(plan: Plan, driver: InstallDriver, options: ScriptOptions) -> Iterator[str]:
    """Where a stock system offers none of the packages, and nothing takes their place."""
    if options.nvidia_repository or driver.file or any(package.origin != "nvidia" for package in driver.packages):
        return
    explanation = (
        "Only NVIDIA's own package repository has a suitable driver, and the script stops if that repository is not "
        "enabled: "
    )
    if repository_row(plan.choice) is not None:
        yield f"{explanation}{OPTION} makes the script add it."
    else:
        yield f"{explanation}enable it on the machine first ({Matrix.load().source('driver-guide').url})."


def may_have_switches(gpu: TargetGpu) -> bool:
    """True for modules as boards with NVSwitches carry them; by the capability where no more is known of the GPU."""
    tables, capability = Matrix.load(), gpu.compute_capability
    if capability.major < _SWITCHED_FROM or gpu.architecture is not None:  # one built onto its processor is not on such
        return False
    if gpu.name and tables.gpu_by_name(gpu.name) is None:  # a name of several models
        from envkit.solver.gpu_name import models_of

        names = {model.name for model in models_of(gpu.name, tables)}
    elif gpu.name:
        names = {gpu.name}
    else:
        names = {model.name for model in tables.gpus if model.compute_capability == capability}
    return any(board.name in names and board.form == "module" and board.nvlink_gbs for board in tables.gpu_boards)
