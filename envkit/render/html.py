"""The doctor's report as one self-contained page, readable on a phone, with the PCIe tree drawn."""

from __future__ import annotations

from collections.abc import Sequence

from envkit._startup.records import record
from envkit.checks.engine.findings import Finding, Status
from envkit.checks.engine.runner import plugins_of
from envkit.documents.citations import seen_in
from envkit.documents.doctor import tool_document
from envkit.documents.verdict import ASK, counted, troubles, verdict
from envkit.model import Environment
from envkit.render.machine import machine_lines
from envkit.render.templating import template
from envkit.render.topology import Row, topology

# Measures of the drawing, in SVG units; 400 wide fits a phone held upright.
_ROW, _INDENT, _LEFT, _WIDTH = 46, 22, 14, 400


@record
class Drawn:
    """One row of the drawing with its place and the elbow that joins it to its parent."""

    x: int
    y: int
    title: str
    address: str
    link: str
    kind: str  # gpu, bridge
    degraded: bool
    elbow: str
    above: str  # the title and address of its parent


def doctor_html(environment: Environment, findings: Sequence[Finding]) -> str:
    """The page; nothing in it is fetched from elsewhere, and it runs no script."""
    rows = topology(environment)
    answer = verdict(environment, findings)
    tool = tool_document(findings)
    well = [finding for finding in findings if finding.status is Status.OK]
    return template("reports", "doctor.html.j2").render(
        verdict=answer,
        seen_in=seen_in,
        ask=ASK,
        origin=environment.origin,
        collected_at=environment.collected_at,
        tool=f"{tool['name']} {tool['version']}, data of {tool['data']}",
        cards=_cards(troubles(findings)),
        unknown=[finding for finding in findings if finding.status is Status.UNKNOWN],
        well=well,
        machine=machine_lines(environment),
        counts=counted(findings),
        plugins=plugins_of(findings),
        drawing=[_drawn(number, row, rows) for number, row in enumerate(rows)],
        degraded=any(row.node.degraded for row in rows),
        width=max([_WIDTH, *(_LEFT + row.depth * _INDENT + 330 for row in rows)]),
        height=len(rows) * _ROW + 8,
    )


def _cards(problems: Sequence[Finding]) -> list[tuple[Finding, list[Finding]]]:
    """Each problem with those that go away with it; one whose cause is not shown is by itself."""
    own = [finding for finding in problems if finding.because_of is None]
    causes = {finding.id: finding for finding in reversed(own)}
    alone = [finding for finding in problems if finding.because_of is not None and finding.because_of not in causes]
    return [
        (finding, [other for other in problems if causes.get(other.because_of or "") is finding])
        for finding in (*own, *alone)
    ]


def _drawn(number: int, row: Row, rows: Sequence[Row]) -> Drawn:
    x, y = _LEFT + row.depth * _INDENT, number * _ROW + 22
    elbow = above = ""
    if row.parent >= 0:
        parent = rows[row.parent].node
        above = f"{parent.title}, {parent.pci_address}"
        above_x, above_y = _LEFT + rows[row.parent].depth * _INDENT, row.parent * _ROW + 22
        elbow = f"M{above_x} {above_y + 7} V{y} H{x - 7}"
    node = row.node
    return Drawn(
        x, y, node.title, node.pci_address, node.link, "gpu" if node.gpu else "bridge", node.degraded, elbow, above
    )
