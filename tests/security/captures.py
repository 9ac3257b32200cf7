"""Captures as a stranger may write them: recorded machines with paths that lead out, wherever a path may be."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

from envkit.model.facts_json import Json
from tests.fakes.machines import MACHINES

PATTERNS = (
    "/etc/*-release",
    "/usr/local/cuda*",
    "/opt/*/lib",
    "/lib/modules/*/updates/dkms/nvidia*.ko*",
    "/usr/lib/*/libcuda.so*",
    "/etc/apt/sources.list.d/*.list",
)


def mutated(name: str, folder: Path, target: Path, generator: random.Random) -> Path:
    """The recorded machine `name` in `folder`, changed so that some of its paths lead to `target`."""
    shutil.copytree(MACHINES / name, folder)
    payloads = [
        f"{start}{target}" for start in ("", "/", "/..", "/../../../../../../../../..", "../../../../../..", "./")
    ]
    for path in sorted(folder.glob("*.json")):
        if path.name != "machine.json":
            data = json.loads(path.read_text("utf-8"))
            path.write_text(json.dumps(_changed(data, payloads, generator)), "utf-8")
    _add(folder / "files.json", {payload: "ID=owned\n" for payload in payloads})
    answers = {
        "globs": {pattern: [generator.choice(payloads)] for pattern in PATTERNS},
        "lists": {pattern.rpartition("/")[0]: {"value": payloads, "source": "x"} for pattern in PATTERNS},
        "programs": {name: {"value": payloads[1], "source": "x"} for name in ("nvcc", "gcc", "pip", "python3")},
    }
    _add(folder / "answers.json", answers)
    return folder


def _add(path: Path, entries: dict[str, Json]) -> None:
    known = json.loads(path.read_text("utf-8")) if path.exists() else {}
    if isinstance(known, dict):
        path.write_text(json.dumps({**known, **entries}), "utf-8")


def _changed(data: Json, payloads: list[str], generator: random.Random) -> Json:
    """The data with a tenth of its paths, as keys and as values, replaced: text of another form would be refused."""
    if isinstance(data, dict):
        return {_changed(key, payloads, generator): _changed(item, payloads, generator) for key, item in data.items()}
    if isinstance(data, list):
        return [_changed(item, payloads, generator) for item in data]
    return generator.choice(payloads) if str(data).startswith("/") and generator.random() < 0.1 else data
