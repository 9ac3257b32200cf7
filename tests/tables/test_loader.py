"""A table that cannot be trusted is refused with its file, its line and what is wrong with it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from envkit.base.errors import DataError
from envkit.tables import Matrix
from envkit.tables.loader import DATA

HEADER = "branch,kind,first_version,last_version,end_of_life,families,driver_cuda_version,open_kernel_module,sources"
HEADER += ",windows_majors\n"
GOOD = "384,,384.81,384.130,,Fermi;Kepler,9.0,none,notes,385;386\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sources.csv").write_text("key,title,url\nnotes,Release notes,https://example.org/\n")
    return tmp_path


def refusal(folder: Path, text: str) -> str:
    (folder / "driver_branches.csv").write_text(text)
    with pytest.raises(DataError) as caught:
        Matrix.load(folder).driver_branches  # noqa: B018 - reading is what is tried
    return str(caught.value)


def test_a_good_table_becomes_typed_rows(folder: Path) -> None:
    (folder / "driver_branches.csv").write_text(HEADER + GOOD)
    (row,) = Matrix.load(folder).driver_branches
    assert row.branch == 384
    assert str(row.last_version) == "384.130"
    assert row.families == ("Fermi", "Kepler")
    assert row.end_of_life is None
    assert row.sources == ("notes",)
    assert row.windows_majors == (385, 386)


def test_an_empty_table_is_no_error(folder: Path) -> None:
    (folder / "driver_branches.csv").write_text(HEADER)
    assert Matrix.load(folder).driver_branches == ()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("x,,384.81,384.130,,Fermi,9.0,none,notes,\n", "branch: "),
        ("384,,384.a,384.130,,Fermi,9.0,none,notes,\n", "first_version: not a version: '384.a'"),
        ("384,,384.81,384.130,,Fermi,9.0,maybe,notes,\n", "open_kernel_module: 'maybe' is not one of"),
        ("384,,384.81,384.130,,Fermi,9.0,none,,\n", "sources: no source"),
        ("384,,384.81,384.130,,Fermi,9.0,none,notes;rumour,\n", "sources: 'rumour' is not in sources.csv"),
        ("384,,384.81\n", "3 cells, not 10"),
    ],
)
def test_a_wrong_cell_is_named_by_line_and_column(folder: Path, line: str, told: str) -> None:
    later = GOOD.replace("384,", "390,", 1)
    message = refusal(folder, HEADER + later + line)
    assert message.startswith("driver_branches.csv line 3: ")
    assert told in message


def test_a_repeated_key_names_both_lines(folder: Path) -> None:
    message = refusal(folder, HEADER + GOOD + GOOD.replace("384,", "390,", 1) + GOOD)
    assert message == "driver_branches.csv line 4: same branch as line 2: 384."


def test_an_unknown_column_and_a_missing_one_are_named(folder: Path) -> None:
    message = refusal(folder, HEADER.replace("kind", "color") + GOOD)
    assert message == "driver_branches.csv line 1: wrong columns: unknown ['color'], missing ['kind']."


def test_columns_out_of_order_are_refused(folder: Path) -> None:
    assert "out of order" in refusal(folder, HEADER.replace("branch,kind", "kind,branch") + GOOD)


def test_an_empty_file_is_refused(folder: Path) -> None:
    assert "wrong columns" in refusal(folder, "")


def test_a_missing_table_says_to_reinstall(folder: Path) -> None:
    with pytest.raises(DataError) as caught:
        Matrix.load(folder).gpus  # noqa: B018
    assert str(caught.value).startswith("gpus.csv: cannot be read")
    assert caught.value.hint == "Reinstall envkit."


def test_a_table_that_is_not_text_is_refused(folder: Path) -> None:
    (folder / "gpus.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="gpus.csv: cannot be read"):
        Matrix.load(folder).gpus  # noqa: B018


def test_a_flag_is_y_or_n(tmp_path: Path) -> None:
    shutil.copytree(Path(DATA), tmp_path / "data")
    gpus = tmp_path / "data" / "gpus.csv"
    lines = gpus.read_text().splitlines(keepends=True)
    lines[4] = lines[4].replace(",n,techpowerup", ",no,techpowerup")
    gpus.write_text("".join(lines))
    with pytest.raises(DataError, match=r"gpus.csv line 5: data_center: not y or n: 'no'"):
        Matrix.load(tmp_path / "data").gpus  # noqa: B018


def test_certainly_none_differs_from_unknown(matrix: Matrix) -> None:
    by_ptx = {build.ptx for build in matrix.builds("pytorch")}
    assert () in by_ptx
    assert None in by_ptx


def test_loading_reads_nothing(tmp_path: Path) -> None:
    Matrix.load(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("ask", "files"),
    [
        (lambda matrix: matrix.toolkits, {"sources.csv", "toolkits.csv"}),
        (lambda matrix: matrix.builds("mxnet"), {"sources.csv", "frameworks/mxnet.csv"}),
        (lambda matrix: matrix.framework("torch"), {"sources.csv", "frameworks.csv"}),
        (lambda matrix: matrix.source("nvidia-cuda-release-notes"), {"sources.csv"}),
    ],
)
def test_only_what_is_asked_for_is_read(tmp_path: Path, ask: Callable[[Matrix], object], files: set[str]) -> None:
    """A folder that holds nothing but these files is enough for the question."""
    for name in files:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(Path(DATA) / name, tmp_path / name)
    assert ask(Matrix.load(tmp_path))


def test_a_table_is_read_once(folder: Path) -> None:
    (folder / "driver_branches.csv").write_text(HEADER + GOOD)
    matrix = Matrix.load(folder)
    first = matrix.driver_branches
    (folder / "driver_branches.csv").unlink()
    assert matrix.driver_branches is first
