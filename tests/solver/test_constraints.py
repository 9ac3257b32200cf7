"""A constraint says the same of builds alike in its columns to queries that ask the same: groups depend on it."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from envkit.base.versions import Version
from envkit.solver.build_set import BuildSet
from envkit.solver.constraints import CONSTRAINTS, Constraint
from envkit.solver.knowledge import Knowledge
from envkit.solver.query import Query
from envkit.solver.request import Request
from envkit.tables.rows import FrameworkBuild
from tests.solver.asking import ask, matrix

BUILDS = [build for row in matrix().frameworks for build in matrix().builds(row.name)]


def queries(count: int) -> Iterator[Request]:
    chance = random.Random("constraints")

    def some(share: float, *values: str) -> str:
        return chance.choice(values) if chance.random() < share else ""

    for _ in range(count):
        yield ask(
            cuda=some(0.5, "9.0", "11.8", "12", "12.4.1", ">=12"),
            cudnn=some(0.3, "7.6", "8", "9.1", ">=9"),
            python=some(0.5, "2.7", "3.8", "3.12", ">=3.9"),
            driver=some(0.5, "384.81", "450.80.02", "535.54.03", "580.65.06"),
            os_id=some(0.5, "centos7", "ubuntu22.04", "debian13") or None,
            gpus=tuple(filter(None, (some(0.6, "Tesla K80", "H100 PCIe"), some(0.4, "GeForce RTX 5090", "7.5")))),
            architecture=some(0.2, "aarch64") or "x86_64",
            platform=some(0.2, "windows", "wsl") or "linux",
            with_driver=chance.random() < 0.2,
        )


class Watched:
    """A build that notes which of its columns are read."""

    def __init__(self, build: FrameworkBuild) -> None:
        self._build = build
        self.read: set[str] = set()

    def __getattr__(self, name: str) -> object:
        self.read.add(name)
        return getattr(self._build, name)


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=lambda constraint: constraint.relation)
def test_it_reads_its_columns_and_no_other(constraint: Constraint) -> None:
    read: set[str] = set()
    for number, request in enumerate(queries(40)):
        query = Query(request, Knowledge(matrix()))  # nothing is remembered, so everything is read
        for build in BUILDS[number::199]:
            watched = Watched(build)
            constraint.holds(query, watched)  # type: ignore[arg-type]  # it has what a build has
            read |= watched.read
    assert read <= set(constraint.columns)


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=lambda constraint: constraint.relation)
def test_what_is_asked_alike_is_answered_alike(constraint: Constraint) -> None:
    answers: dict[object, bool | None] = {}
    groups = BuildSet(BUILDS).groups(constraint.columns)
    knowledge = Knowledge(matrix())
    for number, request in enumerate(queries(150)):
        query = Query(request, knowledge)
        asked = constraint.asks(query)
        for build, group in list(zip(BUILDS, groups, strict=True))[number % 13 :: 97]:
            answer = constraint.holds(query, build)
            if asked is None:
                assert answer is True, (request, build)
            else:
                assert answers.setdefault((asked, group), answer) == answer, (request, build)


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=lambda constraint: constraint.relation)
def test_a_refusal_is_of_its_relation_and_says_why(constraint: Constraint) -> None:
    knowledge, refused = Knowledge(matrix()), 0
    for number, request in enumerate(queries(60)):
        query = Query(request, knowledge)
        for build in BUILDS[number % 13 :: 97]:
            if constraint.holds(query, build) is False:
                verdict = constraint.refusal(query, build)
                assert verdict.relation == constraint.relation and verdict.detail and verdict.status != "ok"
                refused += 1
    assert refused


def test_release_lines_that_are_equal_as_versions_are_told_apart() -> None:
    assert Version.of(12) == Version.of(12, 0)
    keys = {ask(cuda=cuda).cuda.key for cuda in ("12", "12.0")}  # type: ignore[union-attr]  # each is given
    assert len(keys) == 2
