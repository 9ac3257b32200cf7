"""The family of checks that rest on one answer of NVML, or on a message that says the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.checks.engine.evidence import known
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Outcome, ok, skip, unknown
from envkit.checks.engine.registry import Layer, check
from envkit.checks.nvidia_driver.driver_state import answered, nvml_asked
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix


_ANY_OF = ("driver.nvml", "driver.nvidia_smi", "kernel.log", "messages")


def nvml_fault(
    fault: Fault,
    code: str,
    *,
    warning: str,
    doc: str,
    layer: Layer,
    rank: int,
    references: tuple[str, ...],
    explained_by: tuple[str, ...] = (),
) -> None:
    """Register the check that finds `fault` where NVML answers `code`, or a message describes it.

    `warning` is what the driver would give. Only one that answers without an error gives it: after another error,
    nothing is known.
    """

    def run(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
        nvml = environment.driver.nvml
        if reported := fault.reported(environment, answered(environment, "nvml", code)):
            yield reported
        elif nvml.known and nvml.get().code == 0:
            words = f"the input contains no {warning}" if environment.pasted else f"the driver gives no {warning}"
            yield ok(words, evidence=[known(environment, "driver.nvml")])
        elif nvml_asked(environment):
            yield unknown(
                "the driver's error hides what these checks look for", evidence=[known(environment, "driver.nvml")]
            )
        elif nvml.known or nvml.absent:
            yield skip("there is no driver to query")

    run.__doc__ = doc
    declared = check(
        fault, layer=layer, rank=rank, tier="N", any_of=_ANY_OF, explained_by=explained_by, references=references
    )
    declared(run)
