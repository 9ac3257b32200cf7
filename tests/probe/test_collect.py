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

from envkit.host import driver_loaded
from envkit.host.local import LocalHost
from envkit.model import Observed, Problem, missing
from envkit.model.paths import fact, fact_paths
from envkit.probe import collect as collecting
from envkit.probe.collect import collect
from tests.fakes.memory_host import Content, MemoryHost, late, node
from tests.fakes.nvml import build, eight, host_with

pytestmark = pytest.mark.usefixtures("loaded_driver")
# What no probe of a live machine fills: pasted texts fill messages, `--deep` fills measurements.
TOLD_BY_TEXTS = {
    "containers.host_listed",
    "containers.image",
    "containers.node_devices",
    "containers.started_by",
    "system.firmware",
    "system.gpu_enclosure",
    "system.hosted_guests",
    "system.meant_without_gpu",
    "traceback_python",
}
NOT_PROBED = {"messages", "measurements", *TOLD_BY_TEXTS}


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
        observed = fact(environment, path)
        if observed.known:
            assert path in {"driver.persistence_daemon", "containers.device_links"} or not observed.get(), path


def test_late_probes_are_timed_out_and_the_others_are_there() -> None:
    host = StuckHost()
    began = time.monotonic()
    environment = collect(host, total_limit_s=0.6)
    took = time.monotonic() - began
    host.released.set()
    assert took < 5.0
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
    """The variables of a machine where nvidia-smi and NVML hang forever and cannot be told to stop."""
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
    assert time.monotonic() - began < 10.0
    assert environment.driver.nvml.problem is Problem.TIMED_OUT
    assert environment.driver.nvidia_smi.problem is Problem.TIMED_OUT
    assert environment.gpus.problem is Problem.TIMED_OUT
    assert environment.system.architecture.known


WITH_A_DRIVER = """
from envkit.host import driver_loaded
driver_loaded.surely_not_loaded = lambda: False
from envkit.__main__ import main
main()
"""


@pytest.mark.thorough
def test_the_whole_program_ends_although_the_driver_hangs(library: Path, tmp_path: Path) -> None:
    result = subprocess.run(  # some five seconds on a quiet machine; the driver would hang for an hour
        [sys.executable, "-c", WITH_A_DRIVER, "doctor", "--json"],
        env=dict(_hanging(library, tmp_path)),
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert result.returncode in (0, 1), result.stderr
    assert "timed-out" in result.stdout


INFORMATION = "/proc/driver/nvidia/gpus/0000:07:00.0/information"
STARTED, NOT_STARTED = "GPU UUID: \t GPU-1b2c3d4e-0000", "GPU UUID: \t GPU-????????-????"


class SlowHost(MemoryHost):
    """A machine whose NVML takes half a second."""

    def query(self, subject: str, limit_s: float = 5.0) -> Observed[Mapping[str, object]]:
        if subject == "nvml":
            if limit_s < 0.5:
                time.sleep(limit_s)
                return missing(Problem.TIMED_OUT, "nvml", "late")
            time.sleep(0.5)
        return super().query(subject, limit_s)


@pytest.mark.parametrize(
    ("files", "option", "answers"),
    [
        ({INFORMATION: NOT_STARTED}, None, True),
        ({INFORMATION: late()}, None, True),
        ({INFORMATION: STARTED}, None, False),
        ({INFORMATION: STARTED}, 2.0, True),
        ({INFORMATION: NOT_STARTED, "/run/nvidia-persistenced/socket": node("0:0")}, None, False),
        ({INFORMATION: STARTED, "/sys/bus/pci/drivers/nvidia/0000:01:00.0/power_state": "D3cold\n"}, None, True),
        ({INFORMATION: STARTED, "/sys/bus/pci/drivers/nvidia/0000:01:00.0/power_state": "D0\n"}, None, False),
        ({}, None, False),
    ],
)
def test_a_driver_that_has_to_start_its_gpus_is_waited_for(
    files: Mapping[str, Content], option: float | None, answers: bool
) -> None:
    nvml = {"init": {"code": 0, "name": "NVML_SUCCESS"}, "count": 0, "devices": []}
    told: list[str] = []
    environment = collect(SlowHost(files, queries={"nvml": nvml}), 0.2, driver_limit_s=option, tell=told.append)
    assert environment.gpus.known is answers
    assert any("Waiting for the driver" in line for line in told) is answers
    assert any("querying the driver wakes it" in line for line in told) is ("D3cold" in str(files))
    assert environment.driver.nvml.known is answers


def test_the_power_state_of_a_sleeping_gpu_is_what_it_was_before_it_was_woken() -> None:
    device = "/sys/bus/pci/devices/0000:01:00.0"
    bound = "/sys/bus/pci/drivers/nvidia/0000:01:00.0/power_state"
    files = {f"{device}/vendor": "0x10de", f"{device}/class": "0x030000", f"{device}/power_state": "D0"}
    (gpu,) = collect(MemoryHost({**files, bound: "D3cold"})).pci_gpus.get()
    assert gpu.power_state == "D3cold"


def test_without_a_driver_nothing_is_asked_that_would_make_one(
    library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Libraries, tools and device nodes load the module or create nodes; the answers are without asking."""
    monkeypatch.setattr(driver_loaded, "surely_not_loaded", lambda: True)
    host = LocalHost(_hanging(library, tmp_path))
    environment = collect(host, total_limit_s=3.0)
    assert environment.driver.nvml.get().name == "NVML_ERROR_DRIVER_NOT_LOADED"
    assert environment.driver.nvidia_smi.get().code == 9
    assert host.query("cuda").value is None or host.query("cuda").get().get("load_error")
    assert host.query("nodes").get() == {}


def test_a_gpu_without_a_driver_has_its_name_from_the_table() -> None:
    device = "/sys/bus/pci/devices/0000:65:00.0"
    host = MemoryHost({f"{device}/vendor": "0x10de", f"{device}/class": "0x030200", f"{device}/device": "0x20b2"})
    (gpu,) = collect(host).pci_gpus.get()
    assert "A100" in gpu.name
    assert str(gpu.compute_capability) == "8.0"
