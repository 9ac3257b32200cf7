"""How a machine whose GPU the open kernel module does not support gets the proprietary one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.base.versions import Version
from envkit.checks.engine.command import FILE, TARGET, fixed, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import managers
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.remedies import remedy
from envkit.checks.gpu.gpus import seen_gpus
from envkit.checks.nvidia_driver.driver_state import installed
from envkit.model import Environment
from envkit.tables.codes import limit

if TYPE_CHECKING:
    from envkit.tables import Matrix

_ID = "open-module-on-pre-turing"
_WITHOUT_GSP = "This GPU has no GSP, which the open module needs (Turing and newer have one)."


_OF_AN_AMI = (
    f"{_WITHOUT_GSP} On AWS, the driver is part of the machine image (AMI), and what is changed on a node by hand is "
    "lost when the node is replaced. Use the previous release of the AMI, which worked, or one with the proprietary "
    "module (among AWS's Deep Learning AMIs, those with Proprietary Nvidia Driver in their names); a managed node "
    "group cannot go back, so create a new one with that AMI and delete the other. Or move to instances whose GPU is "
    "Turing or newer: g4dn, g5, g6."
)


def proprietary_flavor(environment: Environment, matrix: Matrix) -> Remedy:
    """By whatever installed the driver: akmods, an image, NVIDIA's installer, or packages of the branch that is
    there."""
    if image := _image(environment):
        return image
    if seen(environment, _ID, "detail-ami"):
        return Remedy(_OF_AN_AMI)
    if "akmods" in managers(environment):
        advice = "Let akmods build the proprietary flavor; the driver's branch must support this GPU."
        return remedy(environment, advice, "akmods-proprietary", "reboot")
    ran = seen(environment, _ID, "detail-runfile")
    if file := named(ran, "file"):
        return _by_installer(file, Version.find(named(ran, "version") or ""))
    return remedy(
        environment,
        f"{_WITHOUT_GSP} Install the proprietary flavor of a branch that supports this GPU.",
        "driver-branch",
        branch=_branch(environment, matrix),
    )


def _image(environment: Environment) -> Remedy | None:
    """The same image with the other module, for a system whose /usr is an image; None for others."""
    message = seen(environment, _ID, "detail-image")
    name = named(message, "image")
    if name is None:
        return None
    other = f"{name.replace('-nvidia-open', '-nvidia')}{named(message, 'tag') or ''}"
    return Remedy(
        f"{_WITHOUT_GSP} The image {name.rpartition('/')[2]} has the open module: rebase to the same image with the "
        "proprietary one, and restart. Until then, the previous deployment still works (rpm-ostree rollback). If the "
        "project no longer offers that image, stay on the last deployment that had it (rpm-ostree pin).",
        (run("rpm-ostree", "rebase", TARGET(other)), fixed("systemctl reboot")),
    )


def _branch(environment: Environment, matrix: Matrix) -> int | None:
    """The installed branch, or the last that supports the oldest GPU where that is an older one."""
    own = installed(environment)
    models = [model for gpu in seen_gpus(environment, matrix) for model in gpu.models]
    last = [model.last_driver_branch for model in models if model.last_driver_branch is not None]
    return min([*last, *([own.major] if own is not None else [])], default=None)


def _by_installer(file: str, version: Version | None) -> Remedy:
    chosen = version is not None and version >= limit("runfile-with-module-type")
    return Remedy(
        f"{_WITHOUT_GSP} Run the same installer again and have it install the proprietary module, which replaces the "
        "open one (leave out --no-kernel-modules); no module then has to be built from source. The last command must "
        "print NVIDIA, not Dual MIT/GPL.",
        (
            run("sudo", "sh", FILE(file), *(("--kernel-module-type=proprietary",) if chosen else ())),
            fixed("sudo modprobe nvidia"),
            fixed("modinfo -F license nvidia"),
        ),
    )
