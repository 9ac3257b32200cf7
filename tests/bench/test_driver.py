"""A GPU measured through its driver alone, and asked meanwhile; the driver is a stand-in that copies for real."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from envkit._startup.records import replace
from envkit.bench.jobs import Job, jobs_for
from envkit.bench.measurement import Measurement, measured
from envkit.bench.verdicts import Device, judged, left_to_driver
from envkit.host.bench import BenchChild, run_measuring
from envkit.model import Environment, Gpu, found
from envkit.render.bench_prometheus import bench_prometheus
from envkit.render.bench_report import bench_text
from envkit.tables.bench import runner
from tests.advice.judging import envkit
from tests.programs import require

HERE = Path(__file__).parent
GPU = Gpu(0, "NVIDIA Test Card", pci_address="0000:65:00.0", power_limit_w=300.0, processes=())
SMALL = 1 << 20


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require("gcc")
    folder = tmp_path_factory.mktemp("driver")
    for name in ("libcuda.so.1", "libnvidia-ml.so.1"):
        source = str(HERE / "fake_driver.c")
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", folder / name, source], check=True)
    return folder


def _run(
    library: Path, jobs: Sequence[Job], near: Sequence[int] = (), variables: Mapping[str, str] = {}
) -> dict[str, Measurement]:
    settings: dict[str, Any] = {"framework": "driver", "device": "gpu", "seconds": 0.1, "pci": GPU.pci_address}

    def start(pending: Sequence[Job]) -> BenchChild:
        wanted = {**settings, "near": near, "jobs": [job.settings for job in pending]}
        given = {"LD_LIBRARY_PATH": str(library), **(variables or {})}
        return run_measuring(sys.executable, runner("driver"), wanted, given, 20)

    return {row.job.id: row for row in measured(jobs, "driver", start)}


def _jobs(*ids: str) -> list[Job]:
    every = {job.id: job for job in jobs_for(("copy", "membw"), "gpu", (), ())}
    return [Job(job.id, job.kind, bytes=SMALL, pinned=job.pinned, direction=job.direction, needs=2 * SMALL)
            for job in map(every.__getitem__, ids or every)]  # fmt: skip


def test_copies_and_memory_without_a_framework(library: Path) -> None:
    rows = _run(library, _jobs())
    assert set(rows) == {"copy.h2d", "copy.h2d.pageable", "copy.d2h", "copy.d2h.pageable", "membw"}
    assert all(row.value and not row.problem and row.version == "CUDA 12.4" for row in rows.values()), rows


def test_the_gpu_is_asked_while_it_is_measured(library: Path) -> None:
    row = _run(library, _jobs("membw"))["membw"]
    assert dict(row.conditions) == {
        "sm_clock": 1200, "sm_clock_max": 1980, "power": 250.4, "temperature": 61, "throttle": 0x40,
    }  # fmt: skip
    verdict = judged(row, Device("GPU 0: a card", GPU, driver="550.120"), None)
    header = bench_text([verdict], 120).splitlines()[0]
    assert header == "GPU 0: a card · driver 550.120 · 1200 MHz of 1980 · 250 W of 300 · 61 °C · idle before"


@pytest.mark.parametrize(
    ("variable", "problem", "told"),
    [("FAKE_NO_GPU", "no-gpu", "CUDA_ERROR_NO_DEVICE"), ("FAKE_FULL", "out-of-memory", "0.0 free")],
)
def test_a_driver_that_cannot(library: Path, variable: str, problem: str, told: str) -> None:
    row = _run(library, _jobs("copy.h2d"), variables={variable: "1"})["copy.h2d"]
    assert row.problem == problem and told in row.detail


def test_no_library_of_the_driver_is_said(tmp_path: Path) -> None:
    row = _run(tmp_path, _jobs("copy.h2d"))["copy.h2d"]
    assert row.problem == "failed" and "libcuda.so.1" in row.detail


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two processors")
def test_a_copy_is_made_again_from_the_processors_next_to_the_gpu(library: Path) -> None:
    near = min(os.sched_getaffinity(0))
    rows = _run(library, _jobs("copy.h2d", "copy.h2d.pageable"), [near], {"FAKE_FAR_US": "20000"})
    pinned = rows["copy.h2d"]
    assert pinned.near and pinned.value and pinned.near > 2 * pinned.value
    assert rows["copy.h2d.pageable"].near is None
    card = Gpu(0, "NVIDIA Test Card", link_generation_max=3, link_width_max=16)
    steady = Measurement(pinned.job, "driver", "", (pinned.value,) * 3, "GB/s", near=pinned.near)
    verdict = judged(steady, Device("GPU 0", card), None)
    assert verdict.status == "low" and "next to the GPU: bind" in verdict.because
    assert _run(library, _jobs("copy.h2d"), sorted(os.sched_getaffinity(0)))["copy.h2d"].near is None


def test_the_driver_gets_what_no_framework_measured() -> None:
    jobs = jobs_for(("copy", "membw", "gemm", "fcn-5"), "gpu", (), ())
    device = Device("GPU 0", GPU)
    made = judged(Measurement(jobs[0], "pytorch", "2", (5.0, 5.0), "GB/s"), device, None)
    failed = judged(Measurement(jobs[1], "pytorch", "2", problem="no-gpu"), device, None)
    assert [job.id for job in left_to_driver([made, failed], jobs)] == [
        "copy.h2d.pageable", "copy.d2h", "copy.d2h.pageable", "membw",
    ]  # fmt: skip


def test_gauges_of_a_run() -> None:
    link = (("current_link_speed", "8.0 GT/s PCIe"), ("current_link_width", "16"))
    low = Measurement(Job("copy.h2d", "copy"), "driver", "CUDA 12.4", (5.0, 5.0, 5.0), "GB/s", None, link)
    missing = Measurement(Job("gemm.fp32", "gemm"), "", "", problem="no-framework")
    device = Device('GPU "0"', GPU)
    lines = bench_prometheus([judged(low, device, None), judged(missing, device, None)]).splitlines()
    labels = r'id="copy.h2d",device="GPU \"0\"",framework="driver",unit="GB/s"'
    assert f"envkit_bench{{{labels}}} 5.0" in lines and f"envkit_bench_status{{{labels}}} 2" in lines
    assert any(line.startswith("envkit_bench_limit{") and line.endswith(" 15.76") for line in lines)
    assert any('problem="no-framework"' in line for line in lines if line.startswith("envkit_bench_problem{"))
    assert sum(line.startswith("# TYPE") for line in lines) == 4


def test_the_command_measures_a_gpu_without_any_framework(
    library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = tmp_path / "python3"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')  # without site-packages there is no framework
    bare.chmod(0o755)
    machine = replace(Environment(), gpus=found((GPU,), "a test"))
    monkeypatch.setattr("envkit.cli.bench_run.target_environment", lambda target, matrix: machine)
    monkeypatch.setattr("envkit.host.bench.foreign_place", lambda python, variables: "")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(library))
    done = envkit("bench", "copy", "gemm", "--python", str(bare), "--seconds", "0.1", "--json")
    rows = {row["id"]: row for row in json.loads(done.stdout)["measurements"]}
    assert done.returncode == 0, done.stderr
    assert rows["copy.h2d"]["value"] and rows["copy.h2d"]["framework"] == "driver"
    assert rows["copy.h2d"]["conditions"]["throttle"] == ["heat"] and rows["copy.h2d"]["conditions"]["power"] == 250.4
    assert rows["gemm.fp32"]["problem"] == "no-framework" and "only measure copies" in done.stderr
