"""`--progress json`: one valid object per event on stdout, whatever names it holds; words for people on stderr."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.install.booting import ASKS_ONCE, Booting
from tests.install.drivers import script
from tests.install.shell import call

NAMES = (
    b'quo"te', b"back\\slash", b"\\", b"tab\tin", b"line\nend", b"esc\x1b[31m", b"bell\x07", b"vt\x0bff\x0cdel\x7f",
    b"caf\xc3\xa9", b"\xe4\xb8\xad\\", b"\xff\xfe", b"half \xe4\xb8", b"\xed\xa0\x80", b"\xc0\xaf", b"\x80\\\"",
    b"&$(x)`y`%s", b"\xf0\x9f\x98\x80", b" ", b"",
)  # fmt: skip


def test_each_step_begins_and_ends_and_the_result_comes_last(tmp_path: Path) -> None:
    done = Booting(tmp_path, "sleep 1").run("--progress=json")
    assert done.code == 0, done
    *events, result = done.events
    steps = [event for event in events if event["event"].startswith("step-")]
    assert [event["id"] for event in steps[::2]] == [event["id"] for event in steps[1::2]]
    begun, ended = steps[::2], {event["id"]: event for event in steps[1::2]}
    assert [event["number"] for event in begun] == [*range(1, begun[0]["of"] + 1)] and all(e["title"] for e in begun)
    assert {event["event"] for event in ended.values()} == {"step-ended"}
    assert ended["driver"]["state"] == "done" and ended["driver"]["seconds"] >= 1
    assert ended["nouveau"]["state"] == "unchanged" and ended["nouveau"]["seconds"] <= 1
    assert result["event"] == "result" and result["status"] == "ok" and result["seconds"] >= 1
    assert result["steps"] == [{"id": name, "state": event["state"]} for name, event in ended.items()]
    assert "[1/" in done.err and "{" not in done.err


def test_a_step_that_fails_and_a_reboot_are_events(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    failed = Booting(tmp_path / "a", 'fail 11 "it \\"fails\\"\tso"').run("--progress", "json")
    assert failed.code == 11 and failed.events[-2]["state"] == "failed", failed
    assert failed.events[-1]["message"] == 'it "fails"\tso' and failed.events[-1]["status"] == "failed"
    waits = Booting(tmp_path / "b", ASKS_ONCE).run("--progress", "json", "--reboot")
    (asked,) = [event for event in waits.events if event["event"] == "reboot-needed"]
    assert asked == {"event": "reboot-needed", "id": "driver", "reason": "it is installed"}
    assert waits.events[-1]["status"] == "rebooting" and waits.events[-1]["exit_code"] == 8


def test_without_it_the_result_is_all_that_stdout_has(tmp_path: Path) -> None:
    done = Booting(tmp_path, ":").run()
    assert "event" not in done.result and done.result["status"] == "ok"


@pytest.mark.parametrize("words", [("--progress",), ("--progress", "xml"), ("--progress=",)])
def test_another_format_is_wrong_usage(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = Booting(tmp_path).run(*words)
    assert done.code == 2 and "json" in done.err and not (tmp_path / "state").exists(), done


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
@pytest.mark.parametrize("tools", ["", "command() { return 1; }\n"], ids=["iconv", "without iconv"])
def test_every_name_gives_valid_json(tmp_path: Path, locale: str, tools: str) -> None:
    lines = []
    for number, name in enumerate(NAMES):
        (tmp_path / f"name-{number}").write_bytes(name)
        lines.append(f'event check name "$(json_string "$(<{tmp_path}/name-{number})")" number {number}')
    body = "\n".join((f"export LC_ALL={locale}", tools, "PROGRESS=json", *lines))
    call(script(), body, tmp_path)
    done = subprocess.run(["bash", str(tmp_path / "functions.sh")], env={**os.environ}, capture_output=True)
    events = [json.loads(line) for line in done.stdout.decode().splitlines()]
    assert [event["number"] for event in events] == [*range(len(NAMES))], done
    for name, event in zip(NAMES, events, strict=True):
        plain = name.decode(errors="ignore")
        kept = "".join(sign for sign in plain if sign >= " " or sign in "\t\n")
        if tools:
            kept = "".join(sign for sign in kept if ord(sign) < 128)
        assert event["name"] == kept
