"""The doctor's report as one self-contained page, readable on a phone, with the PCIe tree drawn."""

from __future__ import annotations

from collections.abc import Sequence

from envkit._startup.records import record
from envkit.checks.engine.findings import Finding, Status
from envkit.checks.engine.runner import plugins_of
from envkit.documents.citations import seen_in
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


def doctor_html(environment: Environment, findings: Sequence[Finding]) -> str:
    """The page; nothing in it is fetched from elsewhere, and it runs no script."""
    rows = topology(environment)
    answer = verdict(environment, findings)
    well = [finding for finding in findings if finding.status is Status.OK]
    return template("reports", "doctor.html.j2").render(
        verdict=answer,
        seen_in=seen_in,
        ask=ASK,
        origin=environment.origin,
        collected_at=environment.collected_at,
        problems=troubles(findings),
        unknown=[finding for finding in findings if finding.status is Status.UNKNOWN],
        well=well,
        machine=machine_lines(environment),
        counts=counted(findings),
        plugins=plugins_of(findings),
        drawing=[_drawn(number, row, rows) for number, row in enumerate(rows)],
        width=max([_WIDTH, *(_LEFT + row.depth * _INDENT + 330 for row in rows)]),
        height=len(rows) * _ROW + 8,
    )


def _drawn(number: int, row: Row, rows: Sequence[Row]) -> Drawn:
    x, y = _LEFT + row.depth * _INDENT, number * _ROW + 22
    elbow = ""
    if row.parent >= 0:
        above_x, above_y = _LEFT + rows[row.parent].depth * _INDENT, row.parent * _ROW + 22
        elbow = f"M{above_x} {above_y + 7} V{y} H{x - 7}"
    node = row.node
    return Drawn(x, y, node.title, node.pci_address, node.link, "gpu" if node.gpu else "bridge", node.degraded, elbow)
