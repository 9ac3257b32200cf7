"""The real pynvml in its child process, against a compiled stand-in for libnvidia-ml.so.1."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pynvml
import pytest

from envkit.base.versions import ComputeCapability, Version
from envkit.model import Gpu, Problem
from envkit.probe import nvml
from tests.fakes.nvml import A100, BOX, build, eight, host_with, one, variables

MIB, GIB = 1024**2, 1024**3
pytestmark = pytest.mark.usefixtures("loaded_driver")

ERROR_CODES = sorted(
    code
    for name in dir(pynvml)
    if re.fullmatch(r"NVML_ERROR_[A-Z_]+", name) and isinstance(code := getattr(pynvml, name), int) and code > 0
)


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("fake-nvml"))


def test_a_healthy_box_with_eight_gpus(library: Path, tmp_path: Path) -> None:
    facts = nvml.probe(host_with(library, tmp_path, eight(vbios="92.00.45.00.05", d3_vbios="92.00.36.00.01")), 5.0)
    assert facts["driver.nvml"].get().code == 0
    assert facts["driver.driver_cuda_version"].get() == Version.parse("12.2")
    gpus = facts["gpus"].get()
    assert [gpu.index for gpu in gpus] == list(range(8))
    assert {gpu.name for gpu in gpus} == {"NVIDIA A100-SXM4-80GB"}
    assert gpus[3].pci_address == "0000:3a:00.0"
    assert (gpus[0].vbios, gpus[3].vbios) == ("92.00.45.00.05", "92.00.36.00.01")
    first = gpus[0]
    assert first.compute_capability == ComputeCapability(8, 0)
    assert (first.memory_bytes, first.memory_used_bytes) == (85899345920, 0)
    assert (first.link_generation_current, first.link_width_current, first.link_width_max) == (4, 16, 16)
    assert (first.power_limit_w, first.power_limit_default_w) == (400.0, 400.0)
    assert (first.persistence_mode, first.compute_mode, first.ecc_mode) == (True, "default", True)
    assert (first.nvlinks_active, first.nvlinks_total, first.throttle_reasons) == (12, 12, 1)
    assert (first.mig_mode, first.mig_instances, first.fabric_state) == (False, None, "not-supported")
    assert (first.processes, first.lost_processes) == ((), ())
    assert (first.virtualization_mode, first.licensed, first.display_active) == ("none", None, False)
    assert first.gpu_uuid == "GPU-00000000-0000-0000-0000-000000000000"


def test_every_gpu_of_a_mixed_box_keeps_its_own_answers(library: Path, tmp_path: Path) -> None:
    settings = {
        **BOX,
        "count": 2,
        "0.name": "NVIDIA GeForce GTX 1080 Ti",
        "0.compute_capability": "6.1",
        "0.pci_address": "00000000:01:00.0",
        "1.name": "NVIDIA GeForce RTX 5090",
        "1.compute_capability": "12.0",
        "1.pci_address": "00010000:81:00.0",
        "1.memory_bytes": 34190917632,
    }
    old, new = nvml.probe(host_with(library, tmp_path, settings), 5.0)["gpus"].get()
    assert (old.name, old.compute_capability, old.memory_bytes) == (
        "NVIDIA GeForce GTX 1080 Ti",
        ComputeCapability(6, 1),
        None,
    )
    assert (new.name, new.compute_capability, new.pci_address) == (
        "NVIDIA GeForce RTX 5090",
        ComputeCapability(12, 0),
        "10000:81:00.0",
    )
    assert old.persistence_mode is None, "not supported is not False"


@pytest.mark.parametrize("code", ERROR_CODES)
def test_each_error_of_the_first_call_is_named(library: Path, tmp_path: Path, code: int) -> None:
    facts = nvml.probe(host_with(library, tmp_path, {"error.nvmlInitWithFlags": code}), 5.0)
    call = facts["driver.nvml"].get()
    assert call.code == code
    assert getattr(pynvml, call.name) == code
    assert call.text
    expected = {4: Problem.DENIED, 9: Problem.ABSENT, 10: Problem.TIMED_OUT, 12: Problem.ABSENT}
    assert facts["gpus"].problem is expected.get(code, Problem.UNPARSABLE)


def test_there_are_more_than_twenty_error_codes() -> None:
    assert len(ERROR_CODES) > 20


def test_one_lost_gpu_does_not_hide_the_others(library: Path, tmp_path: Path) -> None:
    lost = {"error.3.nvmlDeviceGetHandleByIndex_v2": 15}
    gpus = nvml.probe(host_with(library, tmp_path, eight() | lost), 5.0)["gpus"].get()
    assert [gpu.error for gpu in gpus] == ["", "", "", "NVML_ERROR_GPU_IS_LOST", "", "", "", ""]
    assert gpus[3].memory_bytes is None and gpus[4].memory_bytes == A100["memory_bytes"]


def test_no_device_is_an_answer(library: Path, tmp_path: Path) -> None:
    facts = nvml.probe(host_with(library, tmp_path, {**BOX, "count": 0}), 5.0)
    assert facts["gpus"].get() == ()


def test_mig_instances_are_listed(library: Path, tmp_path: Path) -> None:
    gpus = nvml.probe(host_with(library, tmp_path, eight(mig_mode=1, d0_mig_instances=2)), 5.0)["gpus"].get()
    assert gpus[0].mig_mode is True
    assert gpus[0].mig_instances == (
        "MIG-00000000-0000-0000-0000-000000000001",
        "MIG-00000000-0000-0000-0000-000000000002",
    )
    assert gpus[1].mig_instances == (), "enabled without an instance"


def test_a_degraded_link_is_told_apart_from_an_idle_one(library: Path, tmp_path: Path) -> None:
    gpus = nvml.probe(host_with(library, tmp_path, eight(d5_link_width_current=8, d6_link_generation_current=1)), 5.0)[
        "gpus"
    ].get()
    assert (gpus[5].link_width_current, gpus[5].link_width_max) == (8, 16)
    assert (gpus[6].link_generation_current, gpus[6].link_generation_max) == (1, 4)


def test_health_counters(library: Path, tmp_path: Path) -> None:
    settings = eight(
        d0_ecc_uncorrectable=3,
        d0_remapped_rows_pending=1,
        d0_remapped_rows_failed=1,
        d1_throttle_reasons="0x48",
        d1_retired_pages_pending=1,
        d2_compute_mode=3,
        d2_fabric_state=2,
        d3_licensed=0,
        d3_virtualization_mode=2,
        d4_licensed=1,
        d4_virtualization_mode=2,
        d5_processes="1 999999999",
    )
    gpus = nvml.probe(host_with(library, tmp_path, settings), 5.0)["gpus"].get()
    assert (gpus[0].ecc_uncorrectable, gpus[0].remapped_rows_pending, gpus[0].remapped_rows_failed) == (3, True, True)
    assert (gpus[1].throttle_reasons, gpus[1].retired_pages_pending) == (0x48, True)
    assert (gpus[2].compute_mode, gpus[2].fabric_state) == ("exclusive-process", "in-progress")
    assert (gpus[3].licensed, gpus[4].licensed, gpus[5].licensed) == (False, True, None)
    assert gpus[5].processes == (1, 999999999)


@pytest.mark.parametrize("function", ["nvmlInitWithFlags", "nvmlDeviceGetCount_v2", "nvmlDeviceGetPciInfo_v3"])
def test_a_call_that_never_returns_is_given_up(library: Path, tmp_path: Path, function: str) -> None:
    host = host_with(library, tmp_path, eight(hang=function))
    began = time.monotonic()
    facts = nvml.probe(host, 1.0)
    assert time.monotonic() - began < 10.0
    assert facts["gpus"].problem is Problem.TIMED_OUT
    assert facts["driver.nvml"].problem is Problem.TIMED_OUT


def test_a_crash_in_the_library_costs_the_child_alone(library: Path, tmp_path: Path) -> None:
    facts = nvml.probe(host_with(library, tmp_path, eight(crash="nvmlDeviceGetName")), 5.0)
    assert {gpu.error for gpu in facts["gpus"].get()} == {"the child died of SIGSEGV"}


def test_what_a_library_prints_does_not_spoil_the_answer(library: Path, tmp_path: Path) -> None:
    settings = {"print": "WARNING: You should always run with libnvidia-ml.so", "error.nvmlInitWithFlags": 9}
    facts = nvml.probe(host_with(library, tmp_path, settings), 5.0)
    assert (facts["driver.nvml"].get().code, facts["driver.nvml"].get().name) == (9, "NVML_ERROR_DRIVER_NOT_LOADED")


def test_the_child_tells_which_file_it_loaded(library: Path, tmp_path: Path) -> None:
    answer = host_with(library, tmp_path, eight()).query("nvml").get()
    assert answer["library"] == str(library / "libnvidia-ml.so.1")


def test_single_calls_that_fail_are_kept_with_their_names(library: Path, tmp_path: Path) -> None:
    gpus = probed(library, tmp_path, eight() | {"error.2.nvmlDeviceGetPersistenceMode": 999})
    assert gpus[2].failed == {"persistence_mode": "NVML_ERROR_UNKNOWN"}
    assert gpus[1].failed == {}


@pytest.fixture(scope="session")
def library_470(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("fake-nvml-470"), 470)


def test_a_driver_before_510_tells_all_that_it_can(library_470: Path, tmp_path: Path) -> None:
    settings = eight(memory_reserved_bytes=GIB, driver="470.256.02", cuda=11040, d1_processes="1 2")
    facts = nvml.probe(host_with(library_470, tmp_path, settings), 5.0)
    assert facts["driver.nvml"].get().code == 0
    gpus = facts["gpus"].get()
    assert [gpu.processes for gpu in gpus[:2]] == [(), (1, 2)]
    assert (gpus[0].memory_bytes, gpus[0].memory_used_bytes) == (79 * GIB, 0)
    assert gpus[0].memory_reserved_bytes is None
    assert (gpus[0].temperature_c, gpus[0].throttle_reasons, gpus[0].failed) == (31, 1, {})
    assert (gpus[0].fabric_state, gpus[0].link_generation_device_max) == (None, None)


def test_what_the_driver_keeps_for_itself_is_not_used_memory(library: Path, tmp_path: Path) -> None:
    (gpu,) = probed(library, tmp_path, one(memory_reserved_bytes=655 * MIB, memory_used_bytes=4 * MIB))
    assert (gpu.memory_used_bytes, gpu.memory_reserved_bytes) == (4 * MIB, 655 * MIB)


@pytest.mark.parametrize("size", [16, 24, 32])
def test_processes_are_read_whatever_the_size_of_an_entry(library: Path, tmp_path: Path, size: int) -> None:
    lists = ["7", "7 8", "7 8 9 10 11", " ".join(str(pid) for pid in range(1, 71))]
    settings = eight(process_bytes=size, graphics_processes="4000000", count=len(lists))
    gpus = probed(library, tmp_path, settings | {f"{i}.processes": pids for i, pids in enumerate(lists)})
    assert [gpu.processes for gpu in gpus] == [(*(int(pid) for pid in pids.split()), 4000000) for pids in lists]


def test_a_list_of_processes_of_another_form_is_no_list(library: Path, tmp_path: Path) -> None:
    (gpu,) = probed(library, tmp_path, one(process_bytes=40, processes="7 8"))
    assert gpu.processes is None and "80 bytes for 2 processes" in gpu.failed["processes"]


def test_instances_that_may_not_be_seen_are_not_none(library: Path, tmp_path: Path) -> None:
    refused = {"error.nvmlDeviceGetMigDeviceHandleByIndex": 4}
    (gpu,) = probed(library, tmp_path, one(mig_mode=1, mig_instances=2) | refused)
    assert (gpu.mig_mode, gpu.mig_instances) == (True, None)
    assert gpu.failed == {"mig_instances": "NVML_ERROR_NO_PERMISSION"}


def test_links_that_a_board_leaves_out_do_not_hide_those_after_them(library: Path, tmp_path: Path) -> None:
    (gpu,) = probed(library, tmp_path, one(nvlinks_masked="2 3"))
    assert (gpu.nvlinks_active, gpu.nvlinks_total) == (10, 10)
    (without,) = probed(library, tmp_path, one(nvlinks_total=0))
    assert (without.nvlinks_active, without.nvlinks_total) == (None, None)


def test_a_fabric_that_was_joined_in_vain_is_not_completed(library: Path, tmp_path: Path) -> None:
    cases = [(0, 0, "not-supported"), (2, 0, "in-progress"), (3, 0, "completed"), (3, 999, "failed"), (9, 0, "state 9")]
    settings = {f"{i}.fabric_state": case[0] for i, case in enumerate(cases)}
    settings |= {f"{i}.fabric_status": case[1] for i, case in enumerate(cases)}
    gpus = probed(library, tmp_path, eight(count=len(cases)) | settings)
    assert [gpu.fabric_state for gpu in gpus] == [case[2] for case in cases]


def test_only_a_virtual_gpu_needs_a_license(library: Path, tmp_path: Path) -> None:
    cases = {  # virtualization mode, a feature is enabled, it is licensed
        "metal": (0, 0, 0, None),
        "passthrough": (1, 0, 0, None),
        "passthrough with a feature enabled": (1, 1, 0, None),
        "guest without": (2, 1, 0, False),
        "guest with": (2, 1, 1, True),
        "guest without an enabled feature": (2, 0, 0, None),
    }
    keys = ("virtualization_mode", "license_enabled", "licensed")
    settings = {
        f"{i}.{key}": value for i, case in enumerate(cases.values()) for key, value in zip(keys, case, strict=False)
    }
    gpus = probed(library, tmp_path, eight(count=len(cases)) | settings)
    assert [gpu.licensed for gpu in gpus] == [case[3] for case in cases.values()]


@pytest.mark.parametrize("function", ["nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetPciInfo_v3"])
def test_one_gpu_that_never_answers_costs_its_own_answers(library: Path, tmp_path: Path, function: str) -> None:
    gpus = probed(library, tmp_path, eight() | {"hang.3": function}, 2.0)
    assert [gpu.error for gpu in gpus] == [*[""] * 3, "NVML_ERROR_TIMEOUT", *[""] * 4]
    assert {gpu.memory_bytes for gpu in gpus if not gpu.error} == {A100["memory_bytes"]}


def test_one_gpu_that_crashes_the_library_costs_its_own_answers(library: Path, tmp_path: Path) -> None:
    gpus = probed(library, tmp_path, eight() | {"crash.3": "nvmlDeviceGetName"})
    assert [bool(gpu.error) for gpu in gpus] == [False] * 3 + [True] + [False] * 4


@pytest.mark.thorough
def test_a_slow_start_is_waited_for(library: Path, tmp_path: Path) -> None:
    slow = eight() | {"delay.nvmlInitWithFlags": 0.6, "delay.nvmlDeviceGetHandleByIndex_v2": 0.1}
    assert [gpu.error for gpu in probed(library, tmp_path, slow, 4.0)] == [""] * 8


def test_a_call_that_does_not_return_is_named(library: Path, tmp_path: Path) -> None:
    facts = nvml.probe(host_with(library, tmp_path, eight() | {"hang": "nvmlInitWithFlags"}), 0.8)
    assert facts["driver.nvml"].detail == "nvmlInit has not returned within 0.8 s"


def test_a_name_that_the_binding_lacks_costs_what_only_it_could_tell(library: Path, tmp_path: Path) -> None:
    settings = one(virtualization_mode=2, licensed=1, mig_mode=1, mig_instances=1, processes="1")
    environment = {**os.environ, **variables(library, tmp_path, settings)}
    command = [sys.executable, "-m", "tests.fakes.nvml.without"]
    told = json.loads(subprocess.run(command, env=environment, check=True, capture_output=True).stdout)
    assert len(told["answered"]) > 35 and len(told["lost"]) > 35
    assert max(len(fields) for fields in told["lost"].values()) <= 3
    harmless = {name for name, fields in told["lost"].items() if not fields}
    assert harmless >= {"nvmlDeviceGetTemperatureV", "nvmlDeviceGetCurrentClocksEventReasons"}
    assert harmless >= {"nvmlDeviceGetGpuFabricInfoV", "nvmlSystemGetCudaDriverVersion_v2"}
    assert told["lost"]["nvmlMemory_v2"] == ["memory_reserved_bytes"]


def probed(library: Path, work: Path, settings: dict[str, object], limit_s: float = 5.0) -> tuple[Gpu, ...]:
    gpus: tuple[Gpu, ...] = nvml.probe(host_with(library, work, settings), limit_s)["gpus"].get()
    return gpus
