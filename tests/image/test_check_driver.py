"""`--check` knows which drivers an image lets start: NVIDIA_REQUIRE_CUDA of its base, or of the Dockerfile itself."""

from __future__ import annotations

import pytest

from envkit.base.versions import ComputeCapability, Version
from envkit.checks.engine.findings import Finding, Status
from envkit.dockerfile.check import check_dockerfile
from envkit.solver.request import Request, TargetGpu
from envkit.tables import Matrix

RTX_4090 = TargetGpu(ComputeCapability.parse("8.9"), "NVIDIA GeForce RTX 4090")
L4 = TargetGpu(ComputeCapability.parse("8.9"), "NVIDIA L4", data_center=True)
A100 = TargetGpu(ComputeCapability.parse("8.0"), "NVIDIA A100", data_center=True)
RTX_2080_TI = TargetGpu(ComputeCapability.parse("7.5"), "NVIDIA GeForce RTX 2080 Ti")
RTX_3090 = TargetGpu(ComputeCapability.parse("8.6"), "NVIDIA GeForce RTX 3090")
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
        # cuda-compat is in the image, and takes branch 470 with data-center GPUs, as NVIDIA's CUDA Compatibility says
        ("12.4.1-runtime-ubuntu22.04", "470.57.02", A100, ""),
        ("12.4.1-runtime-ubuntu22.04", "470.57.02", RTX_3090, "image.driver-too-old"),
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


def test_the_demand_of_the_image_is_reported(matrix: Matrix) -> None:
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


@pytest.mark.parametrize(
    ("text", "impact"),
    [
        ("FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\n", "The container does not start."),
        ("FROM docker.io/nvidia/cuda:12.4.1-runtime-ubuntu22.04\n", "The container does not start."),
        (
            "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nENV NVIDIA_DISABLE_REQUIRE=true\n",
            "The container starts, but CUDA fails inside it",
        ),
        # a plain image sets no NVIDIA_REQUIRE_CUDA, whatever its packages provide
        (
            "FROM ubuntu:22.04\nRUN apt-get install -y cuda-toolkit-12-4\n",
            "The container starts, but CUDA fails inside it",
        ),
        (
            "FROM nvidia/cuda:11.1.1-base-ubuntu20.04\nRUN apt-get install -y cuda-toolkit-12-4\n",
            "The container starts, but CUDA fails inside it",
        ),
        (
            "FROM ubuntu:22.04\nCOPY --from=nvidia/cuda:12.4.1-runtime-ubuntu22.04 /usr/local /usr/local\n",
            "The container starts, but CUDA fails inside it",
        ),
        ("FROM nvcr.io/nvidia/pytorch:24.04-py3\n", "The container does not start, or CUDA fails inside it."),
    ],
)
def test_what_happens_with_an_old_driver(text: str, impact: str, matrix: Matrix) -> None:
    found = verdicts(text, "450.51.06", RTX_4090, matrix=matrix)
    (finding,) = (one for one in found if one.id == "image.driver-too-old")
    assert finding.impact.startswith(impact)


def test_the_command_names_what_its_sentence_asks_for(matrix: Matrix) -> None:
    text = "FROM nvidia/cuda:11.8.0-base-ubuntu22.04\nRUN apt-get install -y python3-pip; pip install torch 'numpy<3'\n"
    found = verdicts(text, "450.51.06", RTX_2080_TI, matrix=matrix)
    (finding,) = (one for one in found if one.id == "image.driver-too-old" and "torch" in one.subject)
    assert finding.remedy is not None and "older CUDA" in finding.remedy.summary
    (command,) = finding.remedy.commands
    assert "--framework pytorch" in command and "--driver 450.51.06" in command and "--gpu" in command


@pytest.mark.parametrize(
    ("base", "package", "warned"),
    [
        ("nvidia/cuda:11.8.0-base-ubuntu22.04", "torch", True),
        ("nvidia/cuda:11.8.0-base-ubuntu22.04", "torch --index-url https://download.pytorch.org/whl/cu118", False),
        (
            "nvidia/cuda:12.4.1-base-ubuntu22.04",
            "torch==2.7.1 --index-url https://download.pytorch.org/whl/cu128",
            False,
        ),
        ("nvidia/cuda:12.4.1-base-ubuntu22.04", "torch", True),
        ("pytorch/pytorch:2.1.0-cuda12.1-cudnn8-runtime", "'torch>=2.4'", True),
        ("python:3.12", "torch", False),
        ("ubuntu:24.04", "torch", False),
    ],
)
def test_a_newer_cuda_than_the_bases_needs_a_newer_driver(
    base: str, package: str, warned: bool, matrix: Matrix
) -> None:
    """Without a driver it is a warning that names the one needed; the command it gives ends the warning."""
    start = f"FROM {base}\nRUN apt-get install -y python3-pip; pip install 'numpy<2' "
    found = check_dockerfile(f"{start}{package}\n", Request(container=True), matrix)
    told = [one for one in found if one.id == "image.needs-newer-driver"]
    assert len(told) == warned
    for finding in told:
        assert finding.status is Status.WARN and " 580" in finding.title and finding.remedy is not None
        (command,) = finding.remedy.commands
        again = check_dockerfile(start + command.removeprefix("pip install ") + "\n", Request(container=True), matrix)
        assert "image.needs-newer-driver" not in {one.id for one in again}


@pytest.mark.parametrize(
    "text",
    [
        "FROM nvidia/cuda:10.2-cudnn7-runtime-ubuntu18.04\nRUN pip3 install torch==1.12.1\n",
        "FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime\nRUN pip install timm\n",
    ],
)
def test_no_command_is_suggested_that_envkit_refuses(text: str, matrix: Matrix) -> None:
    gpu = TargetGpu(ComputeCapability.parse("12.0"), "NVIDIA GeForce RTX 5090")
    found = verdicts(text, "550.54.14", gpu, matrix=matrix)
    assert "image.driver-without-gpu" in {one.id for one in found}
    commands = [command for one in found if one.remedy is not None for command in one.remedy.commands]
    planned = [command for command in commands if "envkit dockerfile" in command]
    assert planned and all("--framework pytorch" in command and "--driver" not in command for command in planned)


def test_a_driver_that_no_longer_supports_a_gpu_is_reported(matrix: Matrix) -> None:
    gpu = TargetGpu(ComputeCapability.parse("6.1"), "NVIDIA GeForce GTX 1080 Ti", last_driver_branch=580)
    base = "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\n"
    assert "image.driver-without-gpu" in {one.id for one in verdicts(base, "595.45.04", gpu, matrix=matrix)}
    assert "image.driver-without-gpu" not in {one.id for one in verdicts(base, "580.65.06", gpu, matrix=matrix)}
