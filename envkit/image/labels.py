"""OCI labels of an image; one of them holds the whole choice of the plan."""

from __future__ import annotations

import json

from envkit import __version__
from envkit.documents.plan import plan_document
from envkit.solver.model import Plan


def labels(plan: Plan, title: str, base: str) -> dict[str, str]:
    """Labels in a fixed order; `io.envkit.plan` holds the plan's choice as JSON on one line."""
    choice = plan_document(plan)["choice"]
    return {
        "org.opencontainers.image.title": title,
        "org.opencontainers.image.base.name": base,
        "io.envkit.version": __version__,
        "io.envkit.plan": json.dumps(choice, ensure_ascii=True, separators=(",", ":")),
    }
