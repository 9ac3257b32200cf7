"""Whatever a host answers, it ends in one state with a reason; its facts are kept word for word."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from envkit.base.errors import OutputError, RequestError
from envkit.fleet.playbook import inventory_of
from envkit.host.run_folder import file_name, run_folder
from envkit.ingest.arrived import kept
from envkit.ingest.hosts import host_sources, told_by
from tests.fleet.hosts import facts

FACTS = facts()


def _state(**event: Any) -> tuple[object, object]:  # noqa: ANN401 - as Ansible tells it
    told = {"host": "n1", "arrived": "ended", "by": "python", "rc": 0, "stdout": "", "seconds": 3} | event
    document = kept(told, 60)
    return document.get("state", "facts" if "environment" in document else "text"), document.get("reason")


@pytest.mark.parametrize(
    ("event", "state", "word"),
    [
        ({"stdout": FACTS}, "facts", ""),
        ({"stdout": f"Welcome to n1\n{FACTS}", "rc": 1}, "facts", ""),
        ({"stdout": FACTS[:5000]}, "unreadable", "instead of facts"),
        ({"stdout": "\x1b[31m\x00\u202e rubbish" * 9999}, "unreadable", "rubbish"),
        ({"stdout": "[" * 100_000}, "unreadable", "instead of facts"),
        ({"stdout": '{"a": 1}'}, "unreadable", "instead of facts"),
        ({}, "unreadable", "no output"),
        ({"rc": 124, "seconds": 60}, "timed-out", "time limit"),
        ({"rc": 137, "seconds": 65}, "hung", "did not stop when asked"),
        ({"rc": 137}, "crashed", "killed"),
        ({"rc": 137, "seconds": 90, "stderr": "envkit: ended after 2 s\n"}, "crashed", "killed"),
        ({"rc": 137, "seconds": 90, "stderr": "envkit: ended after 65 s\n"}, "hung", "did not stop when asked"),
        ({"rc": 3, "stderr": "MemoryError\nenvkit: ended after 2 s"}, "crashed", "MemoryError"),
        ({"rc": 1, "stderr": "x"}, "unreadable", "no output"),
        ({"rc": 3, "stderr": "a\nMemoryError"}, "crashed", "MemoryError"),
        ({"rc": 139}, "crashed", "139"),
        ({"rc": 127, "by": "shell"}, "no-python", "shell"),
        ({"rc": 0, "by": "shell", "stdout": "$ uname -a\nLinux"}, "text", ""),
        ({"rc": 0, "by": "shell"}, "unreadable", "no output"),
        ({"rc": None, "message": "mkdir: No space left on device"}, "no-space", "disk"),
        ({"arrived": "unreachable", "message": "No space left on device"}, "no-space", "disk"),
        ({"arrived": "failed", "rc": None, "message": "failed in the expected time frame (120)"}, "timed-out", ""),
        ({"arrived": "unreachable", "message": "connect: Connection refused"}, "unreachable", "connection refused"),
        ({"arrived": "unreachable", "message": "Permission denied (publickey)"}, "unreachable", "authentication"),
        ({"arrived": "unreachable", "message": "Could not resolve hostname x"}, "unreachable", "name not found"),
        ({"arrived": "unreachable", "message": "Connection timed out during banner"}, "unreachable", "timed out"),
        ({"arrived": "unreachable", "message": "Task failed: Failed to connect to the host via ssh:"},
         "unreachable", "connection was lost"),
        ({"arrived": "unreachable", "message": "Task failed: Failed to create temporary directory. In"},
         "crashed", "temporary directory"),
        ({"arrived": "unreachable", "message": "Something new"}, "unreachable", "Something new"),
    ],
    ids=lambda value: str(value)[:40],
)  # fmt: skip
def test_every_end_is_a_state(event: dict[str, Any], state: str, word: str) -> None:
    told, reason = _state(**event)
    assert told == state
    assert word in str(reason or "") and len(str(reason)) <= 300
    assert str(reason).isprintable()


HOSTILE = [
    "../../etc/passwd", "..", ".", "a/b", "$(id)", "`id`;", "n\n1", "höst", "\u202ex", "README", "x" * 500,
    "a\0b", "-rf", "\udcdd",
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_a_result_lies_in_the_folder_under_any_name(name: str, tmp_path: Path) -> None:
    with run_folder(str(tmp_path / "run"), resume=False) as folder:
        folder.store(name, {"schema": 1, "host": name, "state": "hung", "reason": "x"})
        folder.write("run.json", "{}")
        assert folder.names() == [name]
    (place,) = (tmp_path / "run" / "hosts").iterdir()
    assert place.name == file_name(name) and stat.S_IMODE(place.stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"]
    (source,) = host_sources([str(tmp_path / "run")])
    assert [told.name for told in told_by(source)] == [name]


def test_names_do_not_meet_in_one_file() -> None:
    names = [*HOSTILE, "%2E%2E", "a%2Fb", "x" * 501, "readme"]
    assert len({file_name(name) for name in names}) == len(names)


def test_one_run_at_a_time_and_none_over_another(tmp_path: Path) -> None:
    place = str(tmp_path / "run")
    with run_folder(place, resume=False) as folder:
        folder.store("n1", {"host": "n1"})
        with pytest.raises(OutputError, match="another run"), run_folder(place, resume=True):
            pass
    with pytest.raises(OutputError, match="not empty"), run_folder(place, resume=False):
        pass
    with run_folder(place, resume=True) as folder:
        assert folder.names() == ["n1"]


def test_a_run_without_a_result_leaves_what_it_found(tmp_path: Path) -> None:
    new, empty = tmp_path / "new", tmp_path / "empty"
    empty.mkdir()
    for place in (new, empty):
        with pytest.raises(OutputError), run_folder(str(place), resume=False) as folder:
            folder.write("engine/playbook.yml", "x")
            raise OutputError("full")
    assert not new.exists() and list(empty.iterdir()) == []
    with pytest.raises(OutputError), run_folder(str(new), resume=False) as folder:
        folder.store("n1", {"host": "n1"})
        raise OutputError("full")
    assert (new / "hosts" / "n1.json").is_file()
    (empty / "of-the-user").write_text("precious")
    with pytest.raises(OutputError, match="not empty"), run_folder(str(empty), resume=False):
        pass
    assert [path.name for path in empty.iterdir()] == ["of-the-user"]


def test_a_full_disk_costs_one_result_and_says_so() -> None:
    code = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "from envkit.host.run_folder import run_folder\n"
        "from envkit.base.errors import OutputError\n"
        "with run_folder(sys.argv[1], False) as folder:\n"
        "    folder.store('n1', {'host': 'n1'})\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "    try: folder.store('n2', {'host': 'n2', 'text': 'x' * 9999})\n"
        "    except OutputError as error: print(error)\n"
        "    print(folder.names())\n"
    )
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        done = subprocess.run([sys.executable, "-c", code, f"{place}/run"], capture_output=True, text=True, check=True)
        assert "cannot write" in done.stdout and "['n1']" in done.stdout
        assert [path.name for path in (Path(place) / "run" / "hosts").iterdir()] == ["n1.json"]


def test_what_arrived_damaged_is_left_out(tmp_path: Path) -> None:
    with run_folder(str(tmp_path / "run"), resume=False) as folder:
        folder.write("arrived/1.json", json.dumps({"host": "n1"})[:-3])
        folder.write("arrived/2.json", json.dumps({"host": "n2"}))
        assert [event["host"] for event in folder.arrived("arrived")] == ["n2"]
        assert list(folder.arrived("arrived")) == []


@pytest.mark.parametrize("name", ["$(id)", "-oProxyCommand=x", "a b", "a/b", "", "\u202e", "a;b", "x" * 300, "@f"])
def test_a_name_on_the_command_line_is_a_name(name: str) -> None:
    with pytest.raises(RequestError):
        inventory_of([name])
    assert inventory_of(["n1", "user@n2.lan", "höst"]) == "n1,user@n2.lan,höst,"


def test_what_ansible_brought_is_a_source_as_it_lies_there(tmp_path: Path) -> None:
    events = [
        {"host": "n1", "arrived": "ended", "by": "python", "rc": 0, "stdout": FACTS, "seconds": 2.5},
        {"host": "n2", "arrived": "unreachable", "rc": None, "message": "Connection refused"},
        {
            "host": "n3",
            "arrived": "ended",
            "by": "shell",
            "rc": 0,
            "stdout": "$ uname -a\nLinux n3 6.8.0-40-generic x86_64",
        },
    ]
    for number, event in enumerate(events):
        (tmp_path / f"{number}.json").write_text(json.dumps(event))
    told = [item for source in host_sources([str(tmp_path)]) for item in told_by(source)]
    assert [(item.name, item.state, item.environment is not None, item.seconds) for item in told] == [
        ("n1", "", True, 2.5), ("n2", "unreachable", False, None), ("n3", "", True, None),
    ]  # fmt: skip


@pytest.mark.parametrize("name", [".lock", "hosts", "engine", "arrived"])
def test_nothing_is_written_through_a_link_of_the_folder(name: str, tmp_path: Path) -> None:
    kept_file, elsewhere = tmp_path / "kept", tmp_path / "elsewhere"
    kept_file.write_text("precious")
    elsewhere.mkdir()
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / name).symlink_to(kept_file if name == ".lock" else elsewhere)
    for resume in (True, False):
        with pytest.raises(OutputError), run_folder(str(tmp_path / "run"), resume) as folder:
            folder.store("n1", {"host": "n1"})
    assert kept_file.read_text() == "precious" and not list(elsewhere.iterdir())


def test_a_pipe_among_the_results_is_no_result(tmp_path: Path) -> None:
    (tmp_path / "hosts").mkdir()
    os.mkfifo(tmp_path / "hosts/a.json")
    with run_folder(str(tmp_path), True) as folder:
        assert folder.names() == []
