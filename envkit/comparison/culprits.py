"""Which findings are new, which are gone, and which change is most likely behind what is new.

A change is a culprit of a finding where the finding names its fact as evidence, or its check reads that fact; where a
fact holds many things (packages, variables), the finding has to name the thing. Causes come before symptoms; where a
finding rests on symptoms alone, what makes such symptoms is its culprit.

A finding of one side that the other side could neither find nor rule out did not come or go: nobody looked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.checks.engine.findings import Finding, Status
from envkit.checks.engine.registry import Check
from envkit.comparison.changes import Change, compared
from envkit.comparison.items import PRESENT, unmasked
from envkit.model import Environment

_TROUBLE = (Status.FAIL, Status.WARN)
_NO_ANSWER = (Status.UNKNOWN, Status.ERROR)
# What makes symptoms, by the beginning of their facts: the driver answers otherwise after another kernel or package.
_BEHIND = {
    "driver.": ("pci_gpus", "system.kernel", "system.secure_boot", "system.lockdown", "kernel", "driver", "packages"),
    "kernel.": ("system.kernel", "system.secure_boot", "system.lockdown", "kernel", "packages"),
    "pythons.": ("pythons.distributions",),
}
_OF_MANY = ("pythons", "packages", "variables", "kernel.cmdline", "kernel.modprobe_options", "driver.params")
_WORD = regex(r"[^\s()\[\],;'\"]+")
_EVIDENCE, _RELATED, _READ = 4, 3, 1  # how much a finding has to do with a fact
_NAMED = 2  # the finding names the thing, or the new value


@record
class Culprit:
    """A change, and the ids of the new findings that it explains, the root cause first."""

    change: Change
    explains: tuple[str, ...]


@record
class Difference:
    """The answer: changes in the order in which they are worth a look, and the findings that came and went.

    `not_judged` are the findings of the old side of which the new one does not tell whether they are still there;
    `not_judged_before` the ids of new findings that the old side had no answer to.
    """

    culprits: tuple[Culprit, ...]
    others: tuple[Change, ...]
    new: tuple[Finding, ...]
    gone: tuple[Finding, ...]
    not_compared: tuple[str, ...]
    not_judged: tuple[Finding, ...] = ()
    not_judged_before: frozenset[str] = frozenset()

    @property
    def worse(self) -> bool:
        """Whether something fails now that did not."""
        return any(finding.status is Status.FAIL for finding in self.new)


Judged = tuple[Environment, Sequence[Finding]]


def difference(old: Judged, new: Judged, checks: Mapping[str, Check]) -> Difference:
    """What came between the two, judged by the same checks."""
    comparison = compared(old[0], new[0])
    came = _came(old[1], new[1])
    told = [_Told(finding, checks.get(finding.id)) for finding in came]
    ranked = []
    others = []
    weights = _weights(told, comparison.changes)
    for place, change in enumerate(comparison.changes):
        explained = [(index, weights[index, place]) for index in range(len(told)) if (index, place) in weights]
        if explained:
            first, weight = explained[0]
            ids = dict.fromkeys(told[index].finding.id for index, _ in explained)
            ranked.append(((first, change.symptom, -weight, place), Culprit(change, tuple(ids))))
        else:
            others.append(change)
    culprits = tuple(culprit for _, culprit in sorted(ranked, key=lambda pair: pair[0]))
    left = _left(old[1], new[1])
    now, before = _answered(new[1]), _answered(old[1])
    return Difference(
        culprits,
        tuple(others),
        came,
        tuple(finding for finding in left if finding.id in now),
        comparison.not_compared,
        tuple(finding for finding in left if finding.id not in now),
        frozenset(finding.id for finding in came) - before,
    )


def _weights(told: Sequence[_Told], changes: Sequence[Change]) -> dict[tuple[int, int], int]:
    """How likely each change is after each finding, by their places; pairs that have nothing to do with each other
    are left out.

    What is after the symptoms of a finding counts 0 where no cause was found by what the finding itself tells.
    """
    weights: dict[tuple[int, int], int] = {}
    for index, finding in enumerate(told):
        own = {place: weight for place, change in enumerate(changes) if (weight := finding.weight(change))}
        symptoms = [changes[place].fact for place in own if changes[place].symptom]
        if symptoms and len(symptoms) == len(own) and finding.finding.because_of is None:
            starts = (start for start in _BEHIND if any(fact.startswith(start) for fact in symptoms))
            behind = tuple(begin for start in starts for begin in _BEHIND[start])
            causes = (place for place, change in enumerate(changes) if not change.symptom and place not in own)
            own |= {place: 0 for place in causes if changes[place].fact.startswith(behind)}
        weights.update({(index, place): weight for place, weight in own.items()})
    return weights


class _Told:
    """A finding with the words that it uses and the facts that it rests on."""

    def __init__(self, finding: Finding, check: Check | None) -> None:
        self.finding = finding
        self._shown = [item.fact.partition("[")[0] for item in finding.evidence]
        self._read = (*check.needs, *check.any_of) if check else ()
        texts = [finding.title, finding.subject, *(f"{item.fact} {item.value}" for item in finding.evidence)]
        self._text = unmasked("\n".join(texts))
        self._subject = frozenset(_WORD.findall(unmasked(finding.subject)))
        self._words = frozenset(word.strip(":") for word in _WORD.findall(self._text))

    def weight(self, change: Change) -> int:
        """How likely the change is after the finding; 0: nothing says so."""
        name, value = unmasked(change.name), unmasked(change.new or change.old or "")
        of_many = change.fact.startswith(_OF_MANY)
        named = bool(name) and self._names(name)
        if of_many and not named:
            return 0
        known_by_name = named and (change.fact == "variables" or name in self._subject)
        weight = max(self._weight_of(change.fact), _RELATED if known_by_name else 0)
        return weight and weight + _NAMED * named + _NAMED * (value != PRESENT and value in self._words)

    def _names(self, name: str) -> bool:
        return name in self._words or any(word.startswith(f"{name}=") for word in self._words)

    def _weight_of(self, path: str) -> int:
        if path in self._shown:
            return _EVIDENCE
        if any(_within(path, shown) or _within(shown, path) for shown in self._shown):
            return _RELATED
        return _READ if any(path == read or _within(path, read) for read in self._read) else 0


def _within(path: str, other: str) -> bool:
    """Whether the first lies in the second, or next to it in one list: `pythons.distributions`,
    `pythons.frameworks`."""
    root = other.partition(".")[0]
    return path.startswith(f"{other}.") or (root in _OF_MANY and path.partition(".")[0] == root)


def _came(old: Iterable[Finding], new: Iterable[Finding]) -> tuple[Finding, ...]:
    """The troubles that were not there, or were not as bad."""
    before = {_key(finding): finding.status for finding in old}
    return tuple(
        finding
        for finding in new
        if finding.status in _TROUBLE and before.get(_key(finding)) not in (finding.status, Status.FAIL)
    )


def _left(old: Iterable[Finding], new: Iterable[Finding]) -> tuple[Finding, ...]:
    """The troubles of the old side that the new one does not have."""
    left = {_key(finding) for finding in new if finding.status in _TROUBLE}
    return tuple(finding for finding in old if finding.status in _TROUBLE and _key(finding) not in left)


def _answered(findings: Iterable[Finding]) -> frozenset[str]:
    """The ids of the checks that had an answer."""
    return frozenset(finding.id for finding in findings if finding.status not in _NO_ANSWER)


def _key(finding: Finding) -> tuple[str, str]:
    return finding.id, unmasked(finding.subject)
