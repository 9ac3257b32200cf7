"""What the check says of a Dockerfile that lies alone: its findings, by id and status."""

from __future__ import annotations

from envkit.checks.engine.findings import Status
from envkit.dockerfile.check import check_dockerfile
from envkit.solver.request import Request
from envkit.tables import Matrix


def told(text: str, matrix: Matrix) -> set[tuple[str, Status]]:
    """The id and the status of each finding."""
    return {(one.id, one.status) for one in check_dockerfile(text, Request(container=True), matrix)}


def failures(text: str, matrix: Matrix) -> set[str]:
    """The ids of what stops the build or the program."""
    return {id for id, status in told(text, matrix) if status is Status.FAIL}
