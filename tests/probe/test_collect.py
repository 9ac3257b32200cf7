"""Probes side by side: every fact is owned by one probe, late ones are timed out, and a report always comes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from envkit.assume import fact_paths, observed_at
from envkit.facts import Observed, Problem
from envkit.host.local import LocalHost
from envkit.probe import collect as collecting
from envkit.probe.collect import collect
from tests.fakes.memory_host import MemoryHost
from tests.fakes.nvml import build, eight, host_with

# What no probe of a live machine fills: pasted texts fill messages, `--deep` fills measurements.
NOT_PROBED = {"messages", "measurements"}


class StuckHost(MemoryHost):
    """A machine whose PCI folder never lists and whose NVML never answers."""

    def __init__(self) -> None:
        super().__init__({"/etc/os-release": "ID=debian\nVERSION_ID=12\n"})
        object.__setattr__(self, "released", threading.Event())

    released: threading.Event

    def list_dir(self, path: str) -> Observed[tuple[str, ...]]:
        if path == "/sys/bus/pci/devices":
            self.released.wait(60)
        return super().list_dir(path)

    def query(self, subject: str, limit_s: float = 5.0) -> Observed[Mapping[str, object]]:
        if subject == "nvml":
            self.released.wait(60)
        return super().query(subject, limit_s)


def test_each_fact_is_owned_by_exactly_one_probe() -> None:
    paths = [path for task in collecting._tasks(5.0, lambda device: None) for path in task.paths]
    assert len(paths) == len(set(paths))
    assert set(paths) - {"cuda"} == set(fact_paths()) - NOT_PROBED


@pytest.mark.parametrize("task", collecting._tasks(5.0, lambda device: None), ids=lambda task: task.name)
def test_a_probe_answers_exactly_what_it_owns(task: collecting.Task) -> None:
    for host in (MemoryHost({}), LocalHost()):
        assert set(task.run(host)) == set(task.paths)


def test_on_an_empty_machine_no_fact_is_invented() -> None:
    environment = collect(MemoryHost({}))
    for path in fact_paths():
        observed = observed_at(environment, path)
        if observed.known:
            assert path in {"driver.persistence_daemon", "containers.device_links"} or not observed.get(), path


def test_late_probes_are_timed_out_and_the_others_are_there() -> None:
    host = StuckHost()
    began = time.monotonic()
    environment = collect(host, total_limit_s=0.6)
    took = time.monotonic() - began
    host.released.set()
    assert took < 1.2
    assert environment.pci_gpus.problem is Problem.TIMED_OUT
    assert environment.gpus.problem is Problem.TIMED_OUT
    assert environment.system.os.get().os_id == "debian12"


def test_progress_names_every_probe() -> None:
    seen: list[str] = []
    collect(MemoryHost({}), progress=seen.append)
    assert sorted(seen) == sorted(task.name for task in collecting._tasks(5.0, lambda device: None))


@pytest.mark.parametrize(
    "error", [ZeroDivisionError, AttributeError, KeyError, OSError, RecursionError, TypeError, UnicodeError]
)
def test_a_broken_probe_is_named_and_costs_only_its_own_facts(error: type[Exception]) -> None:
    class Broken(MemoryHost):
        def list_dir(self, path: str) -> Observed[tuple[str, ...]]:
            if path == "/sys/bus/pci/devices":
                raise error("a bug")
            return super().list_dir(path)

    environment = collect(Broken({"/etc/os-release": "ID=debian\nVERSION_ID=12\n"}))
    assert environment.pci_gpus.problem is Problem.UNPARSABLE
    assert "PCI probe" in environment.pci_gpus.detail
    assert error.__name__ in environment.pci_gpus.detail
    assert environment.system.os.get().os_id == "debian12"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("fake-nvml"))


def _hanging(library: Path, tmp_path: Path) -> Mapping[str, str]:
    """The variables of a machine where nvidia-smi and NVML hang for ever and cannot be told to stop."""
    smi = tmp_path / "bin" / "nvidia-smi"
    smi.parent.mkdir()
    smi.write_text("#!/bin/sh\ntrap '' TERM INT HUP\nwhile :; do sleep 600; done\n")
    smi.chmod(0o755)
    variables = host_with(library, tmp_path, eight(hang="nvmlInitWithFlags")).variables()
    return {**variables, "PATH": f"{smi.parent}:{os.environ['PATH']}"}


def test_a_hanging_driver_is_reported_as_such(library: Path, tmp_path: Path) -> None:
    host = LocalHost(_hanging(library, tmp_path))
    began = time.monotonic()
    environment = collect(host, total_limit_s=2.0)
    assert time.monotonic() - began < 3.0
    assert environment.driver.nvml.problem is Problem.TIMED_OUT
    assert environment.driver.nvidia_smi.problem is Problem.TIMED_OUT
    assert environment.gpus.problem is Problem.TIMED_OUT
    assert environment.system.architecture.known


def test_the_whole_program_ends_within_six_seconds_when_the_driver_hangs(library: Path, tmp_path: Path) -> None:
    began = time.monotonic()
    result = subprocess.run(
        [sys.executable, "-m", "envkit", "doctor", "--json"],
        env=dict(_hanging(library, tmp_path)),
        capture_output=True,
        text=True,
        timeout=30,
    )
    took = time.monotonic() - began
    assert result.returncode in (0, 1), result.stderr
    assert took < 6.0
    assert "timed-out" in result.stdout


def test_a_gpu_without_a_driver_has_its_name_from_the_table() -> None:
    device = "/sys/bus/pci/devices/0000:65:00.0"
    host = MemoryHost({f"{device}/vendor": "0x10de", f"{device}/class": "0x030200", f"{device}/device": "0x20b2"})
    (gpu,) = collect(host).pci_gpus.get()
    assert "A100" in gpu.name
    assert str(gpu.compute_capability) == "8.0"
