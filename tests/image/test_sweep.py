"""Every framework on every CUDA and distribution that the data allows; a few of them unless all are asked for."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from envkit.base.errors import EnvkitError
from envkit.base.settings import Mirrors
from envkit.image.options import ImageOptions
from envkit.image.recipe import recipe
from envkit.render.dockerfile import render_dockerfile
from envkit.solver.model import Plan
from envkit.solver.request import Request
from envkit.tables import Matrix
from envkit.tables.images import SourceStep
from envkit.tables.loader import read
from tests.image.making import froms, hadolint, planned, request
from tests.sweeps import FULL, START, STEP

FRAMEWORKS = (
    "tensorflow",
    "pytorch",
    "mxnet",
    "keras",
    "jax",
    "paddlepaddle",
    "onnxruntime",
    "cupy",
    "tensorrt",
    "mindspore",
    "chainer",
    "theano",
    "cntk",
    "sonnet",
    "tvm",
    "tensorflow-serving",
    "caffe",
    "caffe2",
    "torch7",
)
OLD = {"cntk": ("ubuntu16.04",)}  # the only one with the Open MPI that it loads


def systems(matrix: Matrix) -> list[str]:
    """The distributions of the sweep: those with a base image and known packages."""
    return [row.os_id for row in matrix.operating_systems if row.base_image and row.package_manager and row.glibc]


def requests(matrix: Matrix) -> Iterator[Request]:
    """Every framework with each CUDA release that a build of it has, and without one, on every distribution."""
    source_built = {row.framework for row in read(SourceStep)}
    for framework in FRAMEWORKS:
        releases = {str(build.cuda) for build in matrix.builds(framework) if build.cuda is not None}
        own = ("ubuntu18.04",) if framework in source_built else OLD.get(framework, ())  # on old systems alone
        for os_id in dict.fromkeys((*systems(matrix), *own)):
            yield request(framework, os_id=os_id)
            for release in sorted(releases):
                yield request(framework, cuda=release, os_id=os_id)
    for toolkit in {row.release: row for row in matrix.toolkits}.values():
        for os_id in systems(matrix):
            yield request(cuda=str(toolkit.version), os_id=os_id)


def shape(rendered: str) -> str:
    """The text without its digits and checksums: hadolint's rules look at words and options, not at numbers."""
    return re.sub(r"[0-9a-f]{32,}|\d+", "0", rendered)


@pytest.mark.thorough
def test_every_framework_renders_cleanly(matrix: Matrix, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    started = time.monotonic()
    supported = {f"{tag.repository}:{tag.tag}" for tag in matrix.image_tags if tag.state == "supported"}
    plain = {
        row.base_image if ":" in row.base_image else f"{row.base_image}:latest"
        for row in matrix.operating_systems
        if row.base_image
    }
    shapes: dict[str, Path] = {}
    covered: set[str] = set()
    count = unplanned = refused = 0
    for asked in islice(requests(matrix), START, None, STEP):
        plan = planned(asked, matrix)
        if not isinstance(plan, Plan):
            unplanned += 1
            continue
        try:
            made = recipe(plan, ImageOptions(), Mirrors(), matrix)
        except EnvkitError:
            refused += 1
            continue
        rendered = render_dockerfile(made)
        names = set(froms(rendered))
        official = asked.frameworks and asked.frameworks[0].name == "tensorflow-serving"
        assert official or names <= supported | plain, f"{asked}: {names - supported - plain}"
        if count % 50 == 0:
            assert rendered == render_dockerfile(recipe(plan, ImageOptions(), Mirrors(), matrix))
        covered.update(part.name for part in asked.frameworks)
        count += 1
        file = shapes.setdefault(shape(rendered), tmp_path / f"{count}.Dockerfile")
        file.write_text(rendered)
    assert hadolint(list(shapes.values())) == []
    assert covered == set(FRAMEWORKS) if FULL else len(covered) > 3
    with capsys.disabled():
        print(
            f"\n{count} Dockerfiles rendered and parsed, {len(shapes)} shapes of them linted,"
            f" in {time.monotonic() - started:.0f} s;"
            f" {unplanned} requests without a plan, {refused} that no image can hold"
        )
