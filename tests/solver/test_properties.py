"""What applies to every request: plans satisfy brute force, offers work, and nothing depends on chance."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envkit.base.versions import Version, VersionSpec
from envkit.documents.plan import plan_document
from envkit.render.plan_text import plan_summary
from envkit.solver.knowledge import Knowledge
from envkit.solver.model import NoPlan, Plan
from envkit.solver.parts import only, parts_of, without
from envkit.solver.query import Query
from envkit.solver.request import FrameworkRequest, Request, TargetGpu
from envkit.solver.search import feasible
from envkit.solver.solve import resolve
from tests.solver.asking import matrix
from tests.solver.oracle import Oracle, Question
from tests.solver.test_oracle import changed

pytestmark = pytest.mark.thorough
ORACLE = Oracle(matrix())
COMMON = ("pytorch", "tensorflow", "mxnet", "jax", "cupy", "paddlepaddle", "onnxruntime", "keras")
RELAXED = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])

gpus = st.sampled_from(matrix().gpus).map(
    lambda row: TargetGpu(row.compute_capability, row.name, row.last_driver_branch, row.data_center)
)
drivers = st.sampled_from(matrix().driver_branches).map(
    lambda row: row.last_version or row.first_version or Version.of(row.branch)
)
cudas = st.sampled_from(matrix().toolkits).map(lambda row: VersionSpec((("==", row.release),)))
pythons = st.sampled_from(["3.6", "3.7", "3.8", "3.9", "3.10", "3.11", "3.12", "3.13"]).map(VersionSpec.parse)
systems = st.sampled_from([row.os_id for row in matrix().operating_systems])


@st.composite
def frameworks(draw: st.DrawFn) -> FrameworkRequest:
    name = draw(st.sampled_from(COMMON))
    version = draw(st.sampled_from(matrix().builds(name))).version
    spec = draw(st.sampled_from([None, f"=={version}", f">={version}", f"<={version}"]))
    return FrameworkRequest(name, VersionSpec.parse(spec) if spec else None)


requests = st.builds(
    Request,
    frameworks=st.lists(frameworks(), max_size=2, unique_by=lambda item: item.name).map(tuple),
    cuda=st.none() | cudas,
    python=st.none() | pythons,
    os_id=st.none() | systems,
    gpus=st.lists(gpus, max_size=2).map(tuple),
    driver=st.none() | drivers,
    container=st.booleans(),
    needs_toolkit=st.booleans(),
)


@RELAXED
@given(requests)
def test_every_answer_can_be_shown_and_is_the_same_twice(request: Request) -> None:
    plan = resolve(request, matrix())
    assert plan == resolve(request, matrix())
    assert all(len(line) <= 80 for line in plan_summary(plan).splitlines() if " " in line.strip())
    assert plan_document(plan)["status"] == ("ok" if isinstance(plan, Plan) else "none")


@RELAXED
@given(requests)
def test_no_verdict_of_a_plan_refuses(request: Request) -> None:
    plan = resolve(request, matrix())
    if isinstance(plan, Plan):
        bad = [verdict for verdict in plan.verdicts if verdict.status in ("fail", "incompatible")]
        assert bad == []
        assert len(plan.choice.builds) == len(request.frameworks)


@RELAXED
@given(requests)
def test_conflicts_are_real_and_minimal(request: Request) -> None:
    plan = resolve(request, matrix())
    if not isinstance(plan, NoPlan):
        return
    knowledge = Knowledge(matrix())
    by_label = {part.label: part for part in parts_of(request)}
    for conflict in plan.conflicts:
        group = [by_label[label] for label in conflict.between]
        assert not feasible(Query(only(request, group), knowledge)), conflict
        for part in group:
            rest = [other for other in group if other != part]
            assert not rest or feasible(Query(only(request, rest), knowledge)), conflict
        assert conflict.detail


@RELAXED
@given(requests)
def test_leaving_a_part_open_never_loses_a_plan(request: Request) -> None:
    """Save a GPU: one of a data center is what lets an older driver run a newer CUDA through cuda-compat."""
    knowledge = Knowledge(matrix())
    if feasible(Query(request, knowledge)):
        for part in (part for part in parts_of(request) if part.option != "gpu"):
            assert feasible(Query(without(request, [part]), knowledge)) or len(request.frameworks) == 1


@RELAXED
@given(frameworks(), st.none() | cudas, st.none() | pythons, st.none() | systems, gpus, st.none() | drivers)
def test_single_frameworks_agree_with_brute_force(
    framework: FrameworkRequest,
    cuda: VersionSpec | None,
    python: VersionSpec | None,
    os_id: str | None,
    gpu: TargetGpu,
    driver: Version | None,
) -> None:
    question = Question(framework.name, (gpu,), driver, os_id, framework.spec, cuda, python)
    request = Request((framework,), cuda, None, python, os_id, gpus=(gpu,), driver=driver)
    plan = resolve(request, matrix())
    if isinstance(plan, Plan):
        assert list(ORACLE.faults(question, plan.choice)) == []
        assert plan.choice.builds[0].version == ORACLE.newest(question)
    else:
        assert not ORACLE.exists(question)
    for alternative in plan.alternatives:
        other = question
        for option, value in alternative.changes.items():
            other = changed(other, option, value)
        assert ORACLE.exists(other), alternative


SHARING = ("pytorch", "tensorflow", "jax", "keras", "sonnet", "onnxruntime", "tensorrt", "chainer", "cupy")


@st.composite
def releases(draw: st.DrawFn, name: str) -> FrameworkRequest:
    version = draw(st.sampled_from(matrix().builds(name))).version
    return FrameworkRequest(name, VersionSpec((("==", version),)))


@settings(RELAXED, max_examples=50)
@given(st.data(), st.lists(st.sampled_from(SHARING), min_size=2, max_size=2, unique=True))
def test_two_frameworks_go_together_exactly_where_brute_force_finds_a_pair(
    data: st.DataObject, names: list[str]
) -> None:
    asked = tuple(data.draw(releases(name)) for name in names)
    one, other = (Question(item.name, (), None, None, item.spec) for item in asked)
    pairs = list(ORACLE.pairs(one, other))
    plan = resolve(Request(asked), matrix())
    assert isinstance(plan, Plan) == bool(pairs)
    if isinstance(plan, Plan):
        assert plan.choice.builds in pairs


@RELAXED
@given(requests)
def test_a_driver_that_the_plan_asks_for_is_enough(request: Request) -> None:
    plan = resolve(request, matrix())
    if isinstance(plan, Plan) and plan.choice.minimum_driver is not None and request.driver is None:
        chosen = tuple(
            FrameworkRequest(build.framework, VersionSpec((("==", build.version),))) for build in plan.choice.builds
        )
        with_driver = replace(request, driver=plan.choice.minimum_driver, frameworks=chosen)
        assert feasible(Query(with_driver, Knowledge(matrix()))), plan.choice.minimum_driver
