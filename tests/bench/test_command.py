"""The command as a user types it, with a framework that is a stand-in."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.advice.judging import envkit


@pytest.mark.parametrize(
    "words",
    [
        ["vgg"], ["--device", "toaster"], ["--threads", "0"], ["--threads", "two"],
        ["--batch", "99999999"], ["--precision", "fp12"], ["--python", "/nowhere/python"], ["--seconds", "0"],
        ["--framework", "caffe"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_what_cannot_be_is_one_line_and_status_2(words: list[str]) -> None:
    done = envkit("bench", *words)
    assert done.returncode == 2 and done.stdout == ""
    assert "Traceback" not in done.stderr and len(done.stderr.strip().splitlines()) <= 3


@pytest.mark.parametrize("text", ["", "no JSON", "[]", '{"baseline": {"a": -1}}', '{"baseline": 5}'])
def test_a_baseline_that_is_none_is_one_line(text: str, tmp_path: Path) -> None:
    file = tmp_path / "baseline.json"
    file.write_text(text)
    done = envkit("bench", "--baseline", str(file))
    assert done.returncode == 1 and done.stderr.count("\n") == 1


HOSTILE = {
    "a long number": '{"baseline": {"a": ' + "9" * 5000 + "}}",
    "infinity": '{"baseline": {"a": 1e999}}',
    "no number": '{"baseline": {"a": NaN}}',
    "a text": '{"baseline": {"a": "1"}}',
    "true": '{"baseline": {"a": true}}',
    "zero": '{"baseline": {"a": 0}}',
    "nested": "[" * 100_000,
    "many": '{"baseline": [' + "1," * 400_000 + "1]}",
    "long": " " * 2_000_000,
    "twice": '{"baseline": {"a": 1}, "baseline": 5}',
    "NUL": '{"baseline": {"a": 1}}\0',
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_baseline_is_one_line(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "baseline.json"
    file.write_text(HOSTILE[kind])
    done = envkit("bench", "--baseline", str(file))
    assert done.returncode in (1, 2) and done.stdout == "" and done.stderr.count("\n") == 1
    assert str(file) in done.stderr and len(done.stderr) < 400


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["pipe", "folder"])
def test_a_baseline_that_is_no_file_is_not_waited_for(make: Callable[[str], None], tmp_path: Path) -> None:
    make(str(tmp_path / "baseline"))
    for place in (str(tmp_path / "baseline"), "/dev/zero"):
        done = envkit("bench", "--baseline", place)
        assert done.returncode == 1 and f"cannot read {place}" in done.stderr


@pytest.mark.parametrize("median", ["5e-324", "1e-300", "1e308", "9" * 20])
@pytest.mark.parametrize("form", ["text", "json", "markdown", "html", "prometheus"])
def test_a_median_of_any_size_is_held_against(median: str, form: str, stand_in: str, tmp_path: Path) -> None:
    words = ("resnet-50", "--device", "cpu", "--threads", "1", "--batch", "8", "--python", stand_in)
    saved = tmp_path / "b.json"
    assert envkit("bench", *words, "--save-baseline", str(saved)).returncode == 0
    (name,) = json.loads(saved.read_text())["baseline"]
    saved.write_text(f'{{"baseline": {{{json.dumps(name)}: {median}, "\\u001b[31m\\u202e\\ud800": 1}}}}')
    done = envkit("bench", *words, "--baseline", str(saved), "--format", form)
    assert done.returncode == (1 if float(median) < 1 else 0), done.stderr
    assert "inf" not in done.stdout.lower().replace("info", "") and "\x1b" not in done.stdout
    if form == "json":
        assert json.loads(done.stdout)["measurements"][0]["baseline"] == float(median)


@pytest.mark.parametrize("device", ["9", "gpu"])
def test_a_device_that_is_not_there_is_said_and_status_1(device: str) -> None:
    done = envkit("bench", "--device", device)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "envkit doctor" in done.stderr and f"--device {device}" in done.stderr


def test_what_a_baseline_does_not_name_is_unknown_and_fails_strict(stand_in: str, tmp_path: Path) -> None:
    words = ("resnet-50", "--device", "cpu", "--threads", "1", "--batch", "8", "--python", stand_in)
    saved = tmp_path / "b.json"
    saved.write_text('{"baseline": {"resnet-50.b8.fp32|pytorch|another processor, 64 cores|1": 0.5}}')
    done = envkit("bench", *words, "--baseline", str(saved))
    assert done.returncode == 0 and "the baseline has no entry" in " ".join(done.stdout.split())
    assert envkit("bench", *words, "--baseline", str(saved), "--strict").returncode == 1


def test_no_framework_is_said_and_status_1() -> None:
    done = envkit("bench", "membw", "--device", "cpu", "--framework", "mxnet", "--python", sys.executable)
    assert done.returncode == 1 and "mxnet is not installed in any" in done.stderr


def test_a_run_that_measured_nothing_keeps_the_baseline(tmp_path: Path) -> None:
    kept = tmp_path / "good.json"
    kept.write_text("good")
    words = ("membw", "--device", "cpu", "--framework", "mxnet", "--python", sys.executable)
    with_numpy = "-S"  # an interpreter without site-packages has no NumPy
    bare = tmp_path / "python3"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} {with_numpy} "$@"\n')
    bare.chmod(0o755)
    done = envkit("bench", *words[:-1], str(bare), "--save-baseline", str(kept))
    assert done.returncode == 1 and kept.read_text() == "good"
    assert "nothing was measured" in done.stderr and "not measured: membw" in done.stdout


@pytest.mark.parametrize("option", ["--output", "--save-baseline"])
def test_a_file_that_cannot_be_written_is_refused_before_the_run(
    option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("envkit.cli.bench_run.Bench.verdicts", lambda run: pytest.fail("it was measured first"))
    done = envkit("bench", option, str(tmp_path / "none" / "b.json"))
    assert done.returncode == 1 and f"{option}: cannot write" in done.stderr
    assert not list(tmp_path.iterdir())


def _stand_in(folder: Path) -> str:
    """An interpreter whose torch is a stand-in: it answers every job without computing anything."""
    python = folder / "python3"
    body = (
        f"#!{sys.executable}\nimport json, sys\n"
        "if 'find_spec' in sys.argv[2]:\n    print('torch')\n    raise SystemExit\n"
        "settings = json.loads(sys.argv[3])\n"
        "print(json.dumps({'version': '9.9', 'framework': 'pytorch'}))\n"
        "for job in settings['jobs']:\n"
        "    print(json.dumps({'start': job['id']}))\n"
        "    print(json.dumps({'id': job['id'], 'samples': [2.0, 2.0, 2.0], 'unit': 's', 'parameters': 5}))\n"
    )
    python.write_text(body)
    python.chmod(0o755)
    return str(python)


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    path = _stand_in(tmp_path)
    found = type("Found", (), {"executable": path})()
    monkeypatch.setattr("envkit.cli.bench_run.interpreter_of", lambda host, place: found)
    monkeypatch.setattr("envkit.host.bench.foreign_place", lambda python, variables: "")
    return path


def test_the_folder_of_an_environment_will_do(stand_in: str, tmp_path: Path) -> None:
    (tmp_path / "env/bin").mkdir(parents=True)
    (tmp_path / "env/bin/python").symlink_to(stand_in)
    done = envkit("bench", "resnet-50", "--device", "cpu", "--python", str(tmp_path / "env"))
    assert done.returncode == 0 and "resnet-50.b16.fp32 pytorch 9.9" in done.stdout


def test_what_does_not_fit_a_processor_is_said(stand_in: str) -> None:
    words = ("fcn-r", "--device", "cpu", "--python", stand_in, "--precision", "tf32,bf16", "--threads", "1000")
    done = envkit("bench", *words, "--json")
    assert [row["id"] for row in json.loads(done.stdout)["measurements"]] == ["fcn-r.b1024.bf16"]
    assert "tf32 is a precision for GPUs" in done.stderr and "1000 threads on" in done.stderr


def test_a_run_with_its_baseline_and_formats(stand_in: str, tmp_path: Path) -> None:
    words = ("resnet-50", "--device", "cpu", "--threads", "1,2", "--batch", "8,16", "--python", stand_in)
    first = envkit("bench", *words, "--json", "--save-baseline", str(tmp_path / "b.json"))
    document = json.loads(first.stdout)
    rows = document["measurements"]
    assert first.returncode == 0 and [(row["id"], row["threads"]) for row in rows] == [
        ("resnet-50.b8.fp32", 1), ("resnet-50.b16.fp32", 1), ("resnet-50.b8.fp32", 2), ("resnet-50.b16.fp32", 2),
    ]  # fmt: skip
    assert rows[1]["reference"][0]["seconds"] == 6.62725 and rows[1]["value"] == 2.0 and rows[1]["version"] == "9.9"
    baseline = json.loads((tmp_path / "b.json").read_text())
    assert len(baseline["baseline"]) == 4
    faster = {"schema": 1, "baseline": {name: 1.0 for name in baseline["baseline"]}}
    (tmp_path / "b.json").write_text(json.dumps(faster))
    again = envkit("bench", *words, "--baseline", str(tmp_path / "b.json"), "-o", str(tmp_path / "b.html"))
    assert again.returncode == 1 and "low" in (tmp_path / "b.html").read_text()
    assert "<svg" in (tmp_path / "b.html").read_text()


def test_help_is_there() -> None:
    assert "resnet-50" in envkit("bench", "--help").stdout
