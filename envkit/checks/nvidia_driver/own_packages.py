"""How a distribution's own packages bring a release of the driver that builds for the kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.checks.engine.command import NAME, Command, run
from envkit.checks.engine.managers import managed_by
from envkit.checks.engine.remedies import families, families_of_kernel, steps_for
from envkit.checks.gpu.module_flavors import needs_open
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix

_LINE = regex(r"\d{1,2}\.\d{1,2}")
_WORDS = {  # family and whether NVIDIA has ended the branch: what the commands do there
    ("arch", True): (
        " NVIDIA no longer adapts {branch} to new kernels, but the packages in the AUR are patched for them: the "
        "commands build their newest release. Pacman does not keep the previous kernel. If the newest release does not "
        "build yet either, install a long-term kernel (sudo pacman -S --needed linux-lts linux-lts-headers) and "
        "choose it in the boot menu."
    ),
    ("arch", False): " Upgrade the whole system, never the driver alone: that brings the matching driver.",
    ("void", True): (
        " Void patches {branch} for newer kernels: the first command brings the newest package, the second builds the "
        "module. If that fails, keep booting the older kernel, which Void leaves installed."
    ),
    ("void", False): " The first command brings the newest driver package, the second builds the module.",
    ("debian", True): " The distribution patches its packages for newer kernels: the commands install the newest one.",
    ("debian", False): (
        " Point releases of Debian bring newer releases of the driver: the commands install the newest one and finish "
        "its configuration. If that release is the one that fails, install nvidia-driver from backports."
    ),
    ("ubuntu", True): (
        " The distribution patches its packages of {branch} for newer kernels: the commands install the newest one and "
        "finish its configuration. If it fails in the same way, keep the older kernel."
    ),
}
_OTHERWISE = " Install the driver from this distribution's own packages, whose installation builds the module again."


def family_of(environment: Environment, kernel: str) -> str:
    """The family of distributions whose packages the text or the kernel's name shows, '' where none does."""
    own = families(environment) or families_of_kernel(kernel)
    if own:
        return own[0]
    return "debian" if managed_by(environment, "debian") else "ubuntu" if managed_by(environment, "apt") else ""


def from_packages(
    environment: Environment, matrix: Matrix, branch: int, kernel: str, *, ended: bool
) -> tuple[str, tuple[Command, ...]]:
    """What to say of the distribution's packages of `branch`, and the commands that install the newest one."""
    family = family_of(environment, kernel)
    words = _WORDS.get((family, ended))
    if words is not None:
        given = steps_for(family, "driver-legacy" if ended else "driver-of-system", branch=branch)
        return words.format(branch=branch), (*given, *_built_again(family, kernel))
    if not branch or not family:
        return _OTHERWISE, ()
    own = steps_for(family, "driver-open" if needs_open(environment, matrix) else "driver-newer", branch=branch)
    return ("" if own else _OTHERWISE), own


def _built_again(family: str, kernel: str) -> tuple[Command, ...]:
    """What runs DKMS for a kernel that is installed already, where a newer driver package does not."""
    line = _LINE.match(kernel)
    if family != "void" or line is None:
        return ()
    return (run("sudo", "xbps-reconfigure", "-f", NAME(f"linux{line.group()}")),)
