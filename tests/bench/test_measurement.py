"""What children do that should not be done: each fault costs the one measurement, with its reason."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envkit.bench.jobs import Job, jobs_for
from envkit.bench.measurement import Measurement, measured
from envkit.host.bench import BenchChild, modules_of, run_measuring

JOBS = tuple(Job(name, "train", network="fcn-5", batch=2) for name in ("a", "b", "c"))
CHILD = """
import json, os, sys, time
jobs = [job["id"] for job in json.loads(sys.argv[1])["jobs"]]
def tell(**line): print(json.dumps(line), flush=True)
tell(framework="fake", version="1.0")
for job in jobs:
    tell(start=job)
    if job == "b":
        FAULT
    tell(id=job, samples=[1.0, 1.1, 0.9], unit="s", parameters=7)
tell(end=True)
"""
FAULTS = {
    "time.sleep(60)": ("timed-out", "no result within the time limit"),
    "os.kill(os.getpid(), 11)": ("failed", "SIGSEGV"),
    "os._exit(3)": ("failed", "status 3"),
    "sys.exit('the disk is full')": ("failed", "the disk is full"),
    "raise ValueError('odd')": ("failed", "odd"),
    'print(\'{"id": "b", "samp\', flush=True); os._exit(0)': ("failed", "without a result"),
    "tell(id='b', samples=['x'], unit='s')": ("failed", "no samples"),
    "tell(id='b', samples=[], unit='s')": ("failed", "no samples"),
    "tell(id='b', samples=[-1.0, float('nan')], unit='s')": ("failed", "no samples"),
    "tell(id='b', samples=[1.0])": ("failed", "no samples"),
    "tell(id='b', problem='out-of-memory', detail='needs 3.1 GB, 2.0 free')": ("out-of-memory", "3.1"),
    "tell(id='b', problem='invented', detail=5)": ("failed", "5"),
    "[print('x' * 1000, flush=True) or time.sleep(0.01) for _ in range(6000)]": ("timed-out", "time limit"),
}


def _run(code: str, limit_s: float = 0.4) -> tuple[Measurement, ...]:
    def start(pending: Sequence[Job]) -> BenchChild:
        settings = {"jobs": [job.settings for job in pending]}
        return run_measuring(sys.executable, code, settings, {}, limit_s)

    return measured(JOBS, "fake", start)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault[:30])
def test_a_fault_costs_its_own_measurement_alone(fault: str) -> None:
    first, second, third = _run(CHILD.replace("FAULT", fault))
    problem, detail = FAULTS[fault]
    assert second.problem == problem and detail in second.detail
    assert first.value == third.value == 1.0 and third.parameters == 7 and first.version == "1.0"


@pytest.mark.parametrize(
    ("code", "problem"),
    [("raise SystemExit('no module')", "failed"), ("import time; time.sleep(9)", "hung"), ("", "failed")],
)
def test_a_child_that_begins_nothing_ends_the_run(code: str, problem: str) -> None:
    assert {row.problem for row in _run(code, 0.5)} == {problem}


def test_an_interpreter_that_is_not_there() -> None:
    child = run_measuring("/nowhere/python", "", {}, {}, 1)
    assert child.lines == () and child.problem
    assert modules_of("/nowhere/python", ["numpy"], {})[1]


def test_modules_are_found_without_importing_them() -> None:
    assert modules_of(sys.executable, ["json", "no_such_module"], {}) == (("json",), "")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text() | st.dictionaries(st.sampled_from(["id", "start", "samples", "unit", "problem", "link"]),
                st.sampled_from(["a", "b", [1.0], [None], {}, 1, None])).map(json.dumps), max_size=12))  # fmt: skip
def test_whatever_a_child_says_every_job_gets_an_answer_and_an_end(lines: list[str]) -> None:
    starts: list[Any] = []

    def start(pending: Sequence[Job]) -> BenchChild:
        starts.append(pending)
        return BenchChild(tuple(lines), False, "")

    found = measured(JOBS, "fake", start)
    assert [row.job for row in found] == list(JOBS)
    assert all((row.value is None) == bool(row.problem) for row in found)
    assert len(starts) <= len(JOBS)


def test_jobs_of_the_default_and_their_order() -> None:
    assert [job.id for job in jobs_for((), "cpu", (), ())] == [
        "gemm.fp32",
        "membw",
        "fcn-5.b64.fp32",
        "resnet-50.b16.fp32",
    ]
    kinds = [job.kind for job in jobs_for((), "gpu", (), ("fp32", "tf32"))]
    assert kinds == ["copy"] * 4 + ["gemm"] * 2 + ["membw"] + ["train"] * 4
    assert all(job.needs > 0 for job in jobs_for(("lstm-64", "fcn-s"), "cpu", (1, 2), ()))
