"""Annotations of GitHub Actions: workflow commands, one a line, in root-cause order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from envkit.base.shown import inert
from envkit.checks.engine.findings import Finding, Status
from envkit.documents.paragraphs import named, paragraphs
from envkit.documents.places import line_of
from envkit.documents.verdict import asked, troubles, verdict
from envkit.model import Environment
from envkit.render.reports import Diagnosed, Look

_COMMANDS = {Status.FAIL: "error", Status.ERROR: "error", Status.WARN: "warning"}


def report(machines: Sequence[Diagnosed], look: Look) -> str:
    """The annotations of each machine: its failures and warnings, or the one line that says why there are none."""
    return "\n".join(line for machine in machines for line in _lines(*inert(machine), several=len(machines) > 1))


def _lines(environment: Environment, findings: Sequence[Finding], *, several: bool) -> Iterator[str]:
    origin = f"{environment.origin}: " if several else ""
    for finding in troubles(findings):
        place = line_of(finding.evidence)
        properties = {"file": place.file, "line": str(place.line)} if place else {}
        title = f"{origin}{named(finding)} [{finding.id}]"
        body = "\n".join(paragraphs(finding)) or finding.title
        yield _command(_COMMANDS[finding.status], {**properties, "title": title}, body)
    answer = verdict(environment, findings)
    if answer.status in (Status.OK, Status.UNKNOWN):
        name = "notice" if answer.status is Status.OK else "error"  # the exit code is 1 where nothing could be judged
        yield _command(name, {"title": f"{origin}{answer.headline}"}, asked(answer))


def _command(name: str, properties: dict[str, str], message: str) -> str:
    listed = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{name} {listed}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
