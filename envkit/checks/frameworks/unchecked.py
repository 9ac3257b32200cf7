"""Environments that were found and that no check looks at."""

from __future__ import annotations

from collections.abc import Iterator

from envkit.checks.engine.command import PATH, run
from envkit.model import Environment


def unchecked_environments(environment: Environment) -> Iterator[str]:
    """Environments with frameworks that were found and not checked, where the checked ones have none."""
    pythons = environment.pythons.get() if environment.pythons.known else ()
    if any(python.frameworks for python in pythons if python.active) or not any(python.active for python in pythons):
        return
    for python in pythons:
        if python.frameworks and python.executable:
            held = ", ".join(f"{framework.name} {framework.version}".rstrip() for framework in python.frameworks)
            command = run("envkit", "doctor", "--python", PATH(python.prefix))
            yield f"Not checked: {held} in {python.prefix}. {command.line and f'To check it: {command.line}'}".rstrip()
