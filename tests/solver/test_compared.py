"""The frameworks side by side: what is derived agrees with the tables, and what is told has a source."""

from __future__ import annotations

import json

import pytest

from envkit.solver.compared import FrameworkComparison, comparison
from envkit.solver.model import Plan
from envkit.solver.solve import resolve
from envkit.tables.browse import NONE
from envkit.tables.loader import read
from envkit.tables.ways import FrameworkTraits
from tests.cli.run import envkit
from tests.solver.asking import ask, matrix


@pytest.fixture(scope="module")
def compared() -> dict[str, FrameworkComparison]:
    return {row.name: row for row in comparison(matrix())}


def test_every_framework_is_compared_and_has_traits(compared: dict[str, FrameworkComparison]) -> None:
    names = {framework.name for framework in matrix().frameworks}
    assert set(compared) == names == {row.framework for row in read(FrameworkTraits)}
    assert all(row.sources and row.language for row in compared.values())


def test_only_archived_frameworks_have_been_archived(compared: dict[str, FrameworkComparison]) -> None:
    for row in compared.values():
        assert (row.archived_since == NONE) is not row.archived, row.name
        if row.archived_since and row.archived_since != NONE and row.released:
            assert row.archived_since[:4] <= "2023", row.name
    assert compared["mxnet"].archived_since == "2023-09"


def test_those_that_live_come_first() -> None:
    archived = [row.archived for row in comparison(matrix())]
    assert archived == sorted(archived)


@pytest.mark.parametrize("name", ["pytorch", "tensorflow", "jax", "tensorrt", "cupy"])
def test_the_oldest_gpu_is_the_oldest_that_the_resolver_plans(
    compared: dict[str, FrameworkComparison], name: str
) -> None:
    row = compared[name]
    assert row.oldest_gpu is not None
    release = f"{name}=={row.last_release}"
    assert isinstance(resolve(ask(release, gpus=(str(row.oldest_gpu),)), matrix()), Plan)
    every = {gpu.compute_capability for gpu in matrix().gpus}
    older = [one for one in every if one < row.oldest_gpu and not one.before_fermi]
    assert older
    assert not any(isinstance(resolve(ask(release, gpus=(str(one),)), matrix()), Plan) for one in older)


def test_the_command_filters_and_cites() -> None:
    ran = envkit("matrix", "frameworks", "--compare", "--archived", "n", "--columns", "name,newest-cuda", "--json")
    told = json.loads(ran.stdout)
    assert {"pytorch", "tensorflow", "jax"} <= {row["name"] for row in told["rows"]}
    assert not {"mxnet", "theano"} & {row["name"] for row in told["rows"]}
    assert {key for row in told["rows"] for key in row["sources"]} == set(told["sources"])


@pytest.mark.parametrize("words", [("gpus", "--compare"), ("--compare",), ("--status", "--compare")])
def test_other_tables_are_not_compared(words: tuple[str, ...]) -> None:
    ran = envkit("matrix", *words)
    assert ran.returncode == 2 and "--compare compares the frameworks" in ran.stderr and not ran.stdout
