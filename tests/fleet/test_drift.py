"""Drift is told against most of the like, never against the unknown, and a failing check may explain it."""

from __future__ import annotations

from envkit._startup.records import replace
from envkit.fleet.model import HostResult, State
from envkit.fleet.report import exit_code, fleet_report, node_lists
from envkit.render.fleet import formatted
from envkit.render.reports import Look
from tests.fleet.hosts import host


def _drift(*hosts: object, **options: object) -> list[tuple[str, tuple[str, ...], int, int]]:
    report = fleet_report(hosts, **options)  # type: ignore[arg-type]
    return [(item.key, item.expected, item.count, item.total) for item in report.drift]


def test_an_outlier_is_reported_with_what_most_have() -> None:
    hosts = [*(host(f"n{n}", kernel="a") for n in range(4)), host("odd", kernel="b")]
    report = fleet_report(hosts)
    (item,) = report.drift
    assert (item.key, item.expected, item.count, item.total) == ("kernel", ("a",), 4, 5)
    assert [(other.value, other.hosts) for other in item.others] == [("b", ("odd",))]
    assert exit_code(report, strict=False) == 0 and exit_code(report, strict=True) == 1


def test_half_is_no_majority_and_nobody_is_an_outlier() -> None:
    hosts = [host("a", kernel="1"), host("b", kernel="1"), host("c", kernel="2"), host("d", kernel="2")]
    report = fleet_report(hosts)
    assert [(item.expected, item.count) for item in report.drift] == [((), 0)]
    assert exit_code(report, strict=True) == 0


def test_of_two_that_know_nothing_is_said() -> None:
    assert _drift(host("a", kernel="1"), host("b", kernel="2"), host("c"), host("d")) == []


def test_unknown_is_never_an_outlier() -> None:
    assert _drift(*(host(f"n{n}", kernel="1") for n in range(3)), host("blind")) == []


def test_only_like_machines_are_compared() -> None:
    h100 = [host(f"h{n}", kernel="1") for n in range(3)]
    a100 = [host(f"a{n}", gpu="A100", kernel="2") for n in range(3)]
    assert _drift(*h100, *a100) == []
    assert [item[0] for item in _drift(*h100, *a100, host("x", gpu="A100", kernel="1"))] == ["kernel"]


def test_a_machine_that_lost_a_gpu_stays_among_its_like() -> None:
    hosts = [*(host(f"n{n}", gpu_count="8") for n in range(5)), host("n9", gpu_count="7")]
    assert _drift(*hosts) == [("gpu_count", ("8",), 5, 6)]
    assert _drift(*hosts, alike=("gpu", "gpu_count")) == []


def test_a_machine_with_fewer_gpus_than_its_like_is_not_called_healthy() -> None:
    hosts = [*(host(f"n{n}", gpu_count="4") for n in range(5)), host("n9", gpu_count="3"), host("big", gpu_count="8")]
    report = fleet_report(hosts)
    states = {each.name: each.state for each in report.hosts}
    assert states["n9"] is State.WARN and states["n0"] is State.OK and states["big"] is State.OK
    lists = node_lists(report)
    assert "n9" not in lists["passing"] and "n9" in lists["unknown"] and "big" in lists["passing"]
    assert exit_code(report, strict=False) == 0 and exit_code(report, strict=True) == 1
    script = formatted(report, "kubectl", Look(False, False, 100)).splitlines()
    told = {line.split()[1]: line.split()[3] for line in script if line.startswith("told ")}
    assert told["n9"] == "Unknown" and told["n0"] == "True"


def test_a_host_that_was_not_judged_counts_for_nothing() -> None:
    hosts = [host("a", kernel="1"), host("b", kernel="1"), host("c", State.UNREACHABLE, kernel="2")]
    report = fleet_report(hosts)
    assert report.drift == () and report.alone == 2


def test_a_failing_check_explains_the_drift_it_rests_on() -> None:
    hosts = [
        *(host(f"n{n}", driver="550") for n in range(4)),
        host("old", State.FAIL, "driver-too-old", explained="driver", driver="535"),
        host("odd", driver="535"),
    ]
    (item,) = fleet_report(hosts).drift
    assert [(other.hosts, other.because_of) for other in item.others] == [
        (("odd",), ""), (("old",), "driver-too-old"),
    ]  # fmt: skip


def test_the_order_of_the_hosts_changes_nothing() -> None:
    hosts = [host(f"n{n}", kernel=str(n % 3), os=str(n % 2)) for n in range(9)]
    assert fleet_report(hosts) == fleet_report(reversed(hosts))


def test_a_group_without_a_gpu_is_called_so() -> None:
    hosts = [host(f"n{n}", gpu="none", kernel=str(n > 0)) for n in range(4)]
    assert [item.group for item in fleet_report(hosts).drift] == ["no GPU / x86_64"]


def test_without_comparison_there_is_no_drift() -> None:
    assert _drift(*(host(f"n{n}", kernel=str(n > 0)) for n in range(5)), compare=False) == []


def _text_host(name: str, **traits: str) -> HostResult:
    """A host whose text names a GPU and no architecture, as what nvidia-smi prints."""
    return replace(host(name), traits={"gpu": "A100", **traits})


def test_machines_of_an_unknown_architecture_are_compared_with_each_other_alone() -> None:
    texts = [*(_text_host(f"t{n}", driver="550.144") for n in range(3)), _text_host("odd", driver="550.90")]
    known = [host(f"k{n}", gpu="A100", driver="535") for n in range(3)]
    report = fleet_report([*texts, *known])
    (item,) = report.drift
    assert (item.group, item.others[0].hosts) == ("A100 / unknown architecture", ("odd",))
    assert report.alone == 0


def test_who_was_compared_with_nothing_is_named() -> None:
    nameless = replace(host("blind"), traits={"architecture": "x86_64"})
    report = fleet_report([*(host(f"n{n}") for n in range(3)), nameless, _text_host("single")])
    assert report.alone == 2
    for form in ("text", "markdown", "html"):
        text = formatted(report, form, Look(False, False, 200))
        assert all(word in text for word in ("GPU not known", "blind", "fewer than 3", "single")), text
