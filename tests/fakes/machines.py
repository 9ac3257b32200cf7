"""The machines recorded under tests/machines, as environments."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from envkit.cli.environment import recorded
from envkit.model import Environment

MACHINES = Path(__file__).resolve().parent.parent / "machines"


def machine_names() -> tuple[str, ...]:
    """Every machine recorded here, sorted."""
    return tuple(sorted(path.parent.name for path in MACHINES.glob("*/machine.json")))


@cache
def load_machine(name: str) -> Environment:
    """The machine as `envkit doctor --from` takes it."""
    return recorded(str(MACHINES / name))
