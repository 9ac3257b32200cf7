"""Runs checks over an environment: meets their needs, isolates a crash, and orders findings by root cause."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from envkit._startup.records import replace
from envkit._startup.regex import regex
from envkit.base.pci import ADDRESS as PCI_ADDRESS
from envkit.checks.engine.command import Command
from envkit.checks.engine.confidence import weighed
from envkit.checks.engine.evidence import (
    in_words,
    known,
    managed_elsewhere,
    named_fact,
    not_looked,
    unseen,
    without_gpu,
)
from envkit.checks.engine.findings import Evidence, Finding, Outcome, Status
from envkit.checks.engine.likened import likened
from envkit.checks.engine.messages import all_messages, by_messages, complained
from envkit.checks.engine.proof import proven
from envkit.checks.engine.registry import Check, Layer
from envkit.checks.engine.remedies import in_order, on_windows, without_linux
from envkit.checks.engine.suited import installs_of, suited
from envkit.model import Environment, Observed, Problem
from envkit.model.paths import fact

if TYPE_CHECKING:
    from envkit.tables import Matrix

T = TypeVar("T")

ADDRESS = regex(r"https?://[^\s<>\"]+")
_GPU = regex(rf"GPU {PCI_ADDRESS}")  # the subject of a finding on one GPU
_OF_LINUX_HOST = ("passthrough-blocked", "vgpu-not-started")  # where Windows, if any, is the guest
_ORDER = [Status.FAIL, Status.WARN, Status.ERROR, Status.UNKNOWN, Status.OK, Status.SKIP]
_WORDS = {
    Problem.ABSENT: "not found",
    Problem.DENIED: "not readable by this user",
    Problem.UNPARSABLE: "not understood",
    Problem.TIMED_OUT: "did not answer in time",
}


def run_checks(environment: Environment, matrix: Matrix, checks: Iterable[Check]) -> list[Finding]:
    """The findings of `checks` in root-cause order: the first `fail` is the answer to "what is wrong?"."""
    declared = {check.id: check for check in checks}
    answers = (finding for check in declared.values() for finding in _findings(check, environment, matrix))
    findings = [proven(environment, finding) for finding in answers]
    findings = _excused(findings, declared)
    if environment.pasted and not complained(environment):
        findings = [_unbuilt(each) if declared[each.id].of_builds else each for each in findings]
        findings = [_meant(environment, each) if declared[each.id].of_missing_gpu else each for each in findings]
    failed = [finding for finding in findings if finding.status is Status.FAIL]
    warned = [finding.id for finding in findings if finding.status is Status.WARN]
    hides = [finding for finding in failed if not declared[finding.id].spares_gpu]
    linked = [
        _link(environment, finding, own, hides if own.of_missing_gpu else failed, warned)
        for finding in weighed(environment, findings)
        for own in (declared[finding.id],)
    ]
    linked = likened(environment, linked, declared)

    def key(finding: Finding) -> tuple[int, bool, int, int]:
        check = declared[finding.id]
        return (_ORDER.index(finding.status), finding.because_of is not None, check.layer, check.rank)

    return _once(sorted(linked, key=key))


def _once(findings: list[Finding]) -> list[Finding]:
    """Without a later remedy that installs what an earlier one installs already: in another release, it undoes that."""
    installed: dict[str, set[tuple[str, str]]] = {}
    answer = []
    for finding in findings:
        names = installs_of(finding.remedy) if finding.status in (Status.FAIL, Status.WARN) else set()
        cause = next((id for id, earlier in installed.items() if names and names <= earlier and id != finding.id), "")
        answer.append(replace(finding, because_of=cause, remedy=None) if cause else finding)
        if names and not cause:
            installed.setdefault(finding.id, names)
    return answer


def _excused(findings: list[Finding], declared: Mapping[str, Check]) -> list[Finding]:
    """The findings, of which none fails whose cause is no failure: a CPU build is what a Mac needs.

    A symptom of it is no finding of its own either.
    """
    causes = {each.id for each in findings if each.status is Status.WARN and declared[each.id].excuses}
    if not causes:
        return findings
    return [_excused_by(causes, each, declared[each.id]) for each in findings]


def _excused_by(causes: set[str], finding: Finding, check: Check) -> Finding:
    of_nvidia = check.layer is Layer.HEALTH or check.of_cuda_alone
    told = of_nvidia and by_messages(finding.evidence)  # of a GPU that is not NVIDIA's
    follows = check.symptom or told
    cause = next((id for id in causes if id in check.explained_by or (follows and id != check.id)), None)
    if finding.status not in ((Status.FAIL, Status.WARN) if follows else (Status.FAIL,)) or cause is None:
        return finding
    return replace(finding, status=Status.WARN, because_of=cause, remedy=None)


def _unbuilt(finding: Finding) -> Finding:
    """What only a build would run into, where the text states no failure: most who show an nvcc never call it."""
    if finding.status not in (Status.FAIL, Status.WARN) or by_messages(finding.evidence):
        return finding
    title = f"only builds would notice: {finding.title}"
    return replace(finding, status=Status.SKIP, title=title, impact="", remedy=None)


def _meant(environment: Environment, finding: Finding) -> Finding:
    """That a machine has no GPU, where whoever shows it says that it is to have none."""
    if finding.status not in (Status.FAIL, Status.WARN) or not environment.system.meant_without_gpu.known:
        return finding
    evidence = (*finding.evidence, known(environment, "system.meant_without_gpu"))
    title = "there is no GPU here, on purpose"
    return replace(finding, status=Status.OK, title=title, evidence=evidence, impact="", remedy=None)


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


def _link(
    environment: Environment, finding: Finding, check: Check, failures: Sequence[Finding], warned: Sequence[str]
) -> Finding:
    """The finding with its cause where one failed: it goes away with that one, and has no remedy of its own.

    A symptom has one that only warned, too. Another finding gets its remedy as this place needs it.
    """
    judged = finding.status in (Status.FAIL, Status.WARN, Status.UNKNOWN)
    failed = [each.id for each in failures if check.between_gpus or not _of_another_gpu(finding, each)]
    causes = failed if check.symptom else [id for id in check.explained_by if id in failed]
    if check.symptom and finding.status is Status.WARN:
        causes = [*causes, *(id for id in check.explained_by if id in warned)]
    cause = next((id for id in causes if judged and id != finding.id), None)
    if cause:
        return replace(finding, because_of=cause, remedy=None)
    if finding.remedy is None:
        return finding
    given = suited(environment, finding.remedy)
    windows = on_windows(environment) and finding.id not in _OF_LINUX_HOST
    return replace(finding, remedy=in_order(without_linux(given) if windows else given))


def _of_another_gpu(finding: Finding, other: Finding) -> bool:
    subjects = (finding.subject, other.subject)
    return finding.subject != other.subject and all(_GPU.fullmatch(subject) for subject in subjects)


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
    return [_finding(check, answer)] if isinstance(answer, Outcome) else answer


def _answered(check: Check, environment: Environment, matrix: Matrix) -> list[Finding]:
    outcomes = [
        outcome.fault.completed(outcome, environment, matrix) if outcome.fault else outcome
        for outcome in _outcomes(check, environment, matrix)
    ]
    if any(outcome.status is Status.WARN for outcome in outcomes) and _complained_of(check, environment):
        outcomes = [replace(each, status=Status.FAIL) if each.status is Status.WARN else each for each in outcomes]
    findings = [_finding(check, outcome) for outcome in outcomes]
    if check.plugin:
        for finding in findings:
            _refuse_shape(finding)
    return findings


def _complained_of(check: Check, environment: Environment) -> bool:
    """Whether the text is about what the check only warns of: a message `id/complaint…` next to words that complain."""
    return any(message.signature.startswith(f"{check.id}/complaint") for message in all_messages(environment))


def _outcomes(check: Check, environment: Environment, matrix: Matrix) -> list[Outcome]:
    """What the check says; its messages where it has no answer, and why there is none where there are none either."""
    place = environment.system.machine_kind
    if place.known and place.get() in check.elsewhere:
        return [managed_elsewhere(environment)]
    if unmet := _unmet(check, environment):
        return [unmet]
    outcomes = _told_once(list(check.run(environment, matrix)))
    silent = all(outcome.status is Status.UNKNOWN for outcome in outcomes) and not check.weighs_messages
    if silent and check.fault is not None and (reported := check.fault.reported(environment)):
        return [reported]
    return outcomes or [_not_looked(check, environment)]


def _told_once(outcomes: list[Outcome]) -> list[Outcome]:
    """The outcomes without those that messages alone show where facts show the same fault: its line is evidence too."""
    failures = (one for one in outcomes if one.status is Status.FAIL and one.fault)
    shown = next((one for one in failures if not by_messages(one.evidence)), None)
    if shown is None:
        return outcomes
    told = [one for one in outcomes if one.fault is shown.fault and by_messages(one.evidence)]
    known = set(shown.evidence)
    lines = [item for one in told for item in one.evidence if item not in known]
    full = replace(shown, evidence=(*shown.evidence, *lines))
    left_out = {id(one) for one in told}
    return [full if one is shown else one for one in outcomes if id(one) not in left_out]


def _not_looked(check: Check, environment: Environment) -> Outcome:
    """Does not apply without a GPU, or where all that the check looks at is certainly absent; otherwise unknown."""
    paths = [path for path in (*check.needs, *check.any_of) if path != "messages"]
    seen = {path: fact(environment, path) for path in paths}
    unsure = next((path for path, found in seen.items() if not found.known and not found.absent), None)
    if unsure and not without_gpu(environment):
        return _missing(environment, unsure, seen[unsure])
    unknown = [path for path in paths if not seen[path].known]
    title = f"the available facts are not enough to decide this{_listed(unknown if seen else ['messages'])}"
    return not_looked(environment, title, *paths)


def _listed(paths: Iterable[str]) -> str:
    words = ", ".join(map(in_words, paths))
    return f" ({words})" if words else ""


def _refuse_shape(finding: Finding) -> None:
    """Raises TypeError for a plug-in's finding that renderers could not print."""
    steps = finding.remedy.steps if finding.remedy else ()
    seen = [text for item in finding.evidence for text in (item.fact, item.value, item.source)]
    texts = [finding.title, finding.subject, finding.impact, *seen, finding.remedy.advice if finding.remedy else ""]
    if not (isinstance(finding.status, Status) and all(isinstance(text, str) for text in texts) and finding.title):
        raise TypeError("a finding needs a status and texts")
    if finding.status is Status.FAIL and not finding.evidence:
        raise TypeError("a failure needs evidence")
    if not all(isinstance(step, Command) for step in steps):
        raise TypeError("the steps of a remedy must be commands")
    if not all(isinstance(address, str) and ADDRESS.fullmatch(address) for address in finding.references):
        raise TypeError("references must be URLs")


def _unmet(check: Check, environment: Environment) -> Outcome | None:
    for path in check.needs:
        observed = fact(environment, path)
        if not observed.known:
            return _missing(environment, path, observed)
    if check.any_of and not any(fact(environment, path).known for path in check.any_of):
        return _missing(environment, check.any_of[0], fact(environment, check.any_of[0]))
    return None


def _missing(environment: Environment, path: str, observed: Observed[object]) -> Outcome:
    problem = observed.problem or Problem.NOT_LOOKED
    status = Status.SKIP if problem is Problem.ABSENT else Status.UNKNOWN
    if problem is Problem.NOT_LOOKED:
        words = unseen(environment, named_fact(path))
    else:
        words = f"{in_words(path)} {_WORDS[problem]}"
    words += f" ({observed.detail})" if observed.detail else ""
    return Outcome(status, words, evidence=(Evidence(path, problem.value, observed.source),))


def _finding(check: Check, outcome: Outcome) -> Finding:
    looked = tuple(item for item in outcome.evidence if item.value != Problem.NOT_LOOKED.value)
    return Finding(
        check.id,
        outcome.status,
        outcome.title,
        outcome.subject,
        looked if outcome.status in (Status.FAIL, Status.WARN) else outcome.evidence,
        outcome.impact,
        outcome.remedy,
        outcome.references or check.references,
        plugin=check.plugin,
    )
