"""Facts as evidence, and the questions about a place that many checks ask first."""

from __future__ import annotations

from envkit.checks.findings import Evidence, Outcome, ok, unknown
from envkit.checks.runner import fact
from envkit.facts import Environment, MachineKind

_NO_OWN_DRIVER = (MachineKind.CONTAINER, MachineKind.WSL1, MachineKind.WSL2)
_NO_PCI_GPU = (*_NO_OWN_DRIVER, MachineKind.JETSON)


def known(environment: Environment, path: str, value: str | None = None) -> Evidence:
    """The fact at `path` as evidence: its value (or the shorter `value`), or why there is none, and its source."""
    observed = fact(environment, path)
    if value is None:
        value = _words(observed.value) if observed.problem is None else observed.problem.value
    return Evidence(path, value, observed.source)


def no_fault(environment: Environment, title: str, *paths: str, subject: str = "") -> Outcome:
    """Healthy as far as `paths` tell; unknown, naming the first of them that nobody could look at."""
    for path in paths:
        observed = fact(environment, path)
        if not observed.known and not observed.absent:
            words = f"not checked: {path} {observed.problem.value if observed.problem else ''}".rstrip()
            return unknown(words, subject=subject, evidence=[known(environment, path)])
    return ok(title, subject=subject, evidence=[known(environment, path) for path in paths[:3]])


def kind(environment: Environment) -> MachineKind | None:
    """Where the environment is: metal, VM, container …; None when nobody could tell."""
    return environment.system.machine_kind.value if environment.system.machine_kind.known else None


def driver_lives_elsewhere(environment: Environment) -> bool:
    """True in a container or WSL: kernel module and device nodes belong to the host, not to this place."""
    return kind(environment) in _NO_OWN_DRIVER


def no_pci_expected(environment: Environment) -> bool:
    """True where an NVIDIA GPU does not show on PCI although it works: container, WSL, Jetson."""
    return kind(environment) in _NO_PCI_GPU


def is_virtual(environment: Environment) -> bool:
    """True in a virtual machine, whose PCI ports and IOMMU tell nothing about the hardware."""
    return kind(environment) is MachineKind.VM


def _words(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (tuple, list)):
        return ", ".join(_words(item) for item in value) or "none"
    return str(value)
