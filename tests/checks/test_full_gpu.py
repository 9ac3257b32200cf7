"""A program that ran out of memory on a GPU that another process fills is sent to an idle one."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Finding, Status
from envkit.checks.engine.registry import all_checks
from envkit.checks.engine.runner import run_checks
from envkit.ingest import parse_text
from tests.checks.software import matrix

SMI = """RuntimeError: CUDA error: out of memory

+-----------------------------------------------------------------------------+
| NVIDIA-SMI 418.67       Driver Version: 418.67       CUDA Version: 10.1     |
|-------------------------------+----------------------+----------------------+
|   0  Tesla V100-SXM2...  On   | 00000000:00:08.0 Off |                    0 |
| N/A   54C    P0   246W / 300W |  {first}MiB / 16130MiB |    100%      Default |
+-------------------------------+----------------------+----------------------+
|   1  Tesla V100-SXM2...  On   | 00000000:00:09.0 Off |                    0 |
| N/A   38C    P0    39W / 300W |  {second}MiB / 16130MiB |      0%      Default |
+-------------------------------+----------------------+----------------------+
+-----------------------------------------------------------------------------+
| Processes:                                                       GPU Memory |
|  GPU       PID   Type   Process name                             Usage      |
|    0     21877      C   python                                     {first}MiB |
+-----------------------------------------------------------------------------+
"""


def told(first: int, second: int) -> Finding:
    environment = parse_text(SMI.format(first=first, second=second))
    findings = run_checks(environment, matrix(), all_checks().values())
    return next(finding for finding in findings if finding.id == "gpu-memory-held-by-lost-process")


def test_the_idle_gpu_is_named_with_the_process_that_fills_the_other() -> None:
    finding = told(15514, 2)
    assert finding.status is Status.WARN and finding.remedy is not None
    assert "lists process 21877 on it" in finding.remedy.summary
    assert [str(command) for command in finding.remedy.commands] == ["export CUDA_VISIBLE_DEVICES=1"]


@pytest.mark.parametrize(("first", "second"), [(9000, 2), (15514, 15000)])
def test_no_other_gpu_is_named_where_none_is_full_or_none_is_idle(first: int, second: int) -> None:
    remedy = told(first, second).remedy
    assert remedy is not None
    assert "CUDA_VISIBLE_DEVICES" not in " ".join(map(str, remedy.commands))
