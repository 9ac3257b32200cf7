"""Modes of the device files that a module option sets: a number without its leading 0 is no octal one."""

from __future__ import annotations

from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.remedies import remedy
from envkit.model import Environment


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
