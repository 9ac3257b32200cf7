"""A baseline says what is expected; what it demands fails a host that differs."""

from __future__ import annotations

import re

import pytest

from envkit._startup.records import replace
from envkit.base.errors import SourceError
from envkit.fleet.baseline import read_baseline
from envkit.fleet.model import HostResult, State
from envkit.fleet.report import exit_code, fleet_report, node_lists
from envkit.render.fleet import formatted
from envkit.render.reports import Look
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
    assert [item.state for item in report.hosts] == [State.OK, State.FAIL]
    assert report.hosts[1].reason == "gpu_count is 7, but the baseline requires 8"
    assert exit_code(report, strict=False) == 1 and node_lists(report)["failing"] == ["n2"]


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ("text", "2 hosts: 1 ok, 1 failed."),
        ("json", '"state": "fail"'),
        ("prometheus", 'envkit_host_state{host="n2",state="fail"} 1'),
        ("kubectl", "told n2 fail False Drift '\"gpu_count is 7, but the baseline requires 8\"'"),
    ],
)
def test_every_output_says_that_a_host_breaks_what_must_be(form: str, told: str) -> None:
    report = fleet_report([host("n1", gpu_count="8"), host("n2", gpu_count="7")], read_baseline(TEXT, "b.toml"))
    assert told in formatted(report, form, Look(False, False, 80))


def test_what_may_be_fails_nobody_but_the_strict() -> None:
    report = fleet_report([host("n1", gpu_count="8", kernel="4.4")], read_baseline(TEXT, "b.toml"))
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
        ("[[machines]]\nexpect = {kernel = 1.5}", "Write a string"),
        ("[[machines]]\nexpect = {driver = '>=new'}", "driver"),
        ("must = ['drivr']\n[[machines]]\n", "driver"),
        ("machines = 1", "machines"),
        (f"[[machines]]\nexpect = {{driver = '>={'9' * 100_000}'}}", "Write a range"),
        (f"[[machines]]\nexpect = {{driver = 0x{'f' * 5000}}}", "too many digits"),
        ("[[machines]]\nexpect = {driver = 1979-05-27}", "driver is neither a string nor a whole number"),
    ],
)
def test_a_bad_file_is_reported_in_one_line(text: str, word: str) -> None:
    with pytest.raises(SourceError) as raised:
        read_baseline(text, "b.toml")
    assert "b.toml" in str(raised.value) and word in str(raised.value)
    assert "\n" not in raised.value.message and len(raised.value.message) < 400
    assert not re.search("sys\\.|datetime|Error", raised.value.message), "Python's words"


def test_a_baseline_asks_nothing_of_how_machines_are_grouped() -> None:
    baseline = read_baseline("must = ['gpu_count']\n[[machines]]\nexpect = {gpu_count = 8}\n", "b.toml")
    for traits in ({"gpu": "A100", "gpu_count": "1"}, {"gpu_count": "1"}):
        report = fleet_report([replace(host("n1"), traits=traits)], baseline)
        assert report.drifted == {"n1"} and exit_code(report, strict=False) == 1


def test_each_machine_is_held_against_the_sections_that_match_it() -> None:
    text = "[[machines]]\nmatch = {os = 'a'}\nexpect = {kernel = '1'}\n"
    hosts = [host("n1", os="a", kernel="1"), host("n2", os="b", kernel="2"), host("n3", os="a", kernel="2")]
    (item,) = fleet_report(hosts, read_baseline(text, "b.toml")).drift
    assert (item.total, item.others[0].hosts) == (2, ("n3",))


@pytest.mark.parametrize(
    ("section", "reason", "status"),
    [
        ("match = {gpu = 'nomatch'}\nexpect = {gpu_count = 8}", "no [[machines]] matches", (0, 1)),
        ("match = {os = 'a'}\nexpect = {gpu_count = 8}", "not known which", (0, 1)),
        ("expect = {kernel = '1'}", "none of the expected traits is known", (0, 1)),
        ("expect = {gpu_count = 8}", "required but unknown: gpu_count", (1, 1)),
    ],
)
def test_who_could_not_be_held_against_a_baseline_is_named(section: str, reason: str, status: tuple[int, int]) -> None:
    report = fleet_report([host("n1")], read_baseline(f"must = ['gpu_count']\n[[machines]]\n{section}\n", "b.toml"))
    (gap,) = report.gaps
    assert reason in gap.reason and gap.hosts == ("n1",)
    assert (exit_code(report, strict=False), exit_code(report, strict=True)) == status
    assert node_lists(report)["unknown"] == (["n1"] if gap.must else [])


def test_what_a_baseline_holds_steers_no_terminal() -> None:
    text = '[[machines]]\n[machines.expect]\ndriver = "\\u001b]0;x\\u0007\\u202erow"\n'
    [section] = read_baseline(text, "b.toml").sections
    assert not {"\x1b", "\x07", "\u202e"} & set("".join(section.expect["driver"].words))
