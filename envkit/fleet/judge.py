"""One host: its facts are judged here, by the same tables for all, and cut down to what a fleet's report needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from envkit._startup.records import replace
from envkit._startup.regex import regex
from envkit.base.errors import SourceError
from envkit.base.pci import ADDRESS
from envkit.base.shown import inert
from envkit.checks.engine.fact_words import in_a_line
from envkit.checks.engine.findings import Finding, Outcome, Status
from envkit.checks.engine.runner import guarded, run_checks
from envkit.documents.verdict import Verdict, unread, verdict
from envkit.fleet.model import Cause, HostResult, State
from envkit.fleet.traits import GROUP, NONE, SEPARATOR, explanations, traits_of
from envkit.ingest.hosts import HostSource, Told, told_by, unreadable
from envkit.model import Environment, Identity
from envkit.privacy.secrets import without_secrets

if TYPE_CHECKING:
    from envkit.checks.engine.registry import Check
    from envkit.tables import Matrix

_LONGEST = 300  # characters of a text that is kept for each host
_VARYING = regex(rf"{ADDRESS}|GPU-[0-9a-f-]{{8,40}}|(?<![\w.-])/[^\s,;]{{1,200}}|\d[\d.]*")
_TROUBLE = (Status.FAIL, Status.WARN, Status.ERROR)
_SHOWN = (State.FAIL, State.WARN)


def host_results(source: HostSource, checks: Sequence[Check], matrix: Matrix, *, mask: bool) -> list[HostResult]:
    """The hosts of one source; one that cannot be read, or that breaks envkit, says so in its place."""

    def judged() -> list[HostResult]:
        try:
            return [_result(result, checks, matrix, mask=mask) for result in told_by(source)]
        except SourceError as error:
            return [not_judged(source.name, State.UNREADABLE, unreadable(source, error), mask=mask)]

    answer = guarded(judged)
    if isinstance(answer, Outcome):
        return [not_judged(source.name, State.UNREADABLE, answer.title, mask=mask)]
    return answer


def not_judged(name: str, state: State, reason: str, seconds: float | None = None, *, mask: bool) -> HostResult:
    """A host without facts, with the words that say why: those of whoever tried to reach it, a password among them."""
    reason = without_secrets(reason)
    if mask:
        from envkit.privacy.masker import Masker

        reason = Masker(_known_as(name, Identity())).text(reason)
    return HostResult(_shown_name(name), state, inert(reason)[:_LONGEST], seconds=seconds)


def _known_as(name: str, identity: Identity) -> Identity:
    """The identity with the name that the fleet knows the host by, also without its domain."""
    return replace(identity, hosts=(*identity.hosts, name, name.partition(".")[0]))


def _shown_name(name: str) -> str:
    return inert(without_secrets(name))


def _result(result: Told, checks: Sequence[Check], matrix: Matrix, *, mask: bool) -> HostResult:
    if result.environment is None:
        return not_judged(result.name, State(result.state), result.reason, result.seconds, mask=mask)
    name, environment = _shown_name(result.name), result.environment
    if unread(environment):  # damaged, binary, or of something else: nobody can say how the machine is
        return HostResult(name, State.UNREADABLE, "nothing was recognized", seconds=result.seconds)
    if mask:
        from envkit.privacy.masker import mask_environment

        identity = _known_as(result.name, environment.identity)
        environment = mask_environment(replace(environment, identity=identity))
    host = judged_host(name, environment, run_checks(environment, matrix, checks), result.seconds)
    if result.groups is None or mask:  # what people call their groups tells who they are
        return host
    return replace(host, traits={**host.traits, GROUP: inert(SEPARATOR.join(result.groups))[:_LONGEST] or NONE})


def judged_host(
    name: str, environment: Environment, findings: Sequence[Finding], seconds: float | None = None
) -> HostResult:
    """What the report keeps of a machine and what was found in it; nothing in it steers a terminal."""
    answer = verdict(environment, findings)
    state = State(answer.status.value)
    cause = _cause(findings, answer) if state in _SHOWN else None
    failed = [finding for finding in findings if finding.status is Status.FAIL]
    explained = explanations({item.fact: finding.id for finding in reversed(failed) for item in finding.evidence})
    return inert(
        HostResult(
            name,
            state,
            (answer.lead + answer.title)[:_LONGEST],  # the state is next to it
            cause,
            traits_of(environment),
            explained,
            tuple((finding.status.value, finding.id) for finding in findings if finding.status in _TROUBLE),
            seconds,
            environment.collected_at,
        )
    )


def alike(subject: str) -> str:
    """The subject without what differs from host to host: addresses, paths, numbers."""
    return _VARYING.sub("*", subject)


def _cause(findings: Sequence[Finding], answer: Verdict) -> Cause:
    finding = next(item for item in findings if item.id == answer.id and item.status is answer.status)
    seen = finding.evidence[0] if finding.evidence else None
    remedy = finding.remedy
    return Cause(
        finding.id,
        finding.title,
        alike(finding.subject),
        finding.confidence.value,
        in_a_line(seen)[:_LONGEST] if seen else "",
        remedy.summary if remedy else "",
        remedy.commands if remedy else (),
    )
