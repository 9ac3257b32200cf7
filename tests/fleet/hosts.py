"""Hosts for the tests of a fleet's report: made by hand, and facts files made from recorded machines."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from envkit.fleet.model import Cause, HostResult, State
from envkit.model.facts_json import to_json
from tests.fakes.machines import load_machine

HEALTHY = "ubuntu22.04-8xh100-550"
MISMATCH = "ubuntu22.04-rtx3090-mismatch"
LIKE = {"gpu": "H100", "architecture": "x86_64"}


def host(name: str, state: State = State.OK, cause: str = "", explained: str = "", **traits: str) -> HostResult:
    """A host with these traits; `cause` is the id of what is wrong, `explained` a trait that it explains."""
    why = Cause(cause, f"The title of {cause}", evidence=f"{name} shows it") if cause else None
    found = {explained: cause} if explained else {}
    return HostResult(name, state, "", why, {**LIKE, **traits}, found)


@cache
def facts(machine: str = HEALTHY) -> str:
    """The facts of a recorded machine as `envkit probe --json` prints them."""
    return json.dumps(to_json(load_machine(machine)))


def changed(machine: str = HEALTHY, **values: Any) -> str:  # noqa: ANN401 - whatever a fact holds
    """The facts with other values: `system__kernel="6.8.0"`."""
    document = json.loads(facts(machine))
    for path, value in values.items():
        node = document
        *above, name = path.split("__")
        for part in above:
            node = node[part]
        node[name] = {"value": value, "source": "test"}
    return json.dumps(document)


def write(folder: Path, **texts: str) -> Path:
    """The folder with a file for each host."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.json").write_text(text)
    return folder
