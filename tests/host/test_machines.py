"""The machines recorded under tests/machines load, name nobody, and the real one is what it was."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from envkit.model import MachineKind, Problem
from envkit.model.facts_json import environment_from_json
from envkit.model.paths import fact, fact_paths
from tests.fakes.machines import MACHINES, load_machine, machine_names

REAL = "debian12-none-none"


@pytest.mark.parametrize("name", machine_names())
def test_a_machine_loads_and_says_what_it_is(name: str) -> None:
    about = json.loads((MACHINES / name / "machine.json").read_text("utf-8"))
    assert about["kind"] in ("real", "synthetic")
    assert about["description"]
    environment = load_machine(name)
    assert any(fact(environment, path).known for path in fact_paths())


@pytest.mark.parametrize("path", sorted(MACHINES.glob("*/facts.json")), ids=lambda path: path.parent.name)
def test_the_facts_of_a_machine_hold_no_unknown_key(path: Path) -> None:
    environment_from_json(json.loads(path.read_text("utf-8")), strict=True)


@pytest.mark.parametrize("name", machine_names())
def test_a_machine_names_nobody(name: str) -> None:
    for path in (MACHINES / name).rglob("*"):
        if path.is_file():
            text = path.read_text("utf-8", errors="replace")
            assert not re.search(r"/home/(?!user\d*\b)\w+|/Users/", text), path
            assert not re.search(r"hf_[A-Za-z0-9]{10}|ghp_|AKIA[A-Z0-9]{8}", text), path


def test_the_recorded_toolkit_is_found_behind_its_wrapper() -> None:
    environment = load_machine(REAL)
    (toolkit,) = environment.cuda_toolkits.get()
    assert (str(toolkit.version), toolkit.real_path, toolkit.complete) == ("13.0.88", "/usr/local/cuda-13.0", True)
    assert str(toolkit.gcc_max) == "15"
    nvcc = environment.nvcc.get()
    assert (nvcc.path, nvcc.wrapper, nvcc.toolkit_path) == ("/usr/local/bin/nvcc", True, "/usr/local/cuda-13.0")


def test_the_recorded_machine_has_no_gpu_and_says_why_the_rest_is_missing() -> None:
    environment = load_machine(REAL)
    assert environment.pci_gpus.get() == ()
    assert environment.system.machine_kind.get() is MachineKind.VM
    assert environment.driver.nvml.get().name == "NVML_ERROR_LIBRARY_NOT_FOUND"
    assert environment.gpus.problem is Problem.ABSENT
    assert environment.driver.cuda_init.problem is Problem.ABSENT
    assert str(environment.containers.docker.get().version) == "20.10.24"


def test_the_recorded_machine_replays_to_the_facts_of_its_day() -> None:
    recorded = environment_from_json(json.loads((MACHINES / REAL / "facts.json").read_text("utf-8")), strict=True)
    replayed = load_machine(REAL)
    assert [path for path in fact_paths() if fact(recorded, path) != fact(replayed, path)] == []
