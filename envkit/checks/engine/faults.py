"""What can be wrong, declared once: title, impact, remedy and severity of a fault, for facts and for messages alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from envkit._startup.records import record, replace
from envkit.base.pci import pci_address
from envkit.checks.engine.command import Command
from envkit.checks.engine.findings import Evidence, Outcome, Remedy, Status
from envkit.checks.engine.messages import message_evidence, seen, subject_of
from envkit.checks.engine.remedies import remedy
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix


_GPU = "GPU "


def _of_gpu(subject: str) -> dict[str, object]:
    """The blank `index` of a GPU that is reported by its address alone: nvidia-smi takes either."""
    address = pci_address(subject.removeprefix(_GPU)) if subject.startswith(_GPU) else None
    return {"index": address} if address else {}


@record
class Fault:
    """A fault that a check looks for. What the check yields holds evidence, the runner adds the words from here.

    The remedy is a sentence, with the `actions` of `remedies.csv` or the `steps` that carry it out. It is a function
    where it depends on the machine.
    """

    id: str  # of the check, and of its messages in signatures.csv
    title: str
    impact: str
    remedy: str | Callable[[Environment, Matrix], Remedy]
    actions: tuple[str, ...] = ()
    steps: tuple[Command, ...] = ()
    status: Status = Status.FAIL

    def found(
        self,
        evidence: Iterable[Evidence],
        *,
        title: str = "",
        subject: str = "",
        impact: str = "",
        remedy: Remedy | None = None,
        status: Status | None = None,
        **blanks: object,
    ) -> Outcome:
        """The fault, shown by `evidence`. What is given here is in place of the declared words.

        `blanks` are those of the actions' commands.
        """
        return Outcome(
            status or self.status,
            title,
            subject,
            tuple(evidence),
            impact,
            remedy,
            fault=self,
            blanks=tuple(blanks.items()),
        )

    def reported(
        self,
        environment: Environment,
        evidence: Iterable[Evidence] = (),
        *,
        title: str = "",
        impact: str = "",
        remedy: Remedy | None = None,
        status: Status | None = None,
        **blanks: object,
    ) -> Outcome | None:
        """The fault as error codes (`evidence`) or messages tell it, None where neither does.

        The runner asks this by itself where the facts leave a check without an answer.
        """
        messages = seen(environment, self.id)
        shown = (*evidence, *message_evidence(environment, messages))
        if not shown:
            return None
        subject = subject_of(messages)
        return self.found(shown, title=title, subject=subject, impact=impact, remedy=remedy, status=status, **blanks)

    def completed(self, outcome: Outcome, environment: Environment, matrix: Matrix) -> Outcome:
        """`outcome` with the declared words where it has none of its own."""
        return replace(
            outcome,
            title=outcome.title or self.title,
            impact=outcome.impact or self.impact,
            remedy=outcome.remedy or self._remedy(environment, matrix, _of_gpu(outcome.subject) | dict(outcome.blanks)),
        )

    def _remedy(self, environment: Environment, matrix: Matrix, blanks: dict[str, object]) -> Remedy:
        if callable(self.remedy):
            return self.remedy(environment, matrix)
        if self.steps:
            return Remedy(self.remedy, self.steps)
        return remedy(environment, self.remedy, *self.actions, **blanks)
