"""The family of checks that nothing but a program's own message can answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from envkit.checks.engine.evidence import known, passed
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import ONLY_TOLD, Outcome, ok, skip
from envkit.checks.engine.messages import message_evidence, seen
from envkit.checks.engine.registry import Layer, check
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix


def told_by_program(
    fault: Fault,
    *,
    doc: str,
    rank: int,
    references: tuple[str, ...],
    fix: str = "",
    symptom: bool = False,
    explained_by: tuple[str, ...] = (),
    of_missing_gpu: bool = False,
    past: Callable[[Environment, Matrix], str] = lambda environment, matrix: "",
) -> None:
    """Register the check that finds `fault` where a program's message describes it; a program that ran clears it.

    `fix` is what `explain` says where the remedy depends on the machine. `past` says in words why the message is of a
    program that ended long ago and of no fault of the machine, '' where it may be what the text is about.
    """

    def run(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
        if (messages := seen(environment, fault.id)) and (why := past(environment, matrix)):
            yield ok(why, evidence=message_evidence(environment, messages))
        elif reported := fault.reported(environment):
            yield reported
        elif passed(environment, "kernel"):
            yield ok("a framework computed on the GPU", evidence=[known(environment, "measurements", "kernel")])
        else:
            yield skip(ONLY_TOLD)

    run.__doc__ = doc
    declared = check(
        fault,
        layer=Layer.PROGRAM,
        rank=rank,
        fix=fix,
        symptom=symptom,
        explained_by=explained_by,
        of_missing_gpu=of_missing_gpu,
        references=references,
    )
    declared(run)
