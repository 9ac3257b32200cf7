"""The resolver against brute force, for every GPU class, driver branch, framework and system of the tables.

The whole product runs with `ENVKIT_ORACLE=full`; a spread-out part of it runs by default.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import pytest

from envkit.matrix import Matrix
from envkit.matrix.rows import OperatingSystem
from envkit.plan.candidates import Judge
from envkit.plan.knowledge import Knowledge
from envkit.plan.model import NoPlan, Plan
from envkit.plan.request import FrameworkRequest, Request, TargetGpu
from envkit.plan.search import feasible
from envkit.plan.solve import resolve
from envkit.versions import ComputeCapability, Version, VersionSpec
from tests.plan.oracle import Oracle, Question

FULL = os.environ.get("ENVKIT_ORACLE") == "full"
STEP = 1 if FULL else 37  # prime to the sizes of the tables, so that a part touches every row of each


@pytest.fixture(scope="module")
def matrix() -> Matrix:
    return Matrix.load()


@pytest.fixture(scope="module")
def oracle(matrix: Matrix) -> Oracle:
    return Oracle(matrix)


def gpu_classes(matrix: Matrix) -> list[TargetGpu]:
    """GPUs that differ in anything that a relation looks at."""
    found = {
        (row.compute_capability, row.last_driver_branch, row.data_center): TargetGpu(
            row.compute_capability, row.name, row.last_driver_branch, row.data_center
        )
        for row in matrix.gpus
    }
    return [found[key] for key in sorted(found, key=lambda key: (key[0], key[1] or 0, key[2]))]


def drivers(matrix: Matrix) -> list[Version]:
    """The newest driver of each branch."""
    return [row.last_version or row.first_version or Version.of(row.branch) for row in matrix.driver_branches]


def glibc_classes(matrix: Matrix) -> list[list[OperatingSystem]]:
    """The systems grouped by what their glibc admits: no build tells two of one group apart."""
    floors = sorted(
        {build.min_glibc for row in matrix.frameworks for build in matrix.builds(row.name) if build.min_glibc}
    )
    groups: dict[int | None, list[OperatingSystem]] = {}
    for row in matrix.operating_systems:
        met = None if row.glibc is None else sum(floor <= row.glibc for floor in floors)
        groups.setdefault(met, []).append(row)
    return list(groups.values())


def request_of(question: Question) -> Request:
    return Request(
        frameworks=(FrameworkRequest(question.framework, question.versions),),
        cuda=question.cuda,
        python=question.python,
        gpus=question.gpus,
        driver=question.driver,
        os_id=question.os_id,
    )


def changed(question: Question, option: str, value: str) -> Question:
    """The question with an offered change, read as a user would type it."""
    if option == "framework":
        name, _, version = value.partition("==")
        assert name == question.framework
        return replace(question, versions=VersionSpec.parse(f"=={version}"))
    if option == "gpu":
        return replace(question, gpus=(TargetGpu(ComputeCapability.parse(value)),))
    if option == "driver":
        return replace(question, driver=Version.parse(value))
    if option == "os":
        return replace(question, os_id=value)
    assert option in ("cuda", "python"), option
    return replace(question, **{option: VersionSpec.parse(value)})  # type: ignore[arg-type]  # both are specs


def test_plans_exist_exactly_where_brute_force_finds_one(matrix: Matrix, oracle: Oracle) -> None:
    knowledge, started, count, combinations = Knowledge(matrix), time.perf_counter(), 0, 0
    groups = glibc_classes(matrix)
    space = product(gpu_classes(matrix), drivers(matrix), matrix.frameworks, range(len(groups)))
    for number, (gpu, driver, framework, group) in enumerate(space):
        if number % STEP:
            continue
        system = groups[group][number % len(groups[group])]
        question = Question(framework.name, (gpu,), driver, system.os_id)
        assert feasible(Judge(request_of(question), knowledge)) == oracle.exists(question), question
        count, combinations = count + 1, combinations + len(groups[group])
    print(f"{count} questions stand for {combinations} combinations, {time.perf_counter() - started:.0f} s")
    assert count > 1000


def full_questions(matrix: Matrix) -> Iterator[Question]:
    """Every GPU class, driver branch and framework, with the systems taking turns."""
    systems = matrix.operating_systems
    space = product(gpu_classes(matrix), drivers(matrix), matrix.frameworks)
    for number, (gpu, driver, framework) in enumerate(space):
        if number % STEP == 0:
            yield Question(framework.name, (gpu,), driver, systems[number % len(systems)].os_id)


def test_plans_and_alternatives_satisfy_every_relation(matrix: Matrix, oracle: Oracle) -> None:
    started, plans, refusals, offers = time.perf_counter(), 0, 0, 0
    for question in full_questions(matrix):
        plan = resolve(request_of(question), matrix)
        newest = oracle.newest(question)
        if isinstance(plan, Plan):
            plans += 1
            assert list(oracle.faults(question, plan.choice)) == [], question
            assert plan.choice.builds[0].version == newest, question
        else:
            refusals += 1
            assert newest is None, question
            assert plan.conflicts, question
        offers += check_alternatives(question, plan, matrix, oracle)
    print(f"{plans} plans, {refusals} refusals, {offers} alternatives checked, {time.perf_counter() - started:.0f} s")
    assert plans > 100 and refusals > 100 and offers > 100


def check_alternatives(question: Question, plan: Plan | NoPlan, matrix: Matrix, oracle: Oracle) -> int:
    """Every offered change gives a plan, by brute force and by the resolver; the number of offers."""
    for alternative in plan.alternatives:
        other = question
        for option, value in alternative.changes.items():
            other = changed(other, option, value)
        assert oracle.exists(other), (question, alternative)
        assert feasible(Judge(request_of(other), Knowledge(matrix))), (question, alternative)
    if isinstance(plan, NoPlan):
        assert plan.alternatives, question
    return len(plan.alternatives)
