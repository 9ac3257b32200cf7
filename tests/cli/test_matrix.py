"""`envkit matrix`, run the way a user runs it."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from envkit.cli.matrix import matrix
from tests.cli.run import envkit


def test_without_a_table_it_lists_them() -> None:
    ran = envkit("matrix")
    assert ran.returncode == 0
    assert {"toolkits", "gpus", "pytorch", "clipper"} <= {line.split()[0] for line in ran.stdout.splitlines() if line}


def test_builds_for_a_cuda_and_a_python_with_their_sources() -> None:
    ran = envkit("matrix", "pytorch", "--cuda", "11.8", "--python", "3.10", "--version", "2.0.1")
    assert ran.returncode == 0
    assert "torch==2.0.1" in ran.stdout
    assert "PyTorch builds: 1 of" in ran.stdout
    assert "[1] " in ran.stdout
    assert "https://" in ran.stdout


@pytest.mark.parametrize("word", ["rtx3090", "RTX 3090", "3090"])
def test_a_gpu_is_found_by_the_names_that_a_request_takes(word: str) -> None:
    ran = envkit("matrix", "gpus", word, "--columns", "name")
    assert "NVIDIA GeForce RTX 3090 Ti" in ran.stdout


def on_terminal(monkeypatch: pytest.MonkeyPatch, columns: int, *words: str) -> str:
    monkeypatch.setattr("envkit.cli.matrix.table_width", lambda: columns)
    return CliRunner().invoke(matrix, words).output


def test_a_narrow_terminal_hides_no_column_without_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = on_terminal(monkeypatch, 80, "gpus", "4090")
    assert "6 columns do not fit: TensorFlow, PCIe, lanes, Tensor Cores, last driver, variant." in " ".join(
        shown.split()
    )
    assert "--columns" in shown and max(map(len, shown.split("GPUs: ")[0].splitlines())) <= 80
    assert "do not fit" not in on_terminal(monkeypatch, 200, "gpus", "4090")


def test_json_names_each_rows_sources_in_full() -> None:
    ran = envkit("matrix", "gpus", "1080 Ti", "--json", "--columns", "name,memory-gb,last-cuda")
    (row,) = json.loads(ran.stdout)["rows"]
    assert row["name"] == "NVIDIA GeForce GTX 1080 Ti"
    assert row["memory_gb"] == 11
    assert set(row["sources"]) == set(json.loads(ran.stdout)["sources"])


def test_csv_holds_every_row_and_column() -> None:
    ran = envkit("matrix", "cuda", "--format", "csv", "--columns", "all")
    rows = list(csv.DictReader(io.StringIO(ran.stdout)))
    assert len(rows) >= 75
    assert rows[3]["version"] == "9.0.176"
    assert rows[3]["minimum_driver"] == "384.81"


def test_sorting_downwards() -> None:
    ran = envkit("matrix", "gpus", "--sort", "-memory", "--columns", "name,memory", "--format", "csv")
    sizes = [row["memory_gb"] for row in csv.DictReader(io.StringIO(ran.stdout))]
    known = [float(size) for size in sizes if size]
    assert known == sorted(known, reverse=True)
    assert not any(sizes[len(known) :])


def test_markdown() -> None:
    ran = envkit("matrix", "frameworks", "--archived", "y", "--format", "markdown", "--columns", "name,note")
    assert ran.stdout.splitlines()[0] == "| name | note | sources |"
    assert "| mxnet |" in ran.stdout


def test_status_is_on_stdout_and_its_warning_on_stderr() -> None:
    ran = envkit("matrix", "--status")
    assert ran.returncode == 0
    assert "toolkits" in ran.stdout
    old = envkit("matrix", "--status", "--max-age", "0")
    assert old.returncode == 0
    assert "older than their limit" in old.stderr
    assert "older than their limit" not in old.stdout


def test_status_for_programs() -> None:
    rows = json.loads(envkit("matrix", "--status", "--json").stdout)["rows"]
    assert {"table", "checked", "age_days", "limit_days", "state"} == set(rows[0])


def test_it_writes_a_file_instead(tmp_path: Path) -> None:
    target = tmp_path / "gpus.csv"
    ran = envkit("matrix", "gpus", "--format", "csv", "-o", str(target))
    assert ran.stdout == ""
    assert target.read_text().startswith("name,")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["pytrch"], "Did you mean pytorch?"),
        (["gpus", "--color", "red"], "unknown column 'color'"),
        (["gpus", "--memory", "much"], "not a number"),
        (["gpus", "--memory"], "--memory needs a value"),
    ],
)
def test_a_wrong_word_is_wrong_usage_with_one_line(words: list[str], told: str) -> None:
    ran = envkit("matrix", *words)
    assert ran.returncode == 2
    assert told in ran.stderr
    assert "Traceback" not in ran.stderr


def test_help_shows_examples() -> None:
    assert "envkit matrix pytorch --cuda 11.8" in envkit("matrix", "--help").stdout


def test_no_row_found_is_an_answer() -> None:
    ran = envkit("matrix", "gpus", "RTX 9999")
    assert ran.returncode == 0
    assert "0 of" in ran.stdout
