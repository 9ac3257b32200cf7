"""A trait tells what a person means by it, and a failing check explains it only where it rests on the same field."""

from __future__ import annotations

import pytest

from envkit.fleet.traits import KEYS, explanations, traits_of
from tests.fakes.machines import load_machine


@pytest.mark.parametrize(
    ("machine", "key", "value"),
    [
        ("ubuntu22.04-8xh100-550", "gpu_count", "8"),
        ("ubuntu22.04-8xh100-silent-loss", "gpu_count", "7"),
        ("ubuntu22.04-8xh100-lost-gpu", "gpu_count", "7"),
        ("ubuntu22.04-rtx3090-mismatch", "gpu_count", "1"),  # the driver does not answer; the bus does
        ("ubuntu22.04-8xh100-550", "fabric_manager_state", "running"),
        ("ubuntu22.04-8xh100-no-fabric-manager", "fabric_manager_state", "installed"),
    ],
)
def test_what_a_machine_lost_shows(machine: str, key: str, value: str) -> None:
    assert traits_of(load_machine(machine))[key] == value


@pytest.mark.parametrize(
    ("evidence", "traits"),
    [
        ("gpus[0].compute_mode", {"compute_mode"}),
        ("gpus[0].mig_instances", {"mig"}),
        ("gpus[3].error", {"gpu_count"}),
        ("gpus.compute_capability", set()),
        ("pci_gpus", {"gpu_count"}),
        ("pci_gpus[0000:c3:00.0].driver", set()),
        ("pythons.frameworks[pytorch].cuda", {"frameworks"}),
        ("pythons.shadowing_modules", set()),
        ("driver.kernel_module", {"driver"}),
        ("system.kernel", {"kernel"}),
    ],
)
def test_a_check_explains_what_it_rests_on(evidence: str, traits: set[str]) -> None:
    assert explanations({evidence: "x"}) == dict.fromkeys(traits, "x")
    assert traits <= set(KEYS)
