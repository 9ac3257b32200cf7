"""`envkit doctor` as it is called: what it looks at, what its exit code means, where the report goes."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from envkit.cli.main import envkit
from envkit.model import Problem
from tests.cli.test_schema import valid
from tests.fakes.machines import MACHINES

H100 = MACHINES / "ubuntu22.04-8xh100-550"
WARNS = MACHINES / "ubuntu22.04-8xa100-row-remap"
FAILS = MACHINES / "ubuntu22.04-rtx3090-mismatch"
FACTS = json.loads((MACHINES / "ubuntu22.04-rtx4090-550-torch" / "facts.json").read_text("utf-8"))
SMI_FAILS = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"


def doctor(*words: object, text: str = "") -> Result:
    return CliRunner().invoke(envkit, ["doctor", *map(str, words)], input=text, standalone_mode=False)


def document(*words: object, text: str = "") -> dict[str, Any]:
    done = doctor("--json", *words, text=text)
    assert done.exception is None, done.exception
    found: dict[str, Any] = json.loads(done.stdout)
    valid(found, "doctor")
    return found


def facts(tmp_path: Path, **problems: Problem) -> Path:
    """A healthy machine some of whose facts have a problem; `driver__nvml` is `driver.nvml`."""
    changed = json.loads(json.dumps(FACTS))
    for path, problem in problems.items():
        section, _, name = path.rpartition("__")
        (changed.setdefault(section, {}) if section else changed)[name] = {"problem": problem.value}
    (tmp_path / "facts.json").write_text(json.dumps(changed))
    return tmp_path


@pytest.mark.parametrize(
    ("machine", "codes"), [(H100, (0, 0, 0)), (WARNS, (0, 1, 1)), (FAILS, (1, 1, 1))], ids=("well", "warns", "fails")
)
def test_fail_on_says_what_gives_one(machine: Path, codes: tuple[int, ...]) -> None:
    ways = ("fail", "warn", "unknown")
    assert tuple(doctor("--from", machine, "--fail-on", way).return_value for way in ways) == codes
    assert doctor("--from", machine).return_value == codes[0]
    assert doctor("--from", machine, "--strict").return_value == codes[2]


@pytest.mark.parametrize(
    ("problems", "code"),
    [
        ({}, 0),
        ({"containers__docker": Problem.NOT_LOOKED, "kernel__log": Problem.DENIED}, 0),
        ({"gpus": Problem.NOT_LOOKED}, 1),
        ({"driver__device_nodes": Problem.TIMED_OUT}, 1),
        ({"driver__kernel_module": Problem.DENIED}, 1),
        ({"pythons": Problem.UNPARSABLE}, 1),
    ],
)
def test_strict_counts_what_decides_and_could_not_be_looked_at(
    problems: dict[str, Problem], code: int, tmp_path: Path
) -> None:
    machine = facts(tmp_path, **problems)
    assert doctor("--from", machine, "--fail-on", "warn").return_value == 0
    assert doctor("--from", machine, "--strict").return_value == code


def test_strict_counts_a_check_that_was_asked_for() -> None:
    words = ("--from", H100, "--check", "docker-no-nvidia-runtime", "--fail-on")
    assert doctor(*words, "unknown").return_value == 1


@pytest.mark.parametrize("text", ["hello world\n", ">>> 1 + 1\n2\n"])
def test_a_text_that_says_nothing_is_unknown_and_gives_one(text: str) -> None:
    assert doctor("--from", "-", text=text).return_value == 1
    found = document("--from", "-", text=text)["verdict"]
    assert (found["status"], found["id"]) == ("unknown", None)
    assert found["ask"][0] == "nvidia-smi"


def test_json_says_who_wrote_it_and_what_the_answer_is() -> None:
    from envkit import __version__

    found = document("--from", FAILS)
    assert (found["tool"]["name"], found["tool"]["version"]) == ("envkit", __version__)
    assert len(found["tool"]["data"]) == 10
    first = found["findings"][0]
    assert found["verdict"] | {"title": first["title"], "id": first["id"], "status": "fail"} == found["verdict"]
    assert found["verdict"]["confidence"] == first["confidence"] == "certain"


def test_several_texts_are_one_machine_and_each_line_is_told_by_its_file(tmp_path: Path) -> None:
    (tmp_path / "error.txt").write_text("$ python train.py\nRuntimeError: No CUDA GPUs are available\n")
    (tmp_path / "dkms.txt").write_text("$ dkms status\nnvidia/550.90.07, 6.8.0-45-generic, x86_64: installed\n")
    found = document("--from", tmp_path / "error.txt", "--from", tmp_path / "dkms.txt")
    messages = found["environment"]["messages"]["value"]
    assert {(message["file"], message["line"]) for message in messages} == {(str(tmp_path / "error.txt"), 2)}
    assert found["environment"]["kernel"]["dkms"]["source"].startswith(f"{tmp_path}/dkms.txt line 2")
    evidence = [item["source"] for item in found["findings"][0]["evidence"] if item["fact"] == "messages"]
    assert evidence == [f"{tmp_path}/error.txt, line 2"]


@pytest.mark.thorough
def test_several_machines_are_several_reports_with_the_worst_verdict(tmp_path: Path) -> None:
    (tmp_path / "smi.txt").write_text(SMI_FAILS)
    words = ("--from", H100, "--from", tmp_path / "smi.txt", "--from", FAILS / ".." / WARNS.name)
    found = document(*words)
    assert [report["verdict"]["status"] for report in found["reports"]] == ["fail", "ok", "warn"]
    assert found["verdict"] == found["reports"][0]["verdict"]
    done = doctor(*words)
    assert done.return_value == 1
    assert [line for line in done.stdout.splitlines() if line.startswith("===")][1] == f"=== {H100} ==="
    assert doctor(*words, "--format", "markdown").stdout.count("### envkit doctor: ") == 3
    assert "one report" in str(doctor(*words, "--format", "html").exception)


@pytest.mark.parametrize(
    ("name", "words", "start"),
    [
        ("r.html", (), "<!doctype html>"),
        ("r.HTM", (), "<!doctype html>"),
        ("r.md", (), "### envkit doctor"),
        ("r.json", (), "{"),
        ("r.txt", (), "FAIL  "),
        ("r", (), "FAIL  "),
        ("r.html", ("--format", "text"), "FAIL  "),
        ("r.html", ("--json",), "{"),
    ],
)
def test_the_name_of_the_file_gives_the_format(name: str, words: tuple[str, ...], start: str, tmp_path: Path) -> None:
    done = doctor("--from", FAILS, "-o", tmp_path / name, *words)
    assert (tmp_path / name).read_text().startswith(start)
    assert done.return_value == 1 and done.stdout == ""
    assert done.stderr.startswith(f"Wrote {tmp_path / name}. Root cause: ")


def test_a_terminal_without_the_signs_gets_letters() -> None:
    command = [sys.executable, "-m", "envkit", "doctor", "--from", str(H100)]
    done = subprocess.run(command, capture_output=True, check=False, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert (done.returncode, b" - driver 550" in done.stdout, b"8 x NVIDIA H100" in done.stdout) == (0, True, True)


def test_a_file_without_from_is_answered_with_the_command() -> None:
    assert str(doctor("report.txt").exception).endswith("envkit doctor --from report.txt")
    assert "cannot be used together" in str(doctor("--strict", "--fail-on", "warn").exception)


def test_a_user_at_a_terminal_is_told_what_is_awaited() -> None:
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "envkit", "doctor", "--from", "-", "--json"]
    with subprocess.Popen(command, stdin=slave, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        os.close(slave)
        assert process.stderr is not None and process.stdout is not None
        assert process.stderr.readline().startswith("Paste ")
        os.write(master, f"{SMI_FAILS}\x04".encode())
        assert json.loads(process.stdout.read())["verdict"]["status"] == "fail"
    os.close(master)


@pytest.mark.parametrize(("closed", "told"), [("<&-", "standard input is closed"), (">&-", "stdout is closed")])
def test_a_closed_stream_is_one_clear_line(closed: str, told: str) -> None:
    done = subprocess.run(
        ["bash", "-c", f'printf x | {{ exec "$0" -m envkit doctor --from - {closed}; }}', sys.executable],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    assert told in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr


def test_an_exit_status_that_no_finding_explains_is_explained() -> None:
    text = "Tue Nov 24 02:00:00 2026\n$ nvidia-smi -L\nGPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-1b0c7f4e)\n"
    done = doctor("--from", "-", "--strict", text=text)
    assert done.return_value == 1
    assert done.stdout.startswith("ok")
    assert "could not be checked: " in done.stderr
    assert "CUDA initialization" in done.stderr
    assert doctor("--from", "-", text=text).stderr == ""


def environment_of_torch(folder: Path, torch: str) -> Path:
    """A real virtual environment with the metadata of a torch in it."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    (site / f"torch-{torch}.dist-info").mkdir()
    (site / f"torch-{torch}.dist-info" / "METADATA").write_text(f"Name: torch\nVersion: {torch}\n\n")
    return folder


def test_the_named_environments_alone_are_checked(tmp_path: Path) -> None:
    one = environment_of_torch(tmp_path / "one", "2.6.0")
    two = environment_of_torch(tmp_path / "two", "2.5.1")
    found = document("--python", one, "--python", two / "bin" / "python", "--check", "torchvision-mismatch")
    told = found["environment"]["pythons"]["value"]
    assert [(each["prefix"], each["active"], each["frameworks"][0]["version"]) for each in told] == [
        (str(one), True, "2.6.0"),
        (str(two), True, "2.5.1"),
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--python", "/nowhere"), "--python: /nowhere is not a Python interpreter or an environment."),
        (("--python", ""), "--python: an empty path is not a Python interpreter or an environment."),
        (("--python", "/bin/sh"), "--python: /bin/sh is not a Python interpreter or an environment."),
        (("--python", "/usr", "--from", H100), "--python chooses among the environments of this machine."),
        (("--python", "/usr", "--root", "/"), "--python chooses among the environments of this machine."),
    ],
)
def test_a_python_that_cannot_be_checked_is_refused(words: tuple[object, ...], said: str) -> None:
    done = doctor(*words)
    assert said in str(done.exception), done.exception
