"""Browsing: any table by any column, as people and programs ask."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from envkit.base.errors import RequestError
from envkit.base.versions import ComputeCapability, Version
from envkit.solver.guide import NOTHING, gpu_guide, newest_for
from envkit.solver.model import NoPlan
from envkit.solver.solve import resolve
from envkit.tables import Matrix
from envkit.tables.age import ages
from envkit.tables.browse import cell_text, column_of, header_of, listing, ordered, selected, table_names, texts
from tests.solver.asking import ask


@pytest.mark.parametrize(
    ("asked", "found"),
    [("cuda", "toolkits"), ("GPUs", "gpus"), ("torch", "pytorch"), ("driver-branches", "driver_branches"),
     ("images", "image_tags"), ("os", "operating_systems"), ("cudnn", "cudnns"), ("runfiles", "runfiles")],
)  # fmt: skip
def test_a_table_is_found_by_its_everyday_word(matrix: Matrix, asked: str, found: str) -> None:
    assert listing(asked, matrix).name == found


def test_every_table_can_be_listed_with_its_own_columns(matrix: Matrix) -> None:
    for name in table_names(matrix):
        table = listing(name, matrix)
        assert table.rows, name
        assert set(table.default) <= set(table.columns), name


def test_an_unknown_table_is_answered_with_the_nearest(matrix: Matrix) -> None:
    with pytest.raises(RequestError, match="Did you mean pytorch"):
        listing("pytrch", matrix)


@pytest.mark.parametrize(
    ("table", "word", "column"),
    [("pytorch", "python", "pythons"), ("pytorch", "arch", "architectures"), ("gpus", "cc", "compute_capability"),
     ("gpus", "memory", "memory_gb"), ("image_tags", "os", "os_id"), ("toolkits", "minimum-driver", "minimum_driver")],
)  # fmt: skip
def test_a_column_is_found_by_its_everyday_word(matrix: Matrix, table: str, word: str, column: str) -> None:
    assert column_of(listing(table, matrix), word) == column


def test_an_unknown_column_is_answered_with_the_nearest(matrix: Matrix) -> None:
    with pytest.raises(RequestError, match="Did you mean memory-gb"):
        column_of(listing("gpus", matrix), "memory-bg")


@pytest.mark.parametrize(
    ("table", "filters", "words", "count"),
    [
        ("pytorch", [("cuda", "11.8"), ("python", "3.10"), ("version", "2.3")], [], 2),
        ("gpus", [], ["4090"], 3),
        ("gpus", [], ["4090", "laptop"], 1),
        ("gpus", [("cc", "sm_90"), ("name", "h100")], [], 6),
        ("gpus", [("cc", ">=10.0"), ("memory", ">=180")], [], 4),
        ("gpus", [("data-center", "yes"), ("family", "volta")], [], 12),
        ("toolkits", [("version", "9.2")], [], 2),
        ("toolkits", [("compute-capabilities", "12.1"), ("version", "12.9")], [], 3),
        ("driver_branches", [("driver-cuda-version", "unknown")], [], 2),
        ("jax", [("cuda", "12.4"), ("version", "0.4.20")], [], 1),
        ("tensorrt", [("cuda", ">=13"), ("version", ">=11")], [], 5),
    ],
)
def test_filters(matrix: Matrix, table: str, filters: list[tuple[str, str]], words: list[str], count: int) -> None:
    assert len(selected(listing(table, matrix), filters, words)) == count


@pytest.mark.parametrize(
    ("table", "column", "value", "told"),
    [("gpus", "memory", "much", "not a number"), ("gpus", "tensor-cores", "maybe", "not yes or no"),
     ("pytorch", "cuda", "eleven", "not a version"), ("gpus", "cc", "volta", "not a compute capability")],
)  # fmt: skip
def test_a_value_that_does_not_fit_its_column_is_refused(
    matrix: Matrix, table: str, column: str, value: str, told: str
) -> None:
    with pytest.raises(RequestError, match=told):
        selected(listing(table, matrix), [(column, value)], [])


def test_rows_are_sorted_and_the_unknown_stand_last(matrix: Matrix) -> None:
    for descending in (False, True):
        rows = ordered(matrix.gpus, "tdp_w", descending)
        known = [gpu.tdp_w for gpu in rows if gpu.tdp_w is not None]
        assert known == sorted(known, reverse=descending)
        assert all(gpu.tdp_w is None for gpu in rows[len(known) :])
        assert len(known) < len(rows) == len(matrix.gpus)


def test_texts_tell_unknown_from_certainly_none(matrix: Matrix) -> None:
    build = matrix.builds("pytorch")[0]
    assert texts(replace(build, ptx=()), ("ptx",)) == ["-"]
    assert texts(replace(build, ptx=None), ("ptx",)) == [""]
    assert texts(replace(build, pythons=()), ("pythons",)) == [""]


@pytest.mark.parametrize(
    ("cell", "text"),
    [(None, ""), (True, "y"), (False, "n"), (24.0, "24"), (336.5, "336.5"), (("a", "b"), "a;b"),
     (Version.parse("580.65.06"), "580.65.06"), (ComputeCapability.parse("9.0a"), "9.0a")],
)  # fmt: skip
def test_cells_are_written_as_in_their_file(cell: object, text: str) -> None:
    assert cell_text(cell) == text


# ---- the buying guide


@pytest.mark.parametrize(
    ("name", "cuda"),
    [
        ("Tesla K80", "11.8"),
        ("GeForce GTX 680", "10.2"),
        ("GeForce GTX 1080 Ti", "12.9"),
        ("Tesla V100-SXM2-32GB", "12.9"),
    ],
)
def test_the_last_cuda_of_a_card(matrix: Matrix, name: str, cuda: str) -> None:
    found = next(row for row in gpu_guide(matrix) if row.name.endswith(name))
    assert found.last_cuda == Version.parse(cuda)


def test_a_card_that_everything_supports_gets_the_newest_of_everything(matrix: Matrix) -> None:
    card = next(row for row in gpu_guide(matrix) if row.name.endswith("GeForce RTX 4090"))
    assert card.last_cuda == matrix.toolkits[-1].release
    assert card.newest_pytorch == matrix.builds("pytorch")[-1].version
    assert card.newest_tensorflow == matrix.builds("tensorflow")[-1].version


def test_a_card_newer_than_a_frameworks_cuda_libraries_gets_none_of_it(matrix: Matrix) -> None:
    card = next(row for row in gpu_guide(matrix) if row.name.endswith("GeForce RTX 5090"))
    assert card.newest_tensorflow is NOTHING  # known, and not the same as unknown
    assert card.newest_pytorch == matrix.builds("pytorch")[-1].version


def test_older_cards_reach_no_further_than_newer_ones(matrix: Matrix) -> None:
    reach = {row.compute_capability: row.newest_pytorch for row in gpu_guide(matrix) if row.variant != "jetson"}
    assert None not in reach.values()
    in_order = [reach[capability] for capability in sorted(reach)]
    assert in_order == sorted(in_order, key=lambda version: version or Version.of(0))
    assert in_order[0] != in_order[-1]


@pytest.mark.parametrize("framework", ["pytorch", "tensorflow"])
def test_the_guide_and_the_resolver_agree_that_nothing_runs(matrix: Matrix, framework: str) -> None:
    for capability, row in {
        row.compute_capability: row for row in gpu_guide(matrix) if row.variant != "jetson"
    }.items():
        if capability.before_fermi:  # refused before the resolver is asked
            with pytest.raises(RequestError, match=r"1\.x"):
                ask(framework, gpus=(str(capability),))
            assert getattr(row, f"newest_{framework}") is NOTHING
            continue
        plan = resolve(ask(framework, gpus=(str(capability),)), matrix)
        assert (getattr(row, f"newest_{framework}") is NOTHING) == isinstance(plan, NoPlan), capability


def test_what_is_not_known_of_a_build_is_not_known_of_a_card(matrix: Matrix) -> None:
    unlisted = [
        replace(row, sass=None, ptx=None) for row in matrix.builds("pytorch") if row.version == Version.parse("2.6.0")
    ]
    card = ComputeCapability.parse("9.0")
    assert newest_for(card, unlisted, matrix) is None
    assert newest_for(ComputeCapability.parse("12.0"), unlisted, matrix) is NOTHING  # no CUDA of theirs knows it


def test_none_is_found_by_its_word_and_by_no_bound(matrix: Matrix) -> None:
    table = replace(listing("gpus", matrix), rows=gpu_guide(matrix))
    without = selected(table, [("tensorflow", "none")], [])
    assert any(row.name.endswith("RTX 5090") for row in without)
    assert not {*without} & {*selected(table, [("tensorflow", "<99")], [])}
    assert ordered(table.rows, "newest_tensorflow", descending=False)[0] in without
    assert texts(without[0], ["newest_tensorflow"]) == ["none"]


@pytest.mark.parametrize(
    ("table", "word", "column"),
    [("gpus", "TensorFlow", "newest_tensorflow"), ("gpus", "last-driver", "last_driver_branch"),
     ("gpus", "GB/s", "memory_bandwidth_gbs"), ("gpus", "W", "tdp_w"), ("gpus", "cuda", "last_cuda"),
     ("toolkits", "CC min", "min_compute_capability"), ("pytorch", "ptx-for", "ptx")],
)  # fmt: skip
def test_a_column_is_found_by_the_header_above_it(matrix: Matrix, table: str, word: str, column: str) -> None:
    listed = listing(table, matrix)
    assert column_of(replace(listed, rows=gpu_guide(matrix)) if table == "gpus" else listed, word) == column


def test_every_printed_header_names_its_column(matrix: Matrix) -> None:
    for name in table_names(matrix):
        table = listing(name, matrix)
        for column in table.default:
            assert header_of(column_of(table, header_of(column))) == header_of(column), (name, column)


def test_a_jetson_runs_builds_that_have_no_rows(matrix: Matrix) -> None:
    jetsons = [row for row in gpu_guide(matrix) if row.variant == "jetson"]
    assert jetsons
    assert all(row.newest_pytorch is None for row in jetsons)


# ---- ages


def test_a_table_is_stale_only_past_its_limit(matrix: Matrix) -> None:
    (status,) = [row for row in matrix.table_status if row.table == "toolkits"]
    checked = date.fromisoformat(status.checked)
    assert status.limit_days is not None
    last_day = date.fromordinal(checked.toordinal() + status.limit_days)
    for today, stale in ((checked, False), (last_day, False), (date.fromordinal(last_day.toordinal() + 1), True)):
        (age,) = [age for age in ages(matrix, today) if age.table == "toolkits"]
        assert age.stale is stale
        assert age.days == (today - checked).days


def test_another_limit_holds_for_all_but_the_final_tables(matrix: Matrix) -> None:
    far = date(2040, 1, 1)
    final = {row.table for row in matrix.table_status if row.limit_days is None}
    assert {age.table for age in ages(matrix, far, 0) if not age.stale} == final
    assert "caffe" in final
    assert not any(age.stale for age in ages(matrix, far, 100_000))
