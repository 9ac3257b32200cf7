"""Threads, data workers and the search for algorithms: what slows a program down on a sound machine."""

from __future__ import annotations

import pytest

from envkit.checks.engine.registry import all_checks
from envkit.checks.engine.runner import run_checks
from envkit.ingest import parse_text
from tests.checks.software import Case, assert_case, machine, matrix
from tests.checks.test_programs import RAN

WORKERS = (
    "UserWarning: This DataLoader will create 12 worker processes in total. Our suggested max number of worker in "
    "current system is 8 (`cpuset` is not taken into account), which is smaller than what it is going to create.\n"
)
LIGHTNING = "The 'val_dataloader' does not have many workers which may be a bottleneck. Consider increasing it.\n"
THREADS, LOADER, AUTOTUNE = "more-threads-than-processors", "data-loader-starves", "cudnn-autotune-off"
EIGHT = {"system.processors": 8}
CASES = (
    Case(THREADS, "warn", "message", parse_text(WORKERS)),
    Case(THREADS, "warn", "above", machine({**EIGHT, "variables": {"OMP_NUM_THREADS": "16"}})),
    Case(THREADS, "ok", "equal", machine({**EIGHT, "variables": {"OMP_NUM_THREADS": "8", "MKL_NUM_THREADS": "4"}})),
    Case(THREADS, "ok", "nested", machine({**EIGHT, "variables": {"OMP_NUM_THREADS": "4,2"}})),
    Case(THREADS, "ok", "no-number", machine({**EIGHT, "variables": {"OMP_NUM_THREADS": "all"}})),
    Case(THREADS, "ok", "unset", machine({**EIGHT, "variables": {}})),
    Case(
        THREADS,
        "warn",
        "quota",
        machine({**EIGHT, "system.usable_processors": 2, "variables": {"MKL_NUM_THREADS": "8"}}),
    ),
    Case(THREADS, "unknown", "nobody-counted", machine({"variables": {"OMP_NUM_THREADS": "64"}})),
    Case(LOADER, "warn", "message", parse_text(LIGHTNING)),
    Case(LOADER, "ok", "ran", RAN),
    Case(AUTOTUNE, "warn", "tensorflow", machine(variables={"TF_CUDNN_USE_AUTOTUNE": "0"})),
    Case(AUTOTUNE, "warn", "mxnet", machine(variables={"MXNET_CUDNN_AUTOTUNE_DEFAULT": " 0"})),
    Case(AUTOTUNE, "ok", "default", machine(variables={"MXNET_CUDNN_AUTOTUNE_DEFAULT": "2"})),
    Case(AUTOTUNE, "ok", "unset", machine(variables={})),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_cases(case: Case) -> None:
    assert_case(case)


def test_the_command_asks_for_what_the_process_may_use() -> None:
    here = machine({**EIGHT, "system.usable_processors": 2, "variables": {"OMP_NUM_THREADS": "8"}})
    [finding] = [row for row in run_checks(here, matrix(), all_checks().values()) if row.id == THREADS]
    assert finding.remedy and [str(command) for command in finding.remedy.commands] == ["export OMP_NUM_THREADS=2"]
