"""Captures: a recording replays to the same facts, masked; a broken one says what is wrong in one line."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from envkit.base.errors import OutputError, SourceError
from envkit.capture.record import record
from envkit.capture.recorded import Answers
from envkit.capture.replay import CaptureHost
from envkit.host.local import LocalHost
from envkit.model import Problem
from envkit.model.facts_json import environment_from_json
from envkit.model.paths import fact, fact_paths
from envkit.probe.collect import collect
from tests.fakes.memory_host import MemoryHost, link, node, program, refused

HOME = "/home/carol"
HOST = "gpubox-17"


def _machine() -> MemoryHost:
    return MemoryHost(
        {
            "/etc/os-release": 'ID=ubuntu\nVERSION_ID="22.04"\nPRETTY_NAME="Ubuntu 22.04"\n',
            "/proc/sys/kernel/osrelease": "6.5.0-28-generic\n",
            "/proc/cpuinfo": "processor : 0\nflags : fpu\n",
            "/proc/modules": "nvidia 1 0 - Live 0x0\nnvidia_uvm 1 0 - Live 0x0\n",
            "/proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.161.07  Sat Feb\n",
            "/dev/kmsg": refused(),
            "/dev/nvidia0": node("195:0", mode="0660", group="video", accessible=False),
            "/dev/nvidiactl": node("195:255"),
            "/usr/local/cuda": link("cuda-12.4"),
            "/usr/local/cuda-12.4/version.json": '{"cuda": {"version": "12.4.1"}}',
            "/usr/local/cuda-12.4/bin/nvcc": program(),
            "/usr/bin/nvidia-smi": program(),
            "/etc/nccl.conf": f"NCCL_SOCKET_IFNAME=eth0\nNCCL_DEBUG_FILE={HOME}/nccl.log\n",
            "/sys/bus/pci/devices/0000:65:00.0/vendor": "0x10de\n",
            "/sys/bus/pci/devices/0000:65:00.0/class": "0x030200\n",
            "/sys/bus/pci/devices/0000:65:00.0/device": "0x20b2\n",
        },
        commands={"/usr/bin/nvidia-smi -L": f"GPU 0: NVIDIA A100 (UUID: GPU-{'a1b2c3d4'}-1111-2222-3333-444455556666)"},
        queries={
            "nvml": {
                "init": {"code": 0, "name": "NVML_SUCCESS", "call": "nvmlInit"},
                "driver_cuda_version": 12020,
                "devices": [
                    {
                        "index": 0,
                        "name": "NVIDIA A100",
                        "gpu_uuid": "GPU-a1b2c3d4-1111-2222-3333-444455556666",
                        "pci_address": "00000000:65:00.0",
                    }
                ],
            },
            "docker": Problem.DENIED,
        },
        variables={"PATH": f"/usr/bin:{HOME}/bin", "HF_TOKEN": "hf_abcdefghijklmnop", "CUDA_HOME": "/usr/local/cuda"},
        identity={
            "kernel": "6.5.0-28-generic",
            "architecture": "x86_64",
            "user": "carol",
            "host": HOST,
            "home": HOME,
            "user_id": "1000",
            "groups": "carol",
        },
        answers=Answers(),
    )


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    record(_machine(), str(tmp_path / "capture"))
    return tmp_path / "capture"


def test_a_recording_replays_to_the_same_facts(capture: Path) -> None:
    recorded = environment_from_json(json.loads((capture / "facts.json").read_text()), strict=True)
    replayed = collect(CaptureHost(str(capture)), 30.0)
    different = [path for path in fact_paths() if fact(recorded, path) != fact(replayed, path)]
    assert different == []
    assert recorded.driver.kernel_module.get().text == "535.161.07"
    assert recorded.pci_gpus.get()[0].device_id == "20B2"


def test_services_that_run_out_of_systemds_sight_are_recorded(tmp_path: Path) -> None:
    gpus = {f"/proc/driver/nvidia/gpus/0000:{bus}:00.0/information": "Model: NVIDIA H200\n" for bus in ("1b", "43")}
    host = MemoryHost(gpus, queries={"services": {"running": ["nv-fabricmanage"]}}, answers=Answers())
    record(host, str(tmp_path / "capture"))
    assert collect(CaptureHost(str(tmp_path / "capture")), 30.0).driver.fabric_manager.value == "running"


def test_a_recording_holds_nothing_that_identifies(capture: Path) -> None:
    text = "".join(path.read_text(errors="replace") + str(path) for path in capture.rglob("*") if path.is_file())
    for secret in ("carol", HOST, "hf_abcdefghijklmnop", "a1b2c3d4-1111"):
        assert secret not in text.replace(str(capture), "")
    assert "/home/user" in text


def test_this_machines_recording_does_not_name_it(tmp_path: Path) -> None:
    record(LocalHost(), str(tmp_path / "here"))
    name = socket.gethostname()
    host = json.loads((tmp_path / "here" / "machine.json").read_text())["identity"]["host"]
    assert host == "host" or host == name and len(name) < 3, "a name of two letters cannot be told from text"


def test_what_nobody_asked_is_not_looked_for(capture: Path) -> None:
    host = CaptureHost(str(capture))
    assert host.read_text("/etc/never-asked").problem is Problem.NOT_LOOKED
    assert host.run(["never", "asked"]).problem is Problem.NOT_LOOKED
    assert host.read_text("/dev/kmsg").problem is Problem.DENIED


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("keep")
    with pytest.raises(OutputError, match="not empty"):
        record(_machine(), str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_an_unwritable_place_is_an_expected_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be written"):
        record(_machine(), str(tmp_path / "file" / "capture"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("machine.json", "{"),
        ("machine.json", "[]"),
        ("machine.json", '{"schema": 99}'),
        ("files.json", "[1]"),
        ("files.json", '{"/etc/x": 1}'),
        ("paths.json", '{"/x": {"knid": "char"}}'),
        ("paths.json", '{"/x": {"problem": "gone"}}'),
        ("paths.json", '{"/x": {"size": "big"}}'),
        ("paths.json", "[]"),
        ("commands.json", '{"a": 1}'),
        ("commands.json", '[{"command": "nvcc"}]'),
        ("commands.json", '[["nvcc", "--version"]]'),
        ("commands.json", '[{"command": ["nvcc"], "exit_code": "0"}]'),
        ("nvml.json", "[]"),
        ("nvml.json", '{"problem": "unheard-of"}'),
        ("answers.json", '{"glob": {}}'),
        ("facts.json", "nonsense"),
    ],
)
def test_a_broken_capture_names_the_file(capture: Path, name: str, text: str) -> None:
    (capture / name).write_text(text)
    with pytest.raises(SourceError) as caught:
        collect(CaptureHost(str(capture)))
    assert name.removesuffix(".json") in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("lost", ["files.json", "commands.json", "answers.json"])
def test_half_a_copy_is_no_capture(capture: Path, lost: str) -> None:
    (capture / lost).unlink()
    with pytest.raises(SourceError, match=f"part of a capture: it has no {lost}"):
        CaptureHost(str(capture))


def test_a_description_alone_is_no_capture(tmp_path: Path) -> None:
    (tmp_path / "machine.json").write_text('{"schema": 1}')
    with pytest.raises(SourceError, match="part of a capture"):
        CaptureHost(str(tmp_path))


def test_a_folder_that_is_no_capture_says_so(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="is not a capture"):
        CaptureHost(str(tmp_path))


def test_a_synthetic_machine_with_links_nodes_and_a_tree(tmp_path: Path) -> None:
    (tmp_path / "machine.json").write_text('{"schema": 1, "identity": {"kernel": "6.1.0"}}')
    (tmp_path / "paths.json").write_text(
        json.dumps(
            {
                "/usr/local/cuda": {"link": "cuda-9.0"},
                "/dev/nvidia0": {"kind": "char", "mode": "0660", "device": "195:0", "accessible": False},
                "/usr/lib/x86_64-linux-gnu/libcuda.so.384.81": {"size": 13_000_000},
                "/sys/kernel/iommu_groups": {"kind": "dir"},
            }
        )
    )
    text = tmp_path / "tree/usr/local/cuda-9.0/version.txt"
    text.parent.mkdir(parents=True)
    text.write_text("CUDA Version 9.0.176\n")
    host = CaptureHost(str(tmp_path))
    assert host.read_text("/usr/local/cuda/version.txt").get() == "CUDA Version 9.0.176\n"
    assert host.status("/dev/nvidia0").get().accessible is False
    assert host.list_dir("/sys/kernel/iommu_groups").get() == ()
    assert host.read_bytes("/usr/lib/x86_64-linux-gnu/libcuda.so.384.81").problem is Problem.NOT_LOOKED
    assert host.status("/usr/lib/x86_64-linux-gnu/libcuda.so.384.81").get().size == 13_000_000
    assert host.read_text("/etc/os-release").problem is Problem.ABSENT


def test_the_origin_of_a_replay_is_its_folder(capture: Path) -> None:
    environment = collect(CaptureHost(str(capture)))
    assert environment.origin == str(capture)
