"""The smallest change of a Dockerfile that leaves its check fewer errors: tried, and checked again, step by step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from envkit._startup.records import record
from envkit.checks.containers import image_faults
from envkit.checks.engine.findings import Finding, Status
from envkit.dockerfile.repairs import repairs_of
from envkit.dockerfile.repairs_base import REPLACED, WITH, arguments_idle

if TYPE_CHECKING:
    from envkit.tables import Matrix

_STEPS = 12  # faults that are put right in one file

Check = Callable[[str], Sequence[Finding]]

_REPAIRED = frozenset({image_faults.DRIVER_INSIDE.id})  # warnings that are no matter of taste
# What takes the GPU from a framework: no repair may end in one, be it a warning.
_WITHOUT_GPU = frozenset(
    one.id
    for one in (
        image_faults.CPU_BUILD,
        image_faults.CUDA_MISSING,
        image_faults.CUDNN_DIFFERS,
        image_faults.CUDNN_MISSING,
        image_faults.FRAMEWORK_FOR_OTHER_CUDA,
        image_faults.GPU_HIDDEN,
        image_faults.GPU_WITHOUT_CODE,
    )
)


@record
class DockerfileChange:
    """The changed text, what of it is other, and the errors that its check still finds."""

    text: str
    told: tuple[str, ...]
    left: tuple[Finding, ...]


def change_for(text: str, found: Sequence[Finding], check: Check, matrix: Matrix) -> DockerfileChange | None:
    """The text, in which the check has `found` that, with as few errors as the known repairs leave; None if not fewer.

    Raises SourceError for a text that is not a Dockerfile.
    """
    findings, told, seen = tuple(found), list[str](), {text}
    before, lines = len(_errors(findings)), text.splitlines()
    best: DockerfileChange | None = None
    for _ in range(_STEPS):
        step = _step(text, findings, check, matrix, seen)
        if step is None:
            break
        text, findings, said = step
        told = [*_without_passing(told, said)]
        left = tuple(_errors(findings))
        if len(left) < (before if best is None else len(best.left)):
            best = DockerfileChange(text, (*told, *arguments_idle(lines, text.splitlines())), left)
    return best


def _without_passing(told: Sequence[str], said: str) -> Iterator[str]:
    """What was said before and now, without an image that has only been on the way to another."""
    old, _, new = said.removeprefix(REPLACED).partition(WITH)
    for one in told:
        first, replaced, middle = one.removeprefix(REPLACED).partition(WITH)
        if not (replaced and new and middle == old):
            yield one
        else:
            said = f"{REPLACED}{first}{WITH}{new}"
    yield said


def _step(
    text: str, findings: Sequence[Finding], check: Check, matrix: Matrix, seen: set[str]
) -> tuple[str, tuple[Finding, ...], str] | None:
    """The first repair that leaves fewer errors, otherwise the first that exchanges one; None where none helps.

    `seen` are the texts that were checked.
    """
    exchange = None
    for fault in _errors(findings):
        for tried in repairs_of(text, fault, matrix):
            if tried.text in seen:
                continue
            seen.add(tried.text)
            after = tuple(check(tried.text))
            if not _helps(fault, findings, after):
                continue
            step = tried.text, after, tried.told
            if len(_errors(after)) < len(_errors(findings)):
                return step
            exchange = exchange or step
    return exchange


def _helps(fault: Finding, before: Iterable[Finding], after: Iterable[Finding]) -> bool:
    """Whether the fault is gone and at most one has come in its place: after one a build may meet another.

    A framework that has its GPU keeps it.
    """
    before, after = tuple(before), tuple(after)
    errors_before, errors_after = _errors(before), _errors(after)
    gone = _count(errors_after, fault) < _count(errors_before, fault)
    return gone and len(errors_after) <= len(errors_before) and _warned(after) <= _warned(before)


def _warned(findings: Iterable[Finding]) -> int:
    """How many warnings say that a framework does not use the GPU."""
    return sum(one.status is Status.WARN and one.id in _WITHOUT_GPU for one in findings)


def _errors(findings: Iterable[Finding]) -> list[Finding]:
    """The errors, and the warnings that are repaired with them."""
    return [one for one in findings if one.status is Status.FAIL or (one.status is Status.WARN and one.id in _REPAIRED)]


def _count(findings: Iterable[Finding], fault: Finding) -> int:
    """How many say the same of the same words, on whichever line these are then."""
    return sum((one.id, one.title, _words(one)) == (fault.id, fault.title, _words(fault)) for one in findings)


def _words(finding: Finding) -> str:
    return finding.subject.partition(": ")[2]
