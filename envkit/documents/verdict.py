"""The answer in one record, the same in every report, and which findings a report then shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from envkit._startup.records import record, replace
from envkit.checks.engine.findings import Alternative, Confidence, Evidence, Finding, Status
from envkit.checks.engine.likened import is_likened, told_apart
from envkit.checks.engine.messages import all_messages, complained, message_evidence
from envkit.checks.engine.registry import Layer, all_checks
from envkit.checks.engine.runner import summary
from envkit.documents.verdict_ask import commands_to_paste
from envkit.model import COMPLAINT, OTHER_MAKER, READS_LIKE, Environment, Message, Problem
from envkit.model.observed import is_told
from envkit.model.paths import fact, walk

_OWN_WORDS = (COMPLAINT, OTHER_MAKER, READS_LIKE)  # of whoever wrote the text: no known messages
_SAYS_NOTHING_ALONE = {"tf-finds-no-driver"}  # every TensorFlow on a machine without a GPU writes it
# What decides whether a program can use a GPU: health is not certain, and `--strict` not content, without these.
_DECISIVE = (
    "pci_gpus",
    "gpus",
    "driver.kernel_module",
    "driver.user_space",
    "driver.device_nodes",
    "driver.nvml",
    "driver.cuda_init",
    "pythons",
)
_XIDS = "xid-other"  # says of an Xid in the text that the program is at fault, which answers a question, too
_TROUBLE = (Status.FAIL, Status.WARN, Status.ERROR)
_UNEXPLAINED = "The input shows a failure, but envkit could not determine the cause"
_NOT_SHOWN = "The input mentions hardware or software, but does not show whether it works"
_FEW = 5  # checks, which a headline can name
_TOO_LITTLE = "Too little is known for a verdict"
ASK = "To say more, envkit needs the last lines of the error and the output of these commands, most useful first:"
_COUNTED = {
    "ok": "passed",
    "warn": "warned",
    "fail": "failed",
    "skip": "not applicable",
    "unknown": "could not run",
    "error": "stopped by an internal error",
}
_LEADS = {
    Confidence.CERTAIN: "Root cause: ",
    Confidence.LIKELY: "Most likely cause: ",
    Confidence.POSSIBLE: "Possible cause: ",
}
_SURENESS = {Confidence.LIKELY: "most likely", Confidence.POSSIBLE: "possibly"}


@record
class Verdict:
    """What is wrong, whether anything is, or that too little is known; `status` is one of ok, warn, fail, unknown.

    `ask` holds the commands whose output would say more, the most telling first.
    """

    status: Status
    title: str
    id: str | None = None
    confidence: Confidence = Confidence.CERTAIN
    ask: tuple[str, ...] = ()
    alternatives: tuple[Alternative, ...] = ()

    @property
    def lead(self) -> str:
        """What is before the title of a failure that is not certain."""
        return (
            "" if self.status is not Status.FAIL or self.confidence is Confidence.CERTAIN else _LEADS[self.confidence]
        )

    @property
    def heading(self) -> str:
        """The title as a heading says it, after a colon: how sure it is is at its end."""
        if self.status is Status.FAIL and self.confidence is not Confidence.CERTAIN:
            return f"{self.title} ({_SURENESS[self.confidence]})"
        return f"{self.title} (warning)" if self.status is Status.WARN else self.title

    @property
    def headline(self) -> str:
        """The title as a report says it: how sure it is of a failure, and that a warning is none."""
        if self.status is Status.FAIL:
            return _LEADS[self.confidence] + self.title
        return f"Nothing is broken. Warning: {self.title}" if self.status is Status.WARN else self.title


def verdict(environment: Environment, findings: Sequence[Finding]) -> Verdict:
    """The first failure; without one: that health cannot be told, the first warning, or health."""
    cause = next((finding for finding in findings if finding.status is Status.FAIL), None)
    if cause is not None:
        return _of(cause)
    if maker := _other_maker(environment):
        return Verdict(
            Status.UNKNOWN,
            f"The input is about {maker} GPU; envkit checks NVIDIA GPUs",
            confidence=Confidence.POSSIBLE,
        )
    doubt = _doubt(environment, findings)
    if doubt:
        return _unknown(environment, doubt)
    guess = next((finding for finding in findings if is_likened(finding)), None)
    if guess is not None:
        return _guessed(environment, guess)
    warning = next((finding for finding in findings if finding.status is Status.WARN), None)
    if warning is not None:
        return _of(warning)
    if lacking := _unanswered(findings) or _lacking(environment):
        return _unknown(environment, lacking)
    statuses = {finding.status for finding in findings}
    if Status.UNKNOWN in statuses and Status.OK not in statuses:
        return _unknown(environment, _TOO_LITTLE)
    looked = Status.OK in statuses
    place = " in the input" if environment.pasted else ""
    title = f"No problems found{place}" if looked else "None of these checks applies here"
    explained = next((finding.title for finding in findings if finding.id == _XIDS and finding.status is Status.OK), "")
    if (
        place
        and explained
        and any(message.signature.partition("/")[0] == _XIDS for message in all_messages(environment))
    ):
        title = f"{title}: {explained}"
    return Verdict(Status.OK, title, confidence=Confidence.LIKELY if unseen(environment) else Confidence.CERTAIN)


def _unanswered(findings: Sequence[Finding]) -> str:
    """What the chosen checks lack, where none of a few could be run; '' otherwise."""
    titles = {finding.id: finding.title for finding in findings}
    if not titles or len(titles) > _FEW or any(finding.status is not Status.UNKNOWN for finding in findings):
        return ""
    if len(titles) > 1:
        return f"None of these checks could be run: {', '.join(titles)}"
    return "".join(f"{id} could not be checked: {title}" for id, title in titles.items())


def _lacking(environment: Environment) -> str:
    """Why what passed is no health: a failure is stated, or all that would decide is missing; '' where it is."""
    if complained(environment):
        return _UNEXPLAINED
    if environment.origin == Environment().origin:
        return ""
    if environment.pasted:
        return _NOT_SHOWN if _shows_nothing(environment) else ""
    seen = any(fact(environment, path).known for path in _DECISIVE)  # not in a directory with hardly any file
    return "" if seen else _TOO_LITTLE


def asked(answer: Verdict) -> str:
    """The headline, or the commands whose output would say more, in lines."""
    return "\n".join((ASK, *answer.ask)) if answer.ask else answer.headline


def _of(finding: Finding) -> Verdict:
    ask = tuple(dict.fromkeys(other.tell_apart for other in finding.alternatives))
    return Verdict(finding.status, finding.title, finding.id, finding.confidence, ask, finding.alternatives)


def _unknown(environment: Environment, title: str) -> Verdict:
    return Verdict(Status.UNKNOWN, title, confidence=Confidence.POSSIBLE, ask=commands_to_paste(environment))


def _guessed(environment: Environment, guess: Finding) -> Verdict:
    """That the cause is not known, and the one that reports in like words had: a hint is no answer."""
    unknown = _unknown(environment, _UNEXPLAINED)
    commands = tuple(dict.fromkeys((*told_apart(guess.id), *unknown.ask)))
    hint = (Alternative(guess.id, guess.title, command) for command in commands[:1])
    return replace(unknown, ask=commands, alternatives=(*hint, *guess.alternatives))


def _doubt(environment: Environment, findings: Sequence[Finding]) -> str:
    """Why neither health nor a warning is the answer where nothing failed, '' where one of them is."""
    broken = len({finding.id for finding in findings if finding.status is Status.ERROR})
    if broken:
        checks = f"{broken} checks" if broken > 1 else "One check"
        return f"{checks} failed inside envkit, so it is not known whether this machine is healthy"
    message = unjudged(environment, findings)
    if message is not None and not _outweighed(environment, message):
        return (
            "envkit recognized an error message, but its check does not apply here: "
            f"{message.signature.partition('/')[0]}"
        )
    if unread(environment) and not any(map(is_likened, findings)):
        return "envkit recognized nothing in the input"
    return ""


def unjudged(environment: Environment, findings: Iterable[Finding]) -> Message | None:
    """The first known message whose own check only skipped and that no other judges: a sign of trouble, not of health.

    A finding judges a message when it names it as evidence.
    """
    statuses: dict[str, set[Status]] = {}
    judged: set[Evidence] = set()
    for finding in findings:
        statuses.setdefault(finding.id, set()).add(finding.status)
        judged |= set(finding.evidence) if finding.status is not Status.SKIP else set()
    skipped = {id for id, own in statuses.items() if own == {Status.SKIP}} - _SAYS_NOTHING_ALONE
    left = (message for message in all_messages(environment) if message.signature.partition("/")[0] in skipped)
    return next((message for message in left if judged.isdisjoint(message_evidence(environment, [message]))), None)


def _outweighed(environment: Environment, message: Message) -> bool:
    """Whether it speaks of a driver that nevertheless answers, as what a container's host manages does."""
    own = all_checks().get(message.signature.partition("/")[0])
    started = environment.driver.cuda_init
    answers = bool(environment.gpus.value) or (started.known and started.get().code == 0)
    return answers and own is not None and own.layer <= Layer.USER_SPACE_DRIVER


def unread(environment: Environment) -> bool:
    """True for a pasted text in which no reader found a fact and no known message is."""
    known = [message for message in environment.messages.value or () if message.signature not in _OWN_WORDS]
    if not environment.pasted or known:
        return False
    return all(path == "messages" or seen.problem is Problem.NOT_LOOKED for path, seen in walk(environment))


def _other_maker(environment: Environment) -> str:
    """Whose GPU a text names in which nothing else was recognized; '' where that is none, or NVIDIA's."""
    if not unread(environment):
        return ""
    of_others = (message for message in environment.messages.value or () if message.signature == OTHER_MAKER)
    return next((message.values["maker"] for message in of_others), "")


def _shows_nothing(environment: Environment) -> bool:
    """True for a pasted text of a machine whose facts all are there in somebody's own words."""
    if not environment.pasted:
        return False
    sources = [seen.source for path, seen in walk(environment) if seen.known and path != "messages"]
    return bool(sources) and all(map(is_told, sources))


def unseen(environment: Environment) -> tuple[str, ...]:
    """The decisive facts that could not be looked at; what is certainly absent was."""
    facts = ((path, fact(environment, path)) for path in _DECISIVE)
    return tuple(path for path, observed in facts if not observed.known and not observed.absent)


def counted(findings: Iterable[Finding]) -> str:
    """How many checks ended how, in words: `91 passed, 1 failed`."""
    counts = summary(findings)
    return ", ".join(f"{counts[key]} {word}" for key, word in _COUNTED.items() if counts[key] or key == "ok")


def troubles(findings: Iterable[Finding]) -> list[Finding]:
    """The findings that a report shows in full, in root-cause order."""
    return [finding for finding in findings if finding.status in _TROUBLE]
