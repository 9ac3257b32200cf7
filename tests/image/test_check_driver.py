"""`--check` knows which drivers an image lets start: NVIDIA_REQUIRE_CUDA of its base, or of the Dockerfile itself."""

from __future__ import annotations

import pytest

from envkit.checks.findings import Finding, Status
from envkit.image.check import check_dockerfile
from envkit.matrix import Matrix
from envkit.plan.request import Request, TargetGpu
from envkit.versions import ComputeCapability, Version

RTX_4090 = TargetGpu(ComputeCapability.parse("8.9"), "NVIDIA GeForce RTX 4090")
L4 = TargetGpu(ComputeCapability.parse("8.9"), "NVIDIA L4", data_center=True)
UNNAMED = TargetGpu(ComputeCapability.parse("8.9"))


def verdicts(text: str, driver: str, *gpus: TargetGpu, matrix: Matrix) -> list[Finding]:
    request = Request(gpus=gpus, driver=Version.parse(driver), container=True)
    return [one for one in check_dockerfile(text, request, matrix) if one.status is not Status.OK]


@pytest.mark.parametrize(
    ("tag", "driver", "gpu", "wrong"),
    [
        # NVIDIA's Dockerfile of 12.4.1: cuda>=12.4, or branch 470, 525 or 535 of any of its brands
        ("12.4.1-runtime-ubuntu22.04", "530.30.02", RTX_4090, "image.driver-too-old"),
        ("12.4.1-runtime-ubuntu22.04", "545.23.08", L4, "image.driver-too-old"),
        ("12.4.1-base-ubuntu22.04", "530.30.02", RTX_4090, "image.driver-too-old"),
        ("12.4.1-runtime-ubuntu22.04", "535.54.03", RTX_4090, ""),
        ("12.4.1-runtime-ubuntu22.04", "550.54.14", RTX_4090, ""),
        # that of 12.8.1: cuda>=12.8, or 470, 535, 550, 560 or 565 of tesla, grid, quadro …, and never of geforce
        ("12.8.1-runtime-ubuntu22.04", "550.54.14", RTX_4090, "image.driver-too-old"),
        ("12.8.1-runtime-ubuntu22.04", "550.54.14", L4, ""),
        ("12.8.1-runtime-ubuntu22.04", "550.54.14", UNNAMED, "image.driver-unknown"),
        ("12.8.1-runtime-ubuntu22.04", "570.26", UNNAMED, ""),
        # cuda-compat is in the image, and takes branch 470 with data-centre GPUs, as NVIDIA's CUDA Compatibility says
        ("12.4.1-runtime-ubuntu22.04", "470.57.02", L4, ""),
        ("12.4.1-runtime-ubuntu22.04", "470.57.02", RTX_4090, "image.driver-too-old"),
        # what 12.4.0 asked for is not recorded
        ("12.4.0-runtime-ubuntu22.04", "530.30.02", RTX_4090, "image.driver-unknown"),
        ("12.4.0-runtime-ubuntu22.04", "550.54.14", RTX_4090, ""),
    ],
)
def test_the_base_image_says_which_driver_starts_it(
    tag: str, driver: str, gpu: TargetGpu, wrong: str, matrix: Matrix
) -> None:
    found = verdicts(f"FROM nvidia/cuda:{tag}\n", driver, gpu, matrix=matrix)
    assert [one.id for one in found if one.id.startswith("image.driver")] == [wrong][: len(wrong)]
    assert all(one.status is Status.FAIL for one in found if one.id == "image.driver-too-old")


def test_the_demand_of_the_image_is_told(matrix: Matrix) -> None:
    (finding,) = verdicts("FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\n", "530.30.02", RTX_4090, matrix=matrix)
    assert "unsatisfied condition: cuda>=12.4" in finding.impact
    assert finding.remedy is not None


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("NVIDIA_DISABLE_REQUIRE=1", ""),
        ('NVIDIA_REQUIRE_CUDA="cuda>=12.1"', ""),
        ('NVIDIA_REQUIRE_CUDA=" "', "image.driver-unknown"),  # it hides what the base asks for
        ("NVIDIA_REQUIRE_CUDA=", "image.driver-unknown"),
        ('NVIDIA_REQUIRE_CUDA="cuda>=12.2 driver>=535"', "image.driver-too-old"),
        ('NVIDIA_REQUIRE_CUDA="cuda>=12.2 brand=geforce,driver>=530"', ""),
        ('NVIDIA_REQUIRE_CUDA="cuda>=12.2 brand=tesla,driver>=530"', "image.driver-too-old"),
    ],
)
def test_what_the_dockerfile_sets_goes_before_the_base(line: str, wrong: str, matrix: Matrix) -> None:
    text = f"FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04 AS base\nENV {line}\nFROM base\n"
    found = verdicts(text, "530.30.02", RTX_4090, matrix=matrix)
    assert [one.id for one in found] == [wrong][: len(wrong)]


def test_no_driver_is_no_question(matrix: Matrix) -> None:
    text = "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\n"
    findings = check_dockerfile(text, Request(gpus=(RTX_4090,), container=True), matrix)
    assert all(one.status is Status.OK for one in findings)
