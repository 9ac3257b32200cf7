"""What a check or a plan recommends can be pulled: no table lists it as deleted or as never made."""

from __future__ import annotations

import re

import pytest

from envkit.checks.engine.findings import Status
from envkit.dockerfile.check import check_dockerfile
from envkit.render.check_report import report_text
from envkit.solver.request import Request
from envkit.tables import Matrix

TAG = re.compile(r"[\w./-]+/[\w-]+:[\w.-]*\w")


def listed(matrix: Matrix) -> dict[str, str]:
    """The state of each image in the tables."""
    own = {f"{row.repository}:{row.tag}": row.state for row in matrix.framework_images}
    return own | {f"{row.repository}:{row.tag}": row.state for row in matrix.image_tags}


@pytest.mark.thorough
@pytest.mark.parametrize("line", ["nvcc --version", "pip install flash-attn torch==2.1.0"])
def test_no_fix_names_an_image_that_is_gone(line: str, matrix: Matrix) -> None:
    states, named = listed(matrix), set()
    deleted = {image for image, state in states.items() if state in ("deleted", "never")}
    bases = states.keys() | {f"nvidia/cuda:{row.release}-runtime-ubuntu20.04" for row in matrix.toolkits}
    for base in sorted(bases):
        for found in check_dockerfile(f"FROM {base}\nRUN {line}\n", Request(container=True), matrix):
            fix = found.remedy.advice if found.remedy else ""
            named |= set(TAG.findall(fix))
            assert not deleted & set(TAG.findall(fix)), (base, fix)
    assert len(named) > 20


@pytest.mark.parametrize(
    ("base", "image"),
    [
        ("nvidia/cuda:11.0-base", "nvidia/cuda:11.0.3-devel-ubuntu20.04"),
        ("nvidia/cuda:12.4.1-runtime-ubuntu22.04", "nvidia/cuda:12.4.1-devel-ubuntu22.04"),
        ("nvidia/cuda:12.4.1-cudnn-runtime-ubuntu22.04", "nvidia/cuda:12.4.1-cudnn-devel-ubuntu22.04"),
    ],
)
def test_an_image_with_the_compiler_is_one_that_exists(base: str, image: str, matrix: Matrix) -> None:
    findings = check_dockerfile(f"FROM {base}\nRUN nvcc --version\n", Request(container=True), matrix)
    fixes = [found.remedy.advice for found in findings if found.id == "image.compiler-missing" and found.remedy]
    assert len(fixes) == 1 and image in fixes[0]


def test_stages_that_the_builder_skips_are_named_and_not_praised(matrix: Matrix) -> None:
    text = "FROM nvidia/cuda:11.0-base AS old\nRUN apt-get install -y nvidia-driver-470\nFROM ubuntu:24.04\nRUN ls\n"
    findings = check_dockerfile(text, Request(container=True), matrix)
    assert [(found.id, found.status) for found in findings if found.status is not Status.OK] == [
        ("image.stage-unused", Status.SKIP)
    ]
    told = " ".join(report_text(findings, "Dockerfile").split())
    assert "Not checked, because the last stage does not use it: line 1: old" in told
    assert told.endswith("No errors found in the stages that the last stage uses.")
