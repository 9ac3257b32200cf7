"""Runs checks over an environment: meets their needs, isolates a crash, and orders findings by root cause."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

from envkit._startup.records import replace
from envkit._startup.regex import regex
from envkit.checks.engine.command import Command
from envkit.checks.engine.confidence import weighed
from envkit.checks.engine.evidence import in_words, managed_elsewhere, not_looked, without_gpu
from envkit.checks.engine.findings import Evidence, Finding, Outcome, Status
from envkit.checks.engine.registry import Check
from envkit.checks.engine.remedies import in_order, on_windows, without_linux
from envkit.model import Environment, Observed, Problem
from envkit.model.paths import fact

if TYPE_CHECKING:
    from envkit.tables import Matrix

T = TypeVar("T")

ADDRESS = regex(r"https?://[^\s<>\"]+")
_ORDER = [Status.FAIL, Status.WARN, Status.ERROR, Status.UNKNOWN, Status.OK, Status.SKIP]
_WORDS = {
    Problem.ABSENT: "not found",
    Problem.DENIED: "not readable by this user",
    Problem.UNPARSABLE: "not understood",
    Problem.TIMED_OUT: "did not answer in time",
    Problem.NOT_LOOKED: "not probed",
}


def run_checks(environment: Environment, matrix: Matrix, checks: Iterable[Check]) -> list[Finding]:
    """The findings of `checks` in root-cause order: the first `fail` is the answer to "what is wrong?"."""
    order = {}
    findings: list[Finding] = []
    for position, check in enumerate(checks):
        order[check.id] = (check.layer, check.rank, position, check.explained_by)
        findings.extend(_findings(check, environment, matrix))
    failed = {finding.id for finding in findings if finding.status is Status.FAIL}
    linked = [_link(finding, order[finding.id][3], failed) for finding in weighed(environment, findings)]

    def key(finding: Finding) -> tuple[int, bool, int, int, int]:
        layer, rank, position, _ = order[finding.id]
        return (_ORDER.index(finding.status), finding.because_of is not None, layer, rank, position)

    return sorted(linked, key=key)


def summary(findings: Iterable[Finding]) -> dict[str, int]:
    """How many findings have each status, all six statuses present."""
    counts = {status.value: 0 for status in (Status.OK, Status.WARN, Status.FAIL, Status.SKIP)}
    counts |= {Status.UNKNOWN.value: 0, Status.ERROR.value: 0}
    for finding in findings:
        counts[finding.status.value] += 1
    return counts


def plugins_of(findings: Iterable[Finding]) -> list[str]:
    """Name and version of every plug-in whose checks were run."""
    return sorted({finding.plugin for finding in findings if finding.plugin})


def _link(finding: Finding, explained_by: tuple[str, ...], failed: set[str]) -> Finding:
    """The finding with its cause where one failed: it goes away with that one, and has no remedy of its own."""
    if finding.status not in (Status.FAIL, Status.WARN, Status.UNKNOWN):
        return finding
    cause = next((id for id in explained_by if id in failed and id != finding.id), None)
    if cause:
        return replace(finding, because_of=cause, remedy=None)
    return replace(finding, remedy=in_order(finding.remedy)) if finding.remedy else finding


def guarded(work: Callable[[], T]) -> T | Outcome:
    """What `work` answers, or that it broke."""
    try:
        return work()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a broken check or plug-in must not take the report down
        return broke(error)


def broke(error: BaseException) -> Outcome:
    """The outcome of a check that raised `error`."""
    return Outcome(Status.ERROR, f"internal error in this check: {type(error).__name__}: {error}")


def _findings(check: Check, environment: Environment, matrix: Matrix) -> list[Finding]:
    answer = guarded(lambda: _answered(check, environment, matrix))
    if isinstance(answer, Outcome):
        return [_finding(check, answer)]
    return [_for_windows(finding) for finding in answer] if on_windows(environment) else answer


def _answered(check: Check, environment: Environment, matrix: Matrix) -> list[Finding]:
    outcomes = [
        outcome.fault.completed(outcome, environment, matrix) if outcome.fault else outcome
        for outcome in _outcomes(check, environment, matrix)
    ]
    findings = [_finding(check, outcome) for outcome in outcomes]
    if check.plugin:
        for finding in findings:
            _refuse_shape(finding)
    return findings


def _outcomes(check: Check, environment: Environment, matrix: Matrix) -> list[Outcome]:
    """What the check says; its messages where it has no answer, and why there is none where there are none either."""
    place = environment.system.machine_kind
    if place.known and place.get() in check.elsewhere:
        return [managed_elsewhere(environment)]
    if unmet := _unmet(check, environment):
        return [unmet]
    outcomes = list(check.run(environment, matrix))
    silent = all(outcome.status is Status.UNKNOWN for outcome in outcomes) and not check.weighs_messages
    if silent and check.fault is not None and (reported := check.fault.reported(environment)):
        return [reported]
    return outcomes or [_not_looked(check, environment)]


def _not_looked(check: Check, environment: Environment) -> Outcome:
    """Does not apply without a GPU, or where all that the check looks at is certainly absent; otherwise unknown."""
    paths = [path for path in (*check.needs, *check.any_of) if path != "messages"]
    seen = {path: fact(environment, path) for path in paths}
    unsure = next((path for path, found in seen.items() if not found.known and not found.absent), None)
    if unsure and not without_gpu(environment):
        return _missing(unsure, seen[unsure])
    title = f"not checked: not found in {' or '.join(map(in_words, paths)) or 'these facts'}"
    return not_looked(environment, title, *paths)


def _refuse_shape(finding: Finding) -> None:
    """Raises TypeError for a plug-in's finding that renderers could not print."""
    steps = finding.remedy.steps if finding.remedy else ()
    seen = [text for item in finding.evidence for text in (item.fact, item.value, item.source)]
    texts = [finding.title, finding.subject, finding.impact, *seen, finding.remedy.advice if finding.remedy else ""]
    if not (isinstance(finding.status, Status) and all(isinstance(text, str) for text in texts) and finding.title):
        raise TypeError("a finding has a status and texts")
    if finding.status is Status.FAIL and not finding.evidence:
        raise TypeError("a failure has evidence")
    if not all(isinstance(step, Command) for step in steps):
        raise TypeError("the steps of a remedy are commands")
    if not all(isinstance(address, str) and ADDRESS.fullmatch(address) for address in finding.references):
        raise TypeError("references are addresses of the web")


def _for_windows(finding: Finding) -> Finding:
    return replace(finding, remedy=without_linux(finding.remedy)) if finding.remedy else finding


def _unmet(check: Check, environment: Environment) -> Outcome | None:
    for path in check.needs:
        observed = fact(environment, path)
        if not observed.known:
            return _missing(path, observed)
    if check.any_of and not any(fact(environment, path).known for path in check.any_of):
        return _missing(check.any_of[0], fact(environment, check.any_of[0]))
    return None


def _missing(path: str, observed: Observed[object]) -> Outcome:
    problem = observed.problem or Problem.NOT_LOOKED
    status = Status.SKIP if problem is Problem.ABSENT else Status.UNKNOWN
    words = f"{in_words(path)} {_WORDS[problem]}" + (f" ({observed.detail})" if observed.detail else "")
    return Outcome(status, words, evidence=(Evidence(path, problem.value, observed.source),))


def _finding(check: Check, outcome: Outcome) -> Finding:
    return Finding(
        check.id,
        outcome.status,
        outcome.title,
        outcome.subject,
        outcome.evidence,
        outcome.impact,
        outcome.remedy,
        outcome.references or check.references,
        plugin=check.plugin,
    )
