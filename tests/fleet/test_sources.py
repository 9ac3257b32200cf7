"""Nothing that a person names is left out in silence: each entry of a folder is a host, judged or with its reason."""

from __future__ import annotations

import json
import os
import random
import shutil
from pathlib import Path

import pytest

from envkit.base.errors import SourceError
from envkit.fleet.judge import host_results
from envkit.fleet.model import State
from envkit.fleet.playbook import asked_hosts
from envkit.host.run_folder import file_name, run_folder
from envkit.ingest.hosts import PLAYBOOK, host_sources
from envkit.tables import Matrix
from tests.cli.run import envkit
from tests.fakes.machines import MACHINES
from tests.fleet.hosts import MISMATCH, facts, write

_TEXT = "Failed to initialize NVML: Driver/library version mismatch\n"


def _ends(*places: Path) -> dict[str, tuple[State, str]]:
    """The state and the reason of each host; no check is needed for them."""
    hosts = [
        item for each in host_sources([*map(str, places)]) for item in host_results(each, [], Matrix.load(), mask=False)
    ]
    found = {item.name: (item.state, item.reason) for item in hosts}
    assert len(found) == len(hosts)
    return found


def _names(*places: Path) -> list[str]:
    return [source.name for source in host_sources([*map(str, places)])]


def test_facts_next_to_another_host_are_no_capture(tmp_path: Path) -> None:
    write(tmp_path / "all", facts=facts())
    assert _names(tmp_path / "all") == ["all"]
    (tmp_path / "all" / "n2.txt").write_text(_TEXT)
    assert _names(tmp_path / "all") == ["facts", "n2"]


def test_facts_among_the_texts_of_a_host_are_a_machine_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "n1").mkdir()
    (tmp_path / "n1" / "dmesg.txt").write_text(_TEXT)
    (tmp_path / "n1" / "smi.log").write_text(_TEXT)
    (tmp_path / "n1" / "facts.txt").write_text(facts())
    assert [*_ends(tmp_path)] == ["n1:1", "n1:2"]


def test_what_cannot_be_a_host_is_listed_as_not_judged(tmp_path: Path) -> None:
    write(tmp_path, n1=facts())
    shutil.copytree(MACHINES / MISMATCH, tmp_path / "host1" / "cap")
    (tmp_path / "bare").mkdir()
    (tmp_path / "host2" / "inner").mkdir(parents=True)
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "/".join(["deep"] * 12)).mkdir(parents=True)
    ends = _ends(tmp_path)
    assert {"n1", "cap"} < ends.keys()
    assert {name: reason for name, (state, reason) in ends.items() if state is State.UNREADABLE} == {
        "bare": "the directory is empty", "inner": "the directory is empty",
        "gone": "it is a link, which is not followed", "pipe": "it is not a file",
        "deep": "more than 8 nested directories",
    }  # fmt: skip


def test_the_playbook_that_collected_is_no_host(tmp_path: Path) -> None:
    """Neither in its own folder nor in one above it; what it collected is."""
    place = tmp_path / "runs" / "collect"
    assert envkit("fleet", "playbook", "-o", str(place)).returncode == 0
    assert {path.name for path in place.iterdir()} == PLAYBOOK
    with pytest.raises(SourceError, match="no capture and no file"):
        host_sources([str(tmp_path / "runs")])
    write(place / "arrived", n1=facts())
    assert _names(place) == _names(tmp_path / "runs") == ["n1"]
    (place / "playbook.yml").unlink()  # then it is a folder like any other
    assert {"ansible.cfg", "collect.sh", "n1"} < set(_names(place))


def test_a_link_in_a_folder_leads_to_no_file_of_the_reader(tmp_path: Path) -> None:
    outside = write(tmp_path / "outside", secret=facts())
    folder = write(tmp_path / "in", n1=facts())
    (folder / "file").symlink_to(next(outside.iterdir()))
    (folder / "folder").symlink_to(outside)
    (folder / "again").symlink_to(".")
    ends = _ends(folder)
    assert ends.keys() == {"n1", "file", "folder", "again"}
    reasons = {reason for name, (_, reason) in ends.items() if name != "n1"}
    assert reasons == {"it is a link, which is not followed"}


def test_the_texts_of_one_host_are_together_no_longer_than_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("envkit.ingest.sources._MOST_BYTES", 1 << 20)
    (tmp_path / "in" / "host").mkdir(parents=True)
    for name in ("a.txt", "b.txt"):
        (tmp_path / "in" / "host" / name).write_text("word\n" * (120 << 10))
    ((state, reason),) = _ends(tmp_path / "in").values()
    assert state is State.UNREADABLE and "the texts are longer than 1 MiB" in reason


def test_who_was_asked_and_did_not_answer_is_listed(tmp_path: Path) -> None:
    asked = asked_hosts(json.dumps({"event": "asked", "hosts": ["n1", "a/b"]}) + "\n")
    with run_folder(str(tmp_path / "run"), resume=False) as folder:
        folder.store("n1", {"host": "n1", **json.loads(facts())})
        folder.write("run.json", json.dumps({"asked": {file_name(name): name for name in asked}}))
    ends = _ends(tmp_path / "run")
    assert ends.keys() == {"n1", "a/b"}
    assert ends["a/b"][0] is State.UNREADABLE and "had not answered" in ends["a/b"][1]


@pytest.mark.parametrize("line", ["", "{", "[]", "{}", '{"event": "asked"}', '{"event": "asked", "hosts": 1}', "PLAY"])
def test_another_line_asks_nobody(line: str) -> None:
    assert asked_hosts(line) == []


def test_a_place_that_is_not_there_is_refused(tmp_path: Path) -> None:
    write(tmp_path, n1=facts())
    with pytest.raises(SourceError, match="no such file or directory"):
        host_sources([str(tmp_path), str(tmp_path / "n2")])


def test_a_place_named_twice_counts_once(tmp_path: Path) -> None:
    write(tmp_path / "a", n1=facts(), n2=facts())
    assert _names(tmp_path / "a", tmp_path / "a" / "n1.json", tmp_path / "a" / ".." / "a") == ["n1", "n2"]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "the file is empty"),
        (b" \n", "the file is empty"),
        (b"H100 driver 550\n" + random.Random(1).randbytes(300_000), "the file is not text"),
        (b"{", "nothing was recognized"),
        (bytes(range(256)) * 40, "the file is not text"),
        (json.dumps({"a": 1}).encode(), "nothing was recognized"),
        (facts()[:900].encode(), "the file is JSON written by envkit, but it is cut off or damaged"),
    ],
    ids=["empty", "blank", "binary", "cut", "noise", "other", "half"],
)
def test_a_damaged_file_is_unreadable_and_its_reason_names_no_place(data: bytes, reason: str, tmp_path: Path) -> None:
    (tmp_path / "n1.json").write_bytes(data)
    assert _ends(tmp_path) == {"n1": (State.UNREADABLE, reason)}


@pytest.mark.parametrize(
    ("document", "state", "reason"),
    [
        ({"host": "n1", "arrived": "ok", "rc": 137, "seconds": "abc"}, State.CRASHED, "the collector was killed"),
        ({"host": "n1", "arrived": "ok", "rc": 137, "seconds": {"a": 1}}, State.CRASHED, "the collector was killed"),
        ({"host": "n1", "arrived": "ok", "rc": [137]}, State.CRASHED, "the collector ended with"),
        ({"reports": [1], "verdict": "ok"}, State.UNREADABLE, "facts"),
        ({"reports": [{"environment": [1]}], "verdict": "ok"}, State.UNREADABLE, "facts"),
        ({"environment": 1}, State.UNREADABLE, "facts"),
        ({"host": ["n1"], "state": "hung", "reason": {"a": [1]}, "seconds": True}, State.HUNG, "{'a': [1]}"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_result_of_another_shape_is_reported_in_our_words(
    document: object, state: State, reason: str, tmp_path: Path
) -> None:
    (tmp_path / "n1.json").write_text(json.dumps(document))
    ((ended, told),) = _ends(tmp_path).values()
    assert ended is state and reason in told
    assert "Error" not in told and "internal" not in told


def test_a_part_of_a_capture_tells_no_place(tmp_path: Path) -> None:
    (tmp_path / "n1").mkdir()
    shutil.copy(MACHINES / MISMATCH / "machine.json", tmp_path / "n1")
    ((state, reason),) = _ends(tmp_path).values()
    assert state is State.UNREADABLE and reason.startswith("it is only part of a capture: ")


def test_files_of_a_project_are_no_hosts(tmp_path: Path) -> None:
    for name in ("Dockerfile", "gpu.Dockerfile", "requirements-dev.txt", "environment.yml", "pyproject.toml"):
        (tmp_path / name).write_text("FROM python:3.12\n")
    (tmp_path / "node1.txt").write_text(_TEXT)
    (tmp_path / "setup-node").write_text(_TEXT)
    assert _names(tmp_path) == ["node1", "setup-node"]
    assert _names(tmp_path / "Dockerfile") == ["Dockerfile"]  # somebody who names it means it
