"""A branch that NVIDIA no longer adapts to new kernels, and that is the last one for its GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.base.sentences import series
from envkit.checks.engine.command import fixed
from envkit.checks.engine.findings import Remedy
from envkit.checks.nvidia_driver.foreign_module import build_log
from envkit.checks.nvidia_driver.outgrown import (
    failing_kernel,
    failing_release,
    fitting_kernel,
    is_legacy,
    last_for,
    last_kernel,
)
from envkit.checks.nvidia_driver.own_packages import from_packages
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix


_PATCHED = (
    " To keep the new kernel, install a package of this driver that is patched for it, from your distribution or from "
    "its users' repositories."
)


def of_ended_branch(environment: Environment, matrix: Matrix) -> Remedy | None:
    """The remedy where the failing branch ended: its patched packages, or a kernel that is old enough for it."""
    release = failing_release(environment)
    branch = release.major if release is not None else 0
    ended = last_for(branch, matrix)
    if not branch or not (ended or is_legacy(branch, matrix)):
        return None
    whose = f"{series(ended)} GPUs" if ended else "GPUs of this age"
    how, given = from_packages(environment, matrix, branch, failing_kernel(environment), ended=True)
    return Remedy(
        f"{branch} is the last branch for {whose}: no newer driver supports them.{how if given else ''}"
        f"{_kernel(environment, branch, known=bool(given))}",
        (*(given or build_log(environment)), fixed("dkms status")),
    )


def _kernel(environment: Environment, branch: int, *, known: bool) -> str:
    """The kernel that works without another package, as far as the text or the tables tell it."""
    newest = last_kernel(branch)
    own = fitting_kernel(environment)
    if own:
        works = f" Kernel {own} works with the installed driver: until then, boot that one."
    elif known:
        works = ""
    elif newest:
        works = (
            f" NVIDIA's own sources build for kernels up to {newest}: install a long-term kernel that is not "
            "newer, with its headers, choose it in the boot menu, and keep it."
        )
    else:
        works = " Boot the previous kernel, for which it was built, and keep it."
    patched = "" if known else _PATCHED
    return f"{works}{patched} Afterward, dkms status must report 'installed' for the kernel that you boot."
