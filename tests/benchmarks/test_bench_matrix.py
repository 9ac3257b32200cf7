"""How long the tables take to load: the start of every command pays for it."""

from __future__ import annotations

import shutil
from pathlib import Path
from time import process_time
from typing import Any

import pytest

from envkit.tables import Matrix
from envkit.tables.loader import DATA

MEMBERS = ["sources", "toolkits", "gpus", "cudnns", "image_tags", "operating_systems"]
SHORT = pytest.mark.benchmark(max_time=0.2, warmup=False)


@SHORT
@pytest.mark.bench
@pytest.mark.parametrize("member", MEMBERS)
def test_loading_a_table(benchmark: Any, member: str) -> None:  # noqa: ANN401 - the plugin's fixture has no type
    benchmark(lambda: getattr(Matrix.load(), member))


@SHORT
@pytest.mark.bench
@pytest.mark.parametrize("framework", ["pytorch", "tensorflow", "mxnet", "cupy"])
def test_loading_builds(benchmark: Any, framework: str) -> None:  # noqa: ANN401
    benchmark(lambda: Matrix.load().builds(framework))


@pytest.mark.bench
def test_loading_takes_time_in_proportion_to_its_rows(tmp_path: Path) -> None:
    """Four times the rows take at most six times as long."""

    def seconds(copies: int) -> float:
        folder = tmp_path / str(copies)
        folder.mkdir()
        shutil.copy(Path(DATA) / "sources.csv", folder)
        header, *lines = (Path(DATA) / "image_tags.csv").read_text().splitlines(keepends=True)
        more = [line.replace("nvidia/cuda,", f"nvidia/cuda{copy},", 1) for copy in range(copies) for line in lines]
        (folder / "image_tags.csv").write_text(header + "".join(more))

        def once(turn: int) -> float:
            again = tmp_path / f"{copies}-{turn}"  # a folder is read but once
            again.symlink_to(folder)
            start = process_time()
            assert len(Matrix.load(again).image_tags) == copies * len(lines)
            return process_time() - start

        return min(once(turn) for turn in range(9))

    assert seconds(4) < 6 * seconds(1)
