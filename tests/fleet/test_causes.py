"""Hosts with one cause are one cluster, and what they share with few others is named."""

from __future__ import annotations

from envkit.fleet.causes import clusters
from envkit.fleet.judge import alike
from envkit.fleet.model import State
from tests.fleet.hosts import host


def test_failures_come_before_warnings_and_the_most_frequent_first() -> None:
    hosts = [
        *(host(f"w{n}", State.WARN, "slow-link") for n in range(5)),
        *(host(f"a{n}", State.FAIL, "mismatch") for n in range(3)),
        host("b", State.FAIL, "no-gpu"),
        host("ok"),
    ]
    found = clusters(hosts)
    assert [(cluster.cause.id, len(cluster.hosts)) for cluster in found] == [
        ("mismatch", 3), ("no-gpu", 1), ("slow-link", 5),
    ]  # fmt: skip
    assert found[0].hosts == ("a0", "a1", "a2") and found[0].example == "a0"


def test_what_all_of_a_cluster_have_and_few_others_is_shared() -> None:
    bad = [host(f"b{n}", State.FAIL, "mismatch", kernel="6.8.0-40", os="ubuntu22.04") for n in range(4)]
    good = [host(f"g{n}", kernel="6.8.0-38", os="ubuntu22.04") for n in range(19)]
    odd = [host("odd", kernel="6.8.0-40", os="ubuntu22.04")]
    (cluster,) = clusters([*bad, *good, *odd])
    assert [(item.key, item.value, item.inside, item.outside, item.others) for item in cluster.shared] == [
        ("kernel", "6.8.0-40", 4, 1, 20)
    ]


def test_a_group_of_the_inventory_that_all_of_a_cluster_are_in_is_shared() -> None:
    bad = [host(f"b{n}", State.FAIL, "mismatch", group=f"part{n % 2}, rack7") for n in range(4)]
    good = [host(f"g{n}", group=f"part{n % 2}, rack{n % 6}") for n in range(20)]
    (cluster,) = clusters([*bad, *good, host("elsewhere")])
    assert [(item.key, item.value, item.inside, item.outside, item.others) for item in cluster.shared] == [
        ("group", "rack7", 4, 0, 20)
    ]


def test_nothing_is_said_of_two_hosts_nor_where_there_are_no_others() -> None:
    two = [host(f"b{n}", State.FAIL, "mismatch", kernel="6.8.0-40") for n in range(2)]
    good = [host(f"g{n}", kernel="6.8.0-38") for n in range(20)]
    assert clusters([*two, *good])[0].shared == ()
    assert clusters([host(f"b{n}", State.FAIL, "x", kernel="1") for n in range(9)])[0].shared == ()


def test_a_host_that_does_not_know_a_trait_does_not_stop_it_from_being_shared() -> None:
    bad = [host(f"b{n}", State.FAIL, "mismatch", kernel="2") for n in range(3)]
    good = [host(f"g{n}", kernel="1") for n in range(10)]
    (cluster,) = clusters([*bad, host("blind", State.FAIL, "mismatch"), *good])
    assert [item.inside for item in cluster.shared] == [3]


def test_hosts_that_were_not_judged_are_no_others() -> None:
    bad = [host(f"b{n}", State.FAIL, "mismatch", kernel="2") for n in range(3)]
    gone = [host(f"g{n}", State.UNREACHABLE, kernel="1") for n in range(10)]
    assert clusters([*bad, *gone])[0].shared == ()


def test_a_subject_is_alike_without_addresses_paths_and_numbers() -> None:
    assert alike("GPU 0000:65:00.0") == alike("GPU 0000:c3:00.0") == "GPU *"
    assert (
        alike("torch==2.6.0+cu126 in /home/ann/venv") == alike("torch==2.13.0+cu130 in /opt/x") == "torch==*+cu* in *"
    )
    assert alike("/home/user/venv") == "*"
