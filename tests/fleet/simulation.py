"""A fleet made from recorded machines: most healthy, some with a known cause, some that differ, some not reached."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from envkit.checks.engine.registry import all_checks
from envkit.checks.engine.runner import run_checks
from envkit.fleet.judge import judged_host
from envkit.fleet.model import HostResult, State
from envkit.tables import Matrix
from tests.fakes.machines import load_machine, machine_names
from tests.fleet.hosts import HEALTHY, changed, facts

CAUSES = 40
DRIFT = {  # of facts on which no check of the healthy machine rests
    "kernel": ("system__kernel", "5.15.0-99-generic"),
    "glibc": ("system__glibc", "2.34"),
    "processors": ("system__processors", 96),
    "memory": ("system__memory_bytes", 1 << 40),
    "vendor": ("system__vendor", "Other Vendor X1"),
    "secure_boot": ("system__secure_boot", True),
    "container_toolkit": ("containers__container_toolkit", "1.13.5"),
    "infiniband": ("system__infiniband_devices", ["mlx5_0"]),
}


@cache
def failing() -> dict[str, tuple[str, str]]:
    """Recorded machines that fail, each with another cause: their names and the id and subject of that cause."""
    found: dict[tuple[str, str], str] = {}
    for name in machine_names():
        host = judged(name)
        if host.state is State.FAIL and host.cause and len(found) < CAUSES:
            found.setdefault((host.cause.id, host.cause.subject), name)
    return {name: key for key, name in found.items()}


@cache
def judged(name: str) -> HostResult:
    """A recorded machine as a fleet's report has it."""
    machine = load_machine(name)
    return judged_host(name, machine, run_checks(machine, Matrix.load(), all_checks().values()))


def planted(number: int, seed: int = 20) -> Iterator[tuple[str, str, str]]:
    """The hosts: name, what was planted (`ok`, `unreachable`, a cause's machine or a trait) and the file's text."""
    choose = random.Random(seed)
    causes = list(failing())
    for index in range(number):
        name, kind = f"n{index:05}", choose.random()
        if kind < 0.02:
            yield (
                name,
                "unreachable",
                json.dumps({"schema": 1, "host": name, "state": "unreachable", "reason": "connection refused"}),
            )
        elif kind < 0.12:
            machine = choose.choice(causes)
            yield name, machine, facts(machine)
        elif kind < 0.17:
            key = choose.choice(list(DRIFT))
            path, value = DRIFT[key]
            yield name, key, changed(HEALTHY, **{path: value})
        else:
            yield name, "ok", facts()


def write_fleet(folder: Path, number: int) -> dict[str, list[str]]:
    """A folder of `number` hosts; returned is who has what."""
    folder.mkdir(parents=True)
    who: dict[str, list[str]] = {}
    for name, plant, text in planted(number):
        (folder / f"{name}.json").write_text(text)
        who.setdefault(plant, []).append(name)
    return who


def differences(document: dict[str, list[dict[str, object]]], who: dict[str, list[str]]) -> list[str]:
    """What a report's JSON says otherwise than was planted."""
    wrong = []
    causes = {
        (str(item["id"]), str(item["subject"])): item["hosts"]
        for item in document["causes"]
        if item["status"] == "fail"
    }
    expected = {key: who[name] for name, key in failing().items() if name in who}
    if causes != expected:
        wrong += [
            f"cause {key}"
            for key in [*causes, *(key for key in expected if key not in causes)]
            if causes.get(key) != expected.get(key)
        ]
    healthy = judged(HEALTHY).traits
    group = f"{healthy['gpu']} / {healthy['architecture']}"
    drift = {
        str(item["key"]): [name for other in item["others"] for name in other["hosts"]]  # type: ignore[attr-defined]
        for item in document["drift"]
        if item["group"] == group and item["expected"]
    }
    for key in DRIFT:
        missing = set(who.get(key, [])) - set(drift.get(key, []))
        if missing:
            wrong.append(f"drift of {key}: {sorted(missing)[:3]} not told")
    healthy_hosts = set(who["ok"])
    wrong += [f"drift of {key}: a healthy host is told" for key, names in drift.items() if healthy_hosts & set(names)]
    return wrong
