"""JUnit's XML, as continuous integration shows it: a suite for each machine, a test case for each finding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from envkit.base.shown import inert
from envkit.checks.engine.findings import Finding, Status
from envkit.checks.engine.runner import summary
from envkit.documents.doctor import tool_document
from envkit.documents.paragraphs import named, paragraphs
from envkit.documents.verdict import asked, verdict
from envkit.model import Environment
from envkit.render.reports import Diagnosed, Look

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_NAME = "envkit.doctor"
_ELEMENTS = {
    Status.FAIL: "failure",
    Status.ERROR: "error",
    Status.WARN: "system-out",  # JUnit has no warning: the case passes and says what was seen
    Status.SKIP: "skipped",
    Status.UNKNOWN: "skipped",
}


def report(machines: Sequence[Diagnosed], look: Look) -> str:
    """The document, in the form that the schema of Jenkins' xUnit plug-in describes."""
    from xml.etree.ElementTree import Element, indent, tostring

    shown = [inert(machine) for machine in machines]
    suites = [_suite(*machine) for machine in shown]
    counts = {name: str(sum(int(suite.get(name, "0")) for suite in suites)) for name in ("tests", "failures", "errors")}
    root = Element("testsuites", {"name": _NAME, **counts})
    root.extend(suites)
    indent(root)
    return str(tostring(root, "utf-8", xml_declaration=True), "utf-8") + "\n"


def _counts(findings: Sequence[Finding], *, judged: bool) -> dict[str, str]:
    counts = summary(findings)
    numbers = {
        "tests": len(findings) + (not judged),
        "failures": counts["fail"],
        "errors": counts["error"] + (not judged),
        "skipped": counts["skip"] + counts["unknown"],
    }
    return {name: str(number) for name, number in numbers.items()}


def _suite(environment: Environment, findings: Sequence[Finding]) -> Element:
    from xml.etree.ElementTree import Element, SubElement

    answer = verdict(environment, findings)
    judged = answer.status is not Status.UNKNOWN
    suite = Element("testsuite", {"name": environment.origin, **_counts(findings, judged=judged)})
    properties = SubElement(suite, "properties")
    tool = tool_document(findings)
    for name in ("version", "data"):
        SubElement(properties, "property", {"name": f"envkit.{name}", "value": str(tool[name])})
    suite.extend(map(_case, findings))
    if not judged:  # or a file without a failure would be shown as success
        case = SubElement(suite, "testcase", {"classname": _NAME, "name": "verdict"})
        attributes = {"type": answer.status.value, "message": answer.title}
        SubElement(case, "error", attributes).text = asked(answer)
    return suite


def _case(finding: Finding) -> Element:
    from xml.etree.ElementTree import Element, SubElement

    name = f"{finding.id} ({finding.subject})" if finding.subject else finding.id
    case = Element("testcase", {"classname": _NAME, "name": name})
    kind = _ELEMENTS.get(finding.status)
    if kind == "system-out":
        SubElement(case, kind).text = "\n".join((f"Warning: {named(finding)}", *paragraphs(finding)))
    elif kind:
        attributes = {"type": finding.status.value, "message": named(finding)}
        SubElement(case, kind, attributes).text = "\n".join(paragraphs(finding))
    return case
