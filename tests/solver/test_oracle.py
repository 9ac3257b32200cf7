"""The resolver against brute force, for every GPU class, driver branch, framework and system of the tables.

The whole product runs in `make test-sweep` (ENVKIT_SWEEP=all); a spread-out part of it runs by default.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import product

from envkit.base.versions import ComputeCapability, Version, VersionSpec
from envkit.solver.knowledge import Knowledge
from envkit.solver.model import NoPlan, Plan
from envkit.solver.query import Query
from envkit.solver.request import FrameworkRequest, Request, TargetGpu
from envkit.solver.search import feasible
from envkit.solver.solve import resolve
from envkit.tables import Matrix
from envkit.tables.rows import OperatingSystem
from tests.solver.oracle import Oracle, Question
from tests.sweeps import FULL, LARGE, START, STEP


def gpu_classes(matrix: Matrix) -> list[TargetGpu]:
    """GPUs that differ in anything that a relation looks at; those before Fermi are refused at once."""
    found = {
        (row.compute_capability, row.last_driver_branch, row.data_center, row.first_driver): TargetGpu(
            row.compute_capability, row.name, row.last_driver_branch, row.data_center, first_driver=row.first_driver
        )
        for row in matrix.gpus
        if not row.compute_capability.before_fermi
    }
    return [found[key] for key in sorted(found, key=lambda key: (key[0], key[1] or 0, key[2], str(key[3] or "")))]


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


def existence_questions(matrix: Matrix) -> list[tuple[Question, int]]:
    """Every GPU class, driver branch, framework and glibc class, with the number of systems that it stands for."""
    groups = glibc_classes(matrix)
    space = product(gpu_classes(matrix), drivers(matrix), matrix.frameworks, groups)
    return [
        (Question(framework.name, (gpu,), driver, group[number % len(group)].os_id), len(group))
        for number, (gpu, driver, framework, group) in enumerate(space)
        if number % STEP == START
    ]


def plan_questions(matrix: Matrix) -> list[Question]:
    """Every GPU class, driver branch and framework, with the systems taking turns."""
    systems = matrix.operating_systems
    space = product(gpu_classes(matrix), drivers(matrix), matrix.frameworks)
    return [
        Question(framework.name, (gpu,), driver, systems[number % len(systems)].os_id)
        for number, (gpu, driver, framework) in enumerate(space)
        if number % STEP == START
    ]


def check_existence(part: int, parts: int) -> Counter[str]:
    """A share of the existence questions: the resolver finds a plan exactly where brute force finds one."""
    matrix = Matrix.load()
    oracle, knowledge, counts = Oracle(matrix), Knowledge(matrix), Counter[str]()
    for question, systems in existence_questions(matrix)[part::parts]:
        found = feasible(Query(request_of(question), knowledge))
        assert found == oracle.exists(question), question
        counts.update({"questions": 1, "combinations": systems, "with a plan": systems if found else 0})
    return counts


def check_plans(part: int, parts: int) -> Counter[str]:
    """A share of the plan questions: plans break no rule and are the newest, refusals are right, offers work."""
    matrix = Matrix.load()
    oracle, knowledge, counts = Oracle(matrix), Knowledge(matrix), Counter[str]()
    for question in plan_questions(matrix)[part::parts]:
        plan = resolve(request_of(question), matrix)
        newest = oracle.newest(question)
        if isinstance(plan, Plan):
            assert list(oracle.faults(question, plan.choice)) == [], question
            assert plan.choice.builds[0].version == newest, question
        else:
            assert newest is None and plan.conflicts and (plan.alternatives or plan.warnings), question
        check_alternatives(question, plan, oracle, knowledge)
        counts.update({"plans" if isinstance(plan, Plan) else "refusals": 1, "offers": len(plan.alternatives)})
    return counts


def check_alternatives(question: Question, plan: Plan | NoPlan, oracle: Oracle, knowledge: Knowledge) -> None:
    """Every offered change gives a plan, by brute force and by the resolver."""
    for alternative in plan.alternatives:
        other = question
        for option, value in alternative.changes.items():
            other = changed(other, option, value)
        assert oracle.exists(other), (question, alternative)
        assert feasible(Query(request_of(other), knowledge)), (question, alternative)


def in_shares(check: Callable[[int, int], Counter[str]]) -> Counter[str]:
    """The whole check: in this process for a part of the product, on every processor for all of it."""
    if not LARGE:
        return check(0, 1)
    shares = os.cpu_count() or 1
    total: Counter[str] = Counter()
    with ProcessPoolExecutor(shares) as pool:
        for counts in pool.map(check, range(shares), [shares] * shares):
            total.update(counts)
    return total


def report(counts: Counter[str], started: float) -> None:
    print(", ".join(f"{count} {name}" for name, count in counts.items()), f"in {time.perf_counter() - started:.0f} s")


def test_plans_exist_exactly_where_brute_force_finds_one() -> None:
    started = time.perf_counter()
    counts = in_shares(check_existence)
    report(counts, started)
    assert counts["questions"] > 100 and 0 < counts["with a plan"] < counts["combinations"]


def test_plans_and_alternatives_satisfy_every_relation() -> None:
    started = time.perf_counter()
    counts = in_shares(check_plans)
    report(counts, started)
    assert counts["plans"] > 10 and counts["refusals"] > 10 and counts["offers"] > 10


def test_the_whole_product_is_asked() -> None:
    matrix = Matrix.load()
    sizes = (len(gpu_classes(matrix)), len(drivers(matrix)), len(matrix.frameworks), len(matrix.operating_systems))
    assert sum(len(group) for group in glibc_classes(matrix)) == sizes[3]
    asked = sum(count for _, count in existence_questions(matrix))
    whole = sizes[0] * sizes[1] * sizes[2] * sizes[3]
    assert asked == whole if FULL else abs(asked * STEP / whole - 1) < 0.05
