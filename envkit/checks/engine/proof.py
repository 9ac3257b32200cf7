"""A pasted text shows a part of a machine: what passes there has to be seen, not only missing from the text."""

from __future__ import annotations

from functools import cache

from envkit._startup.records import replace
from envkit.checks.engine.evidence import in_words
from envkit.checks.engine.findings import Evidence, Finding, Status
from envkit.model import PASTED, Environment
from envkit.model.observed import is_told
from envkit.model.paths import fact, fact_paths

_EXCERPTS = ("kernel.log",)  # of which a text quotes some lines: what is not among them may be in the others


def proven(environment: Environment, finding: Finding) -> Finding:
    """The finding; "could not run" in place of "passed" where the text shows nothing that it could rest on.

    Whether several facts fit each other is judged as they were told: the answer is about the facts.
    """
    if environment.origin != PASTED:
        return finding
    if finding.status is not Status.OK:
        return replace(finding, title=_not_in_text(finding.title))
    paths = dict.fromkeys(_path(item) for item in finding.evidence)
    if len(paths) > 1 or any(_is_shown(environment, item) for item in finding.evidence):
        return finding
    missing = next(iter(paths), "")
    title = (
        (f"the text does not show the {in_words(missing)}")
        if missing
        else "the text shows nothing that this check needs"
    )
    return replace(finding, status=Status.UNKNOWN, title=title)


def _not_in_text(title: str) -> str:
    """What was not probed, as a reader of the text has it: nothing is probed in a text."""
    for verb in (" was", " were"):
        for asked in (" not probed", " not queried"):
            if title.endswith(verb + asked):
                return f"the text does not show {title.removesuffix(verb + asked)}"
    return title.replace(" not probed", " not in this text")


def _path(item: Evidence) -> str:
    return item.fact.partition("[")[0]


def _is_shown(environment: Environment, item: Evidence) -> bool:
    """Whether a program printed it: not what somebody only says, nor that a log's excerpt lacks something."""
    path = _fact_of(_path(item))
    if path in _EXCERPTS or is_told(item.source):
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
