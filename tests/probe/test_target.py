"""The few facts for a plan are those of the whole probe, on every recorded machine; no library is asked in vain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from envkit.capture.replay import CaptureHost
from envkit.model import Observed
from envkit.probe.target import target_facts
from envkit.solver.request import Request
from envkit.solver.target import for_environment
from envkit.tables import Matrix
from tests.fakes.machines import MACHINES, load_machine, machine_names
from tests.fakes.memory_host import MemoryHost

MATRIX = Matrix.load()
GTX_1080_TI = {"vendor": "0x10de", "class": "0x030000", "device": "0x1b06"}


@pytest.mark.parametrize("name", [name for name in machine_names() if (MACHINES / name / "files.json").exists()])
def test_a_plan_sees_the_machine_as_the_whole_probe_does(name: str) -> None:
    few = target_facts(CaptureHost(str(MACHINES / name)), MATRIX.gpus_by_device_id)
    for container in (False, True):
        request = Request(container=container)
        seen = for_environment(request, few, MATRIX)
        whole = for_environment(request, load_machine(name), MATRIX)
        assert replace(seen, gpus=()) == replace(whole, gpus=())
        assert _kinds(seen) == _kinds(whole)


def _kinds(request: Request) -> set[object]:
    return {gpu.compute_capability for gpu in request.gpus}


class Counting(MemoryHost):
    """A machine that notes which libraries were asked."""

    def query(self, subject: str, limit_s: float = 5.0) -> Observed[Mapping[str, object]]:
        self.asked.append(subject)
        return super().query(subject, limit_s)

    asked: list[str]


def _counting(*devices: Mapping[str, str]) -> Counting:
    files = {
        f"/sys/bus/pci/devices/0000:0{number}:00.0/{name}": text
        for number, device in enumerate(devices)
        for name, text in device.items()
    }
    host = Counting(files)
    object.__setattr__(host, "asked", [])
    return host


@pytest.mark.parametrize(
    ("devices", "asked"),
    [
        ((GTX_1080_TI,), []),
        ((GTX_1080_TI, GTX_1080_TI), []),
        ((GTX_1080_TI, {**GTX_1080_TI, "device": "0x20b2"}), ["nvml"]),
        (({**GTX_1080_TI, "device": "0xffff"},), ["nvml"]),
        ((), ["nvml"]),
    ],
    ids=["one GPU", "two alike", "two models", "unknown model", "none on PCI"],
)
def test_nvml_is_asked_only_where_pci_does_not_tell(devices: tuple[dict[str, str], ...], asked: list[str]) -> None:
    host = _counting(*devices)
    target_facts(host, MATRIX.gpus_by_device_id)
    assert host.asked == asked
