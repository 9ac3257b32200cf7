"""`--check` has nothing against any Dockerfile that envkit writes itself."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from envkit.base.errors import EnvkitError
from envkit.base.settings import Mirrors
from envkit.checks.engine.findings import Status
from envkit.dockerfile.check import check_dockerfile
from envkit.image.options import ImageOptions
from envkit.image.recipe import recipe
from envkit.render.check_report import report_text
from envkit.render.dockerfile import render_dockerfile
from envkit.solver.model import Plan
from envkit.solver.request import Request
from envkit.tables import Matrix
from tests.image.making import planned, request
from tests.image.test_sweep import FRAMEWORKS

SHAPES = (
    ImageOptions(),
    ImageOptions(devel=True),
    ImageOptions(slim=True),
    ImageOptions(jupyter=True),
    ImageOptions(official=True),
)


def written(framework: str, matrix: Matrix) -> Iterator[tuple[str, Plan, str]]:
    """What was asked, its plan and the Dockerfile: each shape of the default, and each CUDA that a build has."""
    releases = sorted({build.cuda for build in matrix.builds(framework) if build.cuda is not None})
    asked = [(request(framework), shape) for shape in SHAPES]
    asked += [(request(framework, cuda=str(release)), SHAPES[0]) for release in releases]
    for wish, shape in asked:
        plan = planned(wish, matrix)
        if not isinstance(plan, Plan):
            continue
        try:
            text = render_dockerfile(recipe(plan, shape, Mirrors(), matrix))
        except EnvkitError:  # no image can hold that, and the command says so
            continue
        yield f"{framework} {wish.cuda or ''} {shape}", plan, text


def lost_cudnn(plan: Plan) -> bool:
    """True for a plan whose cuDNN has neither an archive with a checksum nor a wheel: the image comes without it."""
    row = plan.choice.cudnn
    return row is not None and not ((row.url and row.sha256) or row.pip_package)


def on_ended_system(plan: Plan, matrix: Matrix) -> bool:
    """True for a plan whose distribution is no longer kept up."""
    system = plan.choice.os
    return system is not None and (system.end_of_support or "") < matrix.data_date


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_no_complaint_about_our_own(framework: str, matrix: Matrix) -> None:
    count = 0
    for asked, plan, text in written(framework, matrix):
        findings = check_dockerfile(text, Request(container=True), matrix)
        wrong = [finding for finding in findings if finding.status in (Status.FAIL, Status.WARN)]
        if lost_cudnn(plan):  # that complaint is right, and the Dockerfile is what has to change
            wrong = [finding for finding in wrong if finding.id != "image.cudnn-missing"]
        if on_ended_system(plan, matrix):  # the plan says so too: nothing newer holds that framework
            wrong = [finding for finding in wrong if finding.id != "image.base-end-of-life"]
        assert not wrong, f"{asked}: {report_text(findings, framework)}"
        count += 1
    assert count


@pytest.mark.parametrize(
    ("frameworks", "official"),
    [
        (("tensorflow", "pytorch"), False),
        (("pytorch", "jax"), False),
        (("tensorflow==2.10.1",), False),
        (("tensorflow==2.15.0",), False),
        (("pytorch==1.1.0",), False),
        (("pytorch==2.1.0",), True),
        (("tensorflow==1.15.0",), True),
    ],
)
def test_no_complaint_about_several_older_and_official(
    frameworks: tuple[str, ...], official: bool, matrix: Matrix
) -> None:
    plan = planned(request(*frameworks), matrix)
    assert isinstance(plan, Plan)
    text = render_dockerfile(recipe(plan, ImageOptions(official=official), Mirrors(), matrix))
    findings = check_dockerfile(text, Request(container=True), matrix)
    wrong = [finding for finding in findings if finding.status in (Status.FAIL, Status.WARN)]
    assert not wrong, report_text(findings, str(frameworks))


def test_no_complaint_about_cuda_alone(matrix: Matrix) -> None:
    for release in {toolkit.release for toolkit in matrix.toolkits}:
        plan = planned(request(cuda=str(release)), matrix)
        if isinstance(plan, Plan):
            text = render_dockerfile(recipe(plan, ImageOptions(), Mirrors(), matrix))
            ended = on_ended_system(plan, matrix)
            assert not [
                finding
                for finding in check_dockerfile(text, Request(container=True), matrix)
                if finding.status in (Status.FAIL, Status.WARN)
                and not (ended and finding.id == "image.base-end-of-life")
            ], release
