"""A run becomes a baseline that it meets itself, and two runs show what changed between them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from envkit._startup.records import replace
from envkit.base.errors import SourceError
from envkit.base.shown import inert
from envkit.fleet.baseline import read_baseline
from envkit.fleet.changes import fleet_changes
from envkit.fleet.model import State
from envkit.fleet.report import fleet_report
from envkit.render.fleet_baseline import baseline_toml
from envkit.render.fleet_changes import changes_text
from tests.cli.run import envkit
from tests.fleet.hosts import MISMATCH, changed, facts, host, write


def test_a_run_meets_the_baseline_that_it_makes() -> None:
    hosts = [host(f"n{n}", gpu_count="8", kernel="5.15", cuda_toolkits="12.1, 12.4") for n in range(3)]
    odd = replace(hosts[0], name="odd", traits={**hosts[0].traits, "gpu_count": "7", "vendor": inert('Q "x" \\ \x7f')})
    text = baseline_toml([*hosts, odd])
    report = fleet_report([*hosts, odd], read_baseline(text, "made"))
    assert [(item.key, item.must, item.others[0].hosts) for item in report.drift] == [("gpu_count", True, ("odd",))]
    assert 'gpu_count = "8"  # 3 of 4' in text


def test_without_a_majority_nothing_is_expected() -> None:
    text = baseline_toml([host("a", kernel="1"), host("b", kernel="2")])
    assert "# kernel: no majority, 2 values among 2 hosts" in text
    assert fleet_report([host("c", kernel="3")], read_baseline(text, "made")).drift == ()


def test_a_baseline_that_expects_nothing_is_refused() -> None:
    with pytest.raises(SourceError, match="GPU models of these machines are unknown"):
        baseline_toml([host("x", State.UNREACHABLE)])


def test_texts_without_an_architecture_make_a_baseline_that_they_meet() -> None:
    texts = [host(f"n{n}", architecture="", driver="550") for n in range(3)]
    texts = [replace(item, traits={k: v for k, v in item.traits.items() if v}) for item in texts]
    text = baseline_toml(texts)
    report = fleet_report(texts, read_baseline(text, "made"))
    assert 'driver = "550"' in text and report.drift == () and report.alone == 0


def test_what_changed_alike_is_one_change() -> None:
    old = [*(host(f"n{n}", kernel="1") for n in range(4)), host("gone"), host("same", kernel="1")]
    new = [
        *(host(f"n{n}", kernel="2") for n in range(3)),
        host("n3", State.FAIL, "mismatch", kernel="2"),
        host("came"), host("same", kernel="1"),
    ]  # fmt: skip
    changes = fleet_changes(old, new)
    assert changes.added == ("came",) and changes.removed == ("gone",) and changes.unchanged == 1
    assert [(item.old, item.new, item.hosts) for item in changes.traits] == [("1", "2", ("n0", "n1", "n2", "n3"))]
    assert [(item.old, item.new, item.hosts) for item in changes.states] == [("ok", "fail mismatch", ("n3",))]
    assert changes.worse and not fleet_changes(new, old).worse
    assert "  kernel: 1 → 2\n      4 hosts: n[0-3]" in changes_text(changes, 80, color=False)


def test_a_new_host_that_is_not_well_is_reported_with_its_state() -> None:
    bad, mute, well = host("n3", State.FAIL, "mismatch"), host("n4", State.UNREADABLE), host("n5")
    changes = fleet_changes([host("n1")], [host("n1"), bad, mute, well])
    assert changes.added == ("n3", "n4", "n5") and changes.worse
    assert [(item.old, item.new, item.hosts) for item in changes.states] == [
        ("", "fail mismatch", ("n3",)), ("", "unreadable", ("n4",)),
    ]  # fmt: skip
    assert "  state: new → fail mismatch\n      1 host: n3" in changes_text(changes, 80, color=False)
    assert not fleet_changes([host("n1")], [host("n1"), well]).worse


def test_unknown_is_no_change_and_not_the_same_either() -> None:
    changes = fleet_changes([host("a", kernel="1"), host("b")], [host("a"), host("b")])
    assert not changes.traits and not changes.worse
    assert (changes.less_known, changes.unchanged) == (("a",), 1)
    assert "Less is known about 1 host than before: a" in changes_text(changes, 80, color=False)


@pytest.mark.thorough
def test_the_commands(tmp_path: Path) -> None:
    old = write(tmp_path / "old", n1=facts(), n2=facts())
    new = write(tmp_path / "new", n1=changed(system__kernel="6.8.0-99-generic"), n2=facts(MISMATCH))
    done = envkit("fleet", "diff", str(old), str(new), "--json")
    assert done.returncode == 1
    document = json.loads(done.stdout)
    assert document["states"] == [{"key": "state", "old": "ok", "new": "fail driver-library-mismatch", "hosts": ["n2"]}]
    assert {"n1"} <= {name for item in document["traits"] if item["key"] == "kernel" for name in item["hosts"]}
    made = tmp_path / "b.toml"
    assert envkit("fleet", "baseline", str(old), "-o", str(made)).returncode == 0
    assert envkit("fleet", "report", str(old), "--baseline", str(made), "--strict").returncode == 0
