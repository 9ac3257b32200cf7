"""What builds an image elsewhere is made of: the actions of a workflow, the names of an architecture, as tables."""

from __future__ import annotations

from envkit._startup.records import record
from envkit.base.versions import Version
from envkit.tables.loader import read, table


@table("image/workflow_actions.csv", "action")
@record
class WorkflowAction:
    """An action of GitHub's workflows by the commit of its release, which no one can move as a tag can be moved."""

    action: str
    version: Version
    commit: str
    sources: tuple[str, ...]


@table("image/architectures.csv", "architecture")
@record
class Architecture:
    """What containers call an architecture of processors, and the GitHub runner that has such a processor."""

    architecture: str
    name: str
    runner: str
    sources: tuple[str, ...]


def pinned_actions() -> dict[str, str]:
    """What `uses:` applies to each action, with its version as a comment."""
    return {row.action: f"{row.action}@{row.commit} # v{row.version}" for row in read(WorkflowAction)}


def architecture(name: str) -> Architecture:
    """The row of an architecture as Linux calls it. Raises LookupError for one that no image is made for."""
    return next(row for row in read(Architecture) if row.architecture == name)
