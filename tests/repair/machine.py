"""This machine as it is, but for a GPU and its driver, which a recorded healthy machine lends it."""

from __future__ import annotations

from envkit.api.report import Report, judged
from envkit.checks.engine.registry import all_checks
from envkit.host.local import LocalHost
from envkit.model import Environment
from envkit.model.paths import fact, fact_paths, with_facts
from envkit.probe.collect import collect
from tests.checks.software import matrix
from tests.fakes.machines import load_machine

HEALTHY = "ubuntu22.04-rtx4090-550-torch"
OWN = ("pythons", "variables", "cuda_link", "cuda_toolkits", "cudnns", "nvcc", "containers.")  # really looked at


def environment() -> Environment:
    lent = load_machine(HEALTHY)
    here = collect(LocalHost())
    return with_facts(here, {path: fact(lent, path) for path in fact_paths() if not path.startswith(OWN)})


def look(*ids: str) -> Report:
    """The report of all checks, or of those named."""
    checks = all_checks()
    chosen = [checks[id] for id in ids] if ids else list(checks.values())
    return judged(environment(), chosen, matrix(), mask=False, chosen=bool(ids))
