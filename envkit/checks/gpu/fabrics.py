"""Network cards of two kinds that NCCL takes together: InfiniBand and Ethernet cannot talk to each other."""

from __future__ import annotations

from envkit._startup.regex import regex
from envkit.checks.engine.command import INTERFACES, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import managed_by
from envkit.checks.engine.messages import named, seen
from envkit.model import Environment

_DEVICE = regex(r"\](?P<name>[a-z][a-z0-9_]{2,20}):\d{1,2}/(?P<kind>IB|RoCE)")
_VARIABLE = "NCCL_IB_HCA"


def one_fabric(environment: Environment) -> Remedy | None:
    """Only the cards of InfiniBand, where NCCL's own line lists RoCE next to them; None where it does not."""
    line = named(seen(environment, "nccl-wrong-interface", "detail-cards"), "cards") or ""
    devices = [(match["name"], match["kind"]) for match in _DEVICE.finditer(line)]
    kept = sorted({name for name, kind in devices if kind == "IB"})
    others = sorted({name for name, kind in devices if kind == "RoCE"})
    if not kept or not others:
        return None
    where = " In Kubernetes, add it to the pod's env." if managed_by(environment, "kubernetes") else ""
    return Remedy(
        f"NCCL uses {', '.join(others)}, an Ethernet (RoCE) port, together with InfiniBand ports, and no connection "
        "between the two kinds is possible: let it use the InfiniBand cards only, on every node (names can differ "
        f"between nodes: ^{others[0]} excludes that one instead).{where}",
        (run("export", INTERFACES(f"{_VARIABLE}={','.join(kept)}")),),
    )
