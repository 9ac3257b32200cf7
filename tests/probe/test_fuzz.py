"""Noise in place of files and of libraries' answers: probes give facts or problems, never an exception."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from typing import Any

import pytest

from envkit._startup.records import replace
from envkit.capture.recorded import Entry, RecordedHost
from envkit.capture.replay import CaptureHost
from envkit.model import Environment, Identity
from envkit.model.facts_json import Json, environment_from_json, to_json
from envkit.probe import containers, cuda_driver, driver, nvml
from envkit.probe.collect import collect
from tests.fakes.machines import MACHINES
from tests.fakes.memory_host import MemoryHost, node
from tests.fakes.nvml import A100

SEED = 20261121
JUNK: list[Any] = [None, True, -1, 2**70, 1.5, "", "x", "\0", [], {}, [[]], [None], {"code": "9"}, "9" * 400]
TEXTS = [
    "",
    "\n",
    "\0",
    "=",
    ":",
    ",",
    "0x",
    "-1",
    "9" * 50,
    "[",
    "{",
    "�",
    "version: 1.2.3",
    "/",
    "\t",
    " ",
    "::",
    "%s",
]
NVML = {
    "library": "/usr/lib/libnvidia-ml.so.1",
    "init": {"code": 0, "name": "NVML_SUCCESS", "call": "nvmlInit"},
    "driver_version": "535.247.01",
    "driver_cuda_version": 12020,
    "count": 1,
    "devices": [{"index": 0, "pci_address": "00000000:65:00.0", **{k: v for k, v in A100.items() if "_mw" not in k}}],
}
CUDA = {"library": "/x", "init": {"code": 0, "name": "CUDA_SUCCESS"}, "driver_cuda_version": 12020, "device_count": 1}
DOCKER = {"url": "unix:///x", "version": {"Version": "26.1.0"}, "info": {"Runtimes": ["nvidia"], "CDISpecDirs": []}}


def _mutated(data: Json, generator: random.Random) -> Json:
    """The data with one place changed to junk."""
    if isinstance(data, dict) and data and generator.random() < 0.8:
        key = generator.choice(sorted(data))
        return {**data, key: _mutated(data[key], generator)}
    if isinstance(data, list) and data and generator.random() < 0.8:
        index = generator.randrange(len(data))
        return [*data[:index], _mutated(data[index], generator), *data[index + 1 :]]
    return generator.choice(JUNK)


@pytest.mark.parametrize(
    ("subject", "answer"), [("nvml", NVML), ("cuda", CUDA), ("docker", DOCKER), ("nodes", {"/dev/nvidia0": ""})]
)
def test_mutated_answers_of_libraries(subject: str, answer: Mapping[str, object]) -> None:
    generator = random.Random(SEED)
    probes = {
        "nvml": lambda host: nvml.probe(host, 1.0),
        "cuda": lambda host: cuda_driver.probe(host, 1.0),
        "docker": lambda host: containers.engine(host, 1.0),
        "nodes": lambda host: driver.nodes(host, 1.0),
    }
    for _ in range(1000):
        data = _mutated(answer, generator)
        if isinstance(data, dict):
            host = MemoryHost({"/dev/nvidia0": node("195:0")}, queries={subject: data})
            for observed in probes[subject](host).values():
                assert observed.known == (observed.problem is None)
                json.dumps(to_json(observed), allow_nan=False)


def _noise(content: bytes, generator: random.Random) -> bytes:
    """The content cut, repeated, or with pieces of noise in it."""
    choice = generator.random()
    if choice < 0.2:
        return content[: generator.randrange(len(content) + 1)]
    if choice < 0.3:
        return generator.randbytes(generator.randrange(200))
    if choice < 0.4:
        return content * 2
    position = generator.randrange(len(content) + 1)
    return content[:position] + generator.choice(TEXTS).encode() + content[position + generator.randrange(4) :]


def _noisy(host: RecordedHost, generator: random.Random) -> RecordedHost:
    entries = {
        path: Entry(content=_noise(entry.content, generator)) if entry.content is not None else entry
        for path, entry in host.entries.items()
    }
    return RecordedHost(
        entries, host.commands, host.queries, host.environment, host.about, host.answers, host.complete, host.name
    )


def _evidence() -> list[str]:
    return sorted({path.parent.name for path in MACHINES.glob("*/files.json")})


@pytest.mark.parametrize("count", [20, pytest.param(200, marks=pytest.mark.thorough)])
def test_noise_in_every_file_of_recorded_machines(count: int) -> None:
    generator = random.Random(SEED)
    hosts = [CaptureHost(str(MACHINES / name)) for name in _evidence()]
    for number in range(count):
        environment = collect(_noisy(hosts[number % len(hosts)], generator), total_limit_s=60.0)
        assert _survives_json(environment)


def _survives_json(environment: Environment) -> bool:
    text = json.dumps(to_json(environment), allow_nan=False)
    return environment_from_json(json.loads(text), strict=True) == replace(environment, identity=Identity())
