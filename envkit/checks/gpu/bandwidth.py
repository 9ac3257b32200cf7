"""Measured copies (`--deep`) against what the link between host and GPU can carry."""

from __future__ import annotations

from collections.abc import Mapping

from envkit.base.kept import kept
from envkit.base.pci import pci_address
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, ok
from envkit.checks.engine.remedies import remedy
from envkit.checks.gpu.gpus import SeenGpu
from envkit.model import Environment, Measurement
from envkit.tables.codes import gigabytes_per_second

_SHOWN = 8  # copies of one GPU; --deep makes one of each kind
_COPIES = ("copy-to-device", "copy-to-host")
_HEALTHY_SHARE = 0.6  # pinned copies reach 67 to 87 % of the wire figure on healthy links, 57 % is the least reported


def measured_copies(
    environment: Environment, fault: Fault, gpu: SeenGpu, generation: int, lanes: int
) -> Outcome | None:
    """What this GPU's copies say of a link that could run at `generation` with `lanes`; None without copies."""
    wire = gigabytes_per_second(generation, lanes)
    copies = _copies(environment, gpu)
    if wire is None or not copies:
        return None
    evidence = [
        Evidence("measurements", f"{copy.name} {copy.subject}: {copy.value} {copy.unit} ({copy.detail})", "--deep")
        for copy in copies
    ]
    slowest = min(copy.value or 0.0 for copy in copies)
    words = f"{slowest:.1f} of the {wire:.1f} GB/s that PCIe Gen{generation} x{lanes} can carry"
    if slowest >= wire * _HEALTHY_SHARE:
        return ok(f"{gpu.title}: copies reach {words}", subject=gpu.subject, evidence=evidence)
    return fault.found(
        evidence,
        title=f"{gpu.title}: copies reach only {words}",
        subject=gpu.subject,
        impact="Transfers between host and GPU take longer than they should.",
        remedy=remedy(
            environment,
            "Watch the link while copies run. If the link is slow, set the slot's PCIe generation to Auto in the "
            "firmware, remove the riser, and bind the program to the CPU next to the GPU.",
            "link-under-load",
        ),
    )


def _copies(environment: Environment, gpu: SeenGpu) -> list[Measurement]:
    return _copies_by_address(environment).get(pci_address(gpu.address), [])[:_SHOWN]


@kept
def _copies_by_address(environment: Environment) -> Mapping[str, list[Measurement]]:
    found: dict[str, list[Measurement]] = {}
    for item in environment.measurements.value or ():
        if item.name in _COPIES and item.value is not None:
            found.setdefault(pci_address(item.subject), []).append(item)
    return found
