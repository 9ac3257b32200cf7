"""Secure Boot of a virtual machine, whose firmware only its provider's settings reach."""

from __future__ import annotations

from envkit.checks.engine.command import fixed
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import managers
from envkit.model import Environment

_AZURE = (
    fixed("az vm deallocate --resource-group GROUP --name VM"),
    fixed("az vm update --resource-group GROUP --name VM --enable-secure-boot false"),
    fixed("az vm start --resource-group GROUP --name VM"),
)
_ON_AZURE = (
    " Run these commands on a different machine, with the names of yours; they stop it. If the installation waited for "
    "the password of Secure Boot, finish it afterward on the machine (sudo dpkg --configure -a, then sudo modprobe "
    "nvidia); a driver extension that still says Creating is removed with az vm extension delete, and set again."
)


def without_secure_boot(environment: Environment) -> Remedy:
    """The remedy that turns it off there, with Azure's own commands where it is Azure's."""
    azure = "azure" in managers(environment)
    return Remedy(
        "Turn Secure Boot off in the virtual machine's settings and start it again: on most clouds, you cannot "
        "reach the console where a key must be confirmed. Or use an image with a signed driver."
        f"{_ON_AZURE if azure else ''}",
        _AZURE if azure else (),
    )
