"""The process's variables that change what CUDA, the loader, containers or frameworks do."""

from __future__ import annotations

from collections.abc import Mapping

from envkit.host.base import Host
from envkit.model import Observed, Problem, found, missing
from envkit.model.variables import KINDS


def variables(host: Host) -> Observed[Mapping[str, str]]:
    """The variables that are looked at, and no other; NOT_LOOKED for a host without a process."""
    everything = host.variables()
    if not everything:
        return missing(Problem.NOT_LOOKED, "environment")
    return found({name: everything[name] for name in sorted(everything) if name in KINDS}, "environment")
