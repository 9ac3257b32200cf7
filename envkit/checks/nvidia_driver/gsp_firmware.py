"""The firmware of the GPU's system processor (GSP), which the driver's modules load from the disk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.checks.engine.evidence import known
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Outcome, Remedy, ok
from envkit.checks.engine.managers import appliance
from envkit.checks.engine.messages import message_evidence, named, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import remedy
from envkit.checks.nvidia_driver.reload import OSTREE
from envkit.checks.nvidia_driver.xid import all_back, log_unread
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix


def _reinstall(environment: Environment, matrix: Matrix) -> Remedy:
    if appliance(environment) == "ostree":
        return OSTREE
    version = named(seen(environment, "gsp-firmware-missing"), "version")
    if version is None:
        return Remedy("Reinstall the driver, with all of its packages, and reboot.")
    return remedy(
        environment,
        f"Reinstall the driver's firmware package in the same version as its module ({version}), and reboot. If its "
        f"files are already in /lib/firmware/nvidia/{version}, rebuild the initramfs, because it does not contain "
        "them.",
        "gsp-firmware",
        "reboot",
        version=version,
        branch=version.partition(".")[0],
    )


_MISSING = Fault(
    "gsp-firmware-missing",
    "The driver cannot load its GSP firmware",
    impact="The driver does not initialize the GPU: nvidia-smi finds no devices.",
    remedy=_reinstall,
)


@check(
    _MISSING,
    layer=Layer.KERNEL_MODULE,
    rank=64,
    tier="L",
    any_of=("kernel.log", "messages"),
    explained_by=("gpu-fallen-off-bus", "gpu-bound-to-vfio"),
    fix="Reinstall the version of the driver's firmware package that matches the module.",
    references=threads("NVIDIA/open-gpu-kernel-modules#639", "NVIDIA/open-gpu-kernel-modules#943"),
)
def gsp_firmware_missing(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The driver finds the firmware of the GPU's system processor (GSP) in its own version.

    The modules load gsp_*.bin from /lib/firmware/nvidia/VERSION. Without it "RmInitAdapter failed" follows, and
    nvidia-smi finds no devices. A message from the initramfs alone is harmless: the file is found later.
    """
    messages = seen(environment, _MISSING.id)
    if messages and not all_back(environment, matrix):
        yield _MISSING.found(message_evidence(environment, messages))
    elif environment.kernel.log.known or messages:
        title = (
            "every GPU works, so GSP firmware was found later"
            if messages
            else "no GSP firmware errors in the kernel log"
        )
        yield ok(title, evidence=[known(environment, "kernel.log", "no firmware missing")])
    else:
        yield log_unread(environment)
