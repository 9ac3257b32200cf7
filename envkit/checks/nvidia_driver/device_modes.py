"""Who may open the device files: the modes that a module option sets, and the group that owns them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.checks.engine.command import GROUP, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.remedies import remedy
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix

_TOLD_GROUP = ("told-group-of-service", "told-must-join", "told-group-abroad")  # name it, and mostly the account


def decimal_mode(environment: Environment) -> Remedy | None:
    """The remedy where the module reads a mode that was meant as octal as a decimal number; otherwise None."""
    mode = named(seen(environment, "device-node-permission", "detail-decimal"), "mode")
    if mode is None:
        return None
    return remedy(
        environment,
        f"The module reads NVreg_DeviceFileMode={mode} as a decimal number, which is mode {int(mode):o}: without the "
        f"leading 0, the device files get rights that keep everybody but root out, and no group helps. The first "
        f"command writes 0{mode} instead (the old file is kept with the suffix .bak); the second opens the files at "
        "once. The option takes effect when the module is loaded again, which a reboot does.",
        "open-mode-anew",
    )


def joined_group(environment: Environment, matrix: Matrix) -> Remedy:
    """The group that owns the files, of the account that somebody names or of whoever reads this."""
    if decimal := decimal_mode(environment):
        return decimal
    group = named(seen(environment, "device-node-permission", "detail-group", *_TOLD_GROUP), "group")
    if group is None:
        return remedy(environment, "Join the group that owns /dev/nvidia*, then log in again.", "show-nodes")
    if user := named(seen(environment, "device-node-permission", *_TOLD_GROUP), "user"):
        return Remedy(
            f"Put the account {user} into the group {group}, which owns the device files, and restart its service.",
            (run("sudo", "usermod", "-aG", GROUP(group), GROUP(user)),),
        )
    return remedy(
        environment,
        f"The device files belong to the group {group}: join it, then log out and in again. A service needs its own "
        "account in that group, and a restart.",
        "node-group",
        group=group,
    )
