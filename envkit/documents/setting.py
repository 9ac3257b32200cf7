"""Native or container: which of the two suits a plan, why, and the command for the container."""

from __future__ import annotations

import shlex

from envkit._startup.records import record
from envkit.base.platforms import JETSON, WINDOWS
from envkit.documents.commands import from_source, images_of, plan_options
from envkit.solver.model import Plan


@record
class Setting:
    """Where a plan is better off, and how to have it in a container; native commands are those of the plan."""

    container: bool
    why: str
    command: str


def setting_of(plan: Plan) -> Setting | None:
    """Which suits a plan; None where there is no choice: an image, Windows, a Jetson, a plan of nothing."""
    request, choice = plan.request, plan.choice
    if request.container or request.platform in (WINDOWS, JETSON) or images_of(plan) or from_source(plan):
        return None
    if not choice.builds and choice.cuda is None:
        return None
    unfit = _unfit_system(plan)
    against = unfit or _ended_system(plan)
    # an image has a system of its own, so it does not get one that CUDA does not go with
    imaged = plan.choice.os is None or bool(plan.choice.os.base_image)
    options = plan_options(plan, with_system=imaged and not unfit)
    command = shlex.join(["envkit", "dockerfile", *options, "-o", "Dockerfile"])
    return Setting(bool(against), against or _for_native(plan), command)


def _unfit_system(plan: Plan) -> str:
    """What the system has against the plan's CUDA, '' where nothing is known."""
    system, cuda = plan.choice.os, plan.choice.cuda
    warned = {verdict.relation for verdict in plan.verdicts if verdict.status == "warn"}
    if system is not None and "runfile-on-os" in warned:
        return f"CUDA {cuda} does not support {system.title}"
    if system is not None and "compiler-fits-nvcc" in warned:
        return f"CUDA {cuda}'s nvcc does not support the GCC of {system.title}"
    return ""


def _ended_system(plan: Plan) -> str:
    """That the plan had to take a system without updates, which is hardly that of the machine."""
    warned = {verdict.relation for verdict in plan.verdicts if verdict.status == "warn"}
    if plan.choice.os is None or plan.request.os_id is not None or "os-is-maintained" not in warned:
        return ""
    return f"the plan needs {plan.choice.os.title}, which no longer gets updates"


def _for_native(plan: Plan) -> str:
    if plan.choice.needs_toolkit:
        where = f" on {plan.choice.os.title}" if plan.choice.os is not None else ""
        return f"CUDA {plan.choice.cuda} would be installed{where} alongside existing software"
    if plan.choice.cuda is None:
        return "the plan consists of Python packages only"
    return "the packages include CUDA, so the system needs only the driver"
