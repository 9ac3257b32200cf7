"""The machines recorded under tests/machines, as environments."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from envkit.facts import Environment
from envkit.facts_json import environment_from_json
from envkit.host.capture import CaptureHost
from envkit.probe.collect import collect

MACHINES = Path(__file__).resolve().parent.parent / "machines"


def machine_names() -> tuple[str, ...]:
    """Every machine recorded here, sorted."""
    return tuple(sorted(path.parent.name for path in MACHINES.glob("*/machine.json")))


@cache
def load_machine(name: str) -> Environment:
    """What the probes find on the machine, or its facts where it holds nothing else."""
    folder = MACHINES / name
    if {path.name for path in folder.iterdir()} == {"machine.json", "facts.json"}:
        return environment_from_json(json.loads((folder / "facts.json").read_text("utf-8")), strict=True)
    return collect(CaptureHost(str(folder)), total_limit_s=60.0)
