"""The registry of this machine as a JSON document; nothing here decides anything."""

from __future__ import annotations

from collections.abc import Sequence

from envkit.install.registry import InstalledPlan, Use

SCHEMA = 1


def installed_document(plans: Sequence[InstalledPlan], link: str | None, others: Sequence[str]) -> dict[str, object]:
    """The plans, where /usr/local/cuda leads, and the toolkits that envkit did not install."""
    return {
        "schema": SCHEMA,
        "plans": [_plan(plan) for plan in plans],
        "usr_local_cuda": link,
        "other_toolkits": list(others),
    }


def _plan(plan: InstalledPlan) -> dict[str, object]:
    return {
        "name": plan.name,
        "state": plan.state,
        "since": plan.since,
        "scope": "machine" if plan.for_all else "user",
        "script": plan.script,
        "uses": [_use(use) for use in plan.uses],
        "packages_added": list(plan.packages),
        "files": list(plan.files),
    }


def _use(use: Use) -> dict[str, object]:
    return {
        "kind": use.kind,
        "what": use.what,
        "detail": use.detail,
        "here": use.here,
        "installed_by": use.installed_by,
        "used_by": list(use.used_by),
    }
