"""What `envkit diff` found, as one JSON object, schema 1."""

from __future__ import annotations

from envkit.base.json_text import dumps
from envkit.comparison.changes import Change
from envkit.comparison.culprits import Difference, Judged
from envkit.documents.doctor import SCHEMA, finding_document, tool_document, verdict_document
from envkit.documents.verdict import verdict


def difference_json(old: Judged, new: Judged, found: Difference) -> str:
    """The document as text: keys schema, tool, old, new, culprit, changes, findings, not_compared."""
    explained = [_change(item.change, item.explains) for item in found.culprits]
    document = {
        "schema": SCHEMA,
        "tool": tool_document([*old[1], *new[1]]),
        "old": _side(old),
        "new": _side(new),
        "culprit": explained[0] if explained else None,
        "changes": [*explained, *(_change(change, ()) for change in found.others)],
        "findings": {
            "new": [finding_document(finding) for finding in found.new],
            "gone": [finding_document(finding) for finding in found.gone],
            "not_judged": [finding_document(finding) for finding in found.not_judged],
        },
        "not_judged_before": sorted(found.not_judged_before),
        "not_compared": list(found.not_compared),
    }
    return dumps(document)


def _side(judged: Judged) -> dict[str, object]:
    environment, findings = judged
    answer = verdict_document(verdict(environment, findings))
    return {"origin": environment.origin, "collected_at": environment.collected_at, "verdict": answer}


def _change(change: Change, explains: tuple[str, ...]) -> dict[str, object]:
    return {
        "group": change.group,
        "fact": change.fact,
        "name": change.name,
        "place": change.place,
        "old": change.old,
        "new": change.new,
        "culprit_of": list(explains),
    }
