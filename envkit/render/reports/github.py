"""Annotations of GitHub Actions: workflow commands, one a line, in root-cause order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from envkit.base.shown import inert
from envkit.checks.engine.findings import Status
from envkit.documents.answered import Answered, answered
from envkit.documents.paragraphs import named, paragraphs
from envkit.documents.verdict import asked, troubles
from envkit.render.reports import Diagnosed, Look

_COMMANDS = {Status.FAIL: "error", Status.ERROR: "error", Status.WARN: "warning", Status.UNKNOWN: "notice"}


def report(machines: Sequence[Diagnosed], look: Look) -> str:
    """The annotations of each machine: its failures and warnings, or the one line that says why there are none.

    Of a file also what is not known of one of its lines, for which `--fail-on unknown` fails.
    """
    return workflow_commands([answered(*inert(machine)) for machine in machines])


def workflow_commands(judged: Sequence[Answered]) -> str:
    """The same of anything that was judged, which is inert already."""
    return "\n".join(line for one in judged for line in _lines(one, several=len(judged) > 1))


def _lines(one: Answered, *, several: bool) -> Iterator[str]:
    name = f"{one.name}: " if several else ""
    unknown = [finding for finding in one.findings if finding.status is Status.UNKNOWN and one.place(finding)]
    for finding in (*troubles(one.findings), *unknown):
        place = one.place(finding)
        properties = {"file": place.file, "line": str(place.line)} if place else {}
        title = f"{name}{named(finding)} [{finding.id}]"
        body = "\n".join(paragraphs(finding)) or finding.title
        yield _command(_COMMANDS[finding.status], {**properties, "title": title}, body)
    if one.answer.status in (Status.OK, Status.UNKNOWN):
        # an error where nothing could be judged: the exit status is 1 then
        kind = "notice" if one.answer.status is Status.OK else "error"
        yield _command(kind, {"title": f"{name}{one.answer.headline}"}, asked(one.answer))


def _command(name: str, properties: dict[str, str], message: str) -> str:
    listed = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{name} {listed}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
