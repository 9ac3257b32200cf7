"""Texts of several machines: each is diagnosed on its own, and what belongs together stays together."""

from __future__ import annotations

from pathlib import Path

import pytest

from envkit.ingest import parse_texts
from envkit.ingest.machines import machines_in
from tests.cli.run import envkit

_A100 = "GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-11111111-2222-3333-4444-555555555555)\n"
_MISMATCH = "Failed to initialize NVML: Driver/library version mismatch\n"
_THREE = (
    f"Three nodes:\nuser@gpu01:~$ nvidia-smi -L\n{_A100}user@gpu02:~$ nvidia-smi\n{_MISMATCH}"
    "user@gpu03:~$ sudo dmesg | grep NVRM\n[ 12.3] NVRM: GPU 0000:3b:00.0: RmInitAdapter failed! (0x24:0xffff:1211)\n"
)
_3090 = "RTX 3090, nvidia-smi: Driver Version: 550.120\ntorch 2.4.0+cpu, torch.cuda.is_available() is False\n"
_5080 = "WSL2, RTX 5080\nRuntimeError: CUDA error: no kernel image is available for execution on the device\n"


def _labels(*texts: str) -> list[str]:
    named = [(f"{number}.txt" if len(texts) > 1 else "", text) for number, text in enumerate(texts)]
    return [label for label, _ in machines_in(named, parse_texts)]


def test_hosts_named_alike_are_machines_of_their_own() -> None:
    assert _labels(_THREE) == ["user@gpu01", "user@gpu02", "user@gpu03"]
    parts = {label: named[0][1] for label, named in machines_in([("", _THREE)], parse_texts)}
    assert "mismatch" in parts["user@gpu02"] and not any(
        "mismatch" in parts[host] for host in ("user@gpu01", "user@gpu03")
    )
    assert all(part.count("\n") == _THREE.count("\n") for part in parts.values())  # lines keep their numbers
    assert all("Three nodes" in part for part in parts.values())


@pytest.mark.parametrize(
    "text",
    [
        _THREE.replace("gpu02", "gpu01").replace("gpu03", "gpu01"),  # one host
        _THREE.replace("gpu01", "login1").replace("gpu02", "login1"),  # a login node and its compute node
        f"{_THREE}user@gpu01:~$ mpirun -np 2 -host gpu01,gpu02 ./all_reduce_perf\n",  # one job
        _THREE.replace("gpu02", "4be71c02c9a7").replace("gpu03", "4be71c02c9a7"),  # a container on the host
        f"user@gpu01:~$ nvidia-smi\n{_MISMATCH}user@gpu02:~$ uptime\n up 3 days\n",  # of one of them nothing is known
    ],
)
def test_what_is_of_one_machine_or_one_job_stays_together(text: str) -> None:
    assert _labels(text) == [""]


def test_files_about_different_gpus_are_of_different_machines() -> None:
    assert _labels(_3090, _5080) == ["0.txt", "1.txt"]
    assert _labels(_3090, _MISMATCH) == [""]
    assert _labels(_A100, "NVIDIA A100-SXM4-80GB\n" + _MISMATCH) == [""]


def test_each_machine_has_its_report(tmp_path: Path) -> None:
    path = tmp_path / "three.txt"
    path.write_text(_THREE)
    result = envkit("doctor", "--from", str(path))
    assert result.stdout.count("=== pasted text of user@gpu0") == 3
    masked = envkit("doctor", "--mask", "--from", str(path))
    assert "gpu01" not in masked.stdout
