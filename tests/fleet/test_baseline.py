"""A baseline says what is expected; what it demands fails a host that differs."""

from __future__ import annotations

import pytest

from envkit._startup.records import replace
from envkit.base.errors import SourceError
from envkit.fleet.baseline import read_baseline
from envkit.fleet.model import HostResult
from envkit.fleet.report import exit_code, failing, fleet_report
from tests.fleet.hosts import LIKE, host

TEXT = """
must = ["gpu_count"]
[[machines]]
match = {gpu = "H100"}
[machines.expect]
gpu_count = 8
driver = ">=550,<560"
kernel = ["5.15", "6.8"]
cuda_toolkits = "12.4, 12.1"
persistence = true
"""


def _with(key: str, name: str, value: str) -> HostResult:
    return replace(host(name), traits={**LIKE, key: value})


@pytest.mark.parametrize(
    ("key", "good", "bad"),
    [
        ("gpu_count", "8", "7"),
        ("driver", "550.54.15", "560.1"),
        ("kernel", "6.8", "6.11"),
        ("cuda_toolkits", "12.1, 12.4", "12.1"),
        ("persistence", "true", "false"),
    ],
)
def test_values_sets_and_ranges(key: str, good: str, bad: str) -> None:
    baseline = read_baseline(TEXT, "b.toml")
    assert fleet_report([_with(key, "n1", good)], baseline).drift == ()
    (item,) = fleet_report([_with(key, "n1", good), _with(key, "n2", bad)], baseline).drift
    assert (item.key, item.count, item.total, item.must) == (key, 1, 2, key == "gpu_count")
    assert [(other.value, other.hosts) for other in item.others] == [(bad, ("n2",))]


def test_what_must_be_fails_a_host_that_is_fine_otherwise() -> None:
    report = fleet_report([host("n1", gpu_count="8"), host("n2", gpu_count="7")], read_baseline(TEXT, "b.toml"))
    assert [failing(report, item) for item in report.hosts] == [False, True]
    assert exit_code(report, strict=False) == 1


def test_what_may_be_fails_nobody_but_the_strict() -> None:
    report = fleet_report([host("n1", kernel="4.4")], read_baseline(TEXT, "b.toml"))
    assert exit_code(report, strict=False) == 0 and exit_code(report, strict=True) == 1


def test_unknown_differs_from_nothing_and_other_machines_are_left_alone() -> None:
    baseline = read_baseline(TEXT, "b.toml")
    assert fleet_report([host("n1"), host("n2", gpu="A100", gpu_count="4")], baseline).drift == ()


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "machines"),
        ("must = [", "not TOML"),
        ("[[machines]]\nmatsch = {}", "match"),
        ("[[machines]]\nexpect = {kernal = '1'}", "kernel"),
        ("[[machines]]\nexpect = {kernel = 1.5}", "Write a text"),
        ("[[machines]]\nexpect = {driver = '>=new'}", "driver"),
        ("must = ['drivr']\n[[machines]]\n", "driver"),
        ("machines = 1", "machines"),
    ],
)
def test_a_bad_file_is_told_in_one_line(text: str, word: str) -> None:
    with pytest.raises(SourceError) as raised:
        read_baseline(text, "b.toml")
    assert "b.toml" in str(raised.value) and word in str(raised.value)
    assert "\n" not in raised.value.message
