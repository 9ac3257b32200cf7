"""A pasted text shows a part of a machine: what passes or does not apply there has to be seen in the text."""

from __future__ import annotations

from functools import cache

from envkit._startup.records import replace
from envkit.checks.engine.evidence import EXCERPTS, named_fact, unseen
from envkit.checks.engine.findings import Evidence, Finding, Status
from envkit.model import Environment, Problem
from envkit.model.observed import is_told
from envkit.model.paths import fact, fact_paths

_THE_TEXT = "the input "


def proven(environment: Environment, finding: Finding) -> Finding:
    """The finding; "could not run" in place of "passed" where the text shows nothing that it could rest on.

    Whether several facts fit each other is judged as they were told: the answer is about the facts. The same holds for
    "not applicable", for which it is enough that somebody says so.
    """
    if not environment.pasted:
        return finding
    if finding.status is Status.SKIP:
        return _applicable(environment, finding)
    if finding.status is not Status.OK:
        return finding
    paths = dict.fromkeys(_path(item) for item in finding.evidence)
    if len(paths) > 1 or any(_is_shown(environment, item) for item in finding.evidence):
        return finding
    return _not_shown(environment, finding, next(iter(paths), ""))


def _applicable(environment: Environment, finding: Finding) -> Finding:
    """The finding; "could not run" where all that it rests on is a fact of which the text says nothing."""
    if not finding.evidence or not all(_is_unsaid(environment, item) for item in finding.evidence):
        return finding
    return _not_shown(environment, finding, _path(finding.evidence[0]))


def _is_unsaid(environment: Environment, item: Evidence) -> bool:
    path = _fact_of(_path(item))
    unknown = path != "" and fact(environment, path).problem is Problem.NOT_LOOKED
    return unknown or item.value == Problem.NOT_LOOKED.value


def _not_shown(environment: Environment, finding: Finding, path: str) -> Finding:
    """The one sentence for all of which a text says nothing; a check may have said itself what the text lacks."""
    title = unseen(environment, named_fact(path)) if path else "the input shows nothing that this check needs"
    said = finding.title.startswith(_THE_TEXT)
    return replace(finding, status=Status.UNKNOWN, title=finding.title if said else title)


def _path(item: Evidence) -> str:
    return item.fact.partition("[")[0]


def _is_shown(environment: Environment, item: Evidence) -> bool:
    """Whether a program printed it: not what somebody only says, nor that a log's excerpt lacks something."""
    path = _fact_of(_path(item))
    if path in EXCERPTS or is_told(item.source):
        return False
    if not path:
        return True
    seen = fact(environment, path)
    return seen.known and not is_told(seen.source)


@cache
def _fact_of(path: str) -> str:
    """The fact that holds what is at this path: `pythons` for `pythons.frameworks`; '' for a group of facts."""
    while path and path not in fact_paths():
        path = path.rpartition(".")[0]
    return path
