"""The user's own base image: what its name says governs the plan, and what is known of it is reported."""

from __future__ import annotations

import pytest

from envkit.base.errors import RequestError
from envkit.image.own_base import base_notes, on_own_base, own_base
from envkit.solver.model import Plan
from envkit.tables import Matrix
from tests.image.making import commands, froms, planned, request, run

PYTORCH = ("--framework", "pytorch", "--target", "any")


@pytest.mark.parametrize(
    ("image", "os_id"),
    [
        ("nvidia/cuda:12.4.1-base-ubuntu22.04", "ubuntu22.04"),
        ("docker.io/nvidia/cuda:12.4.1-base-ubuntu22.04@sha256:0a", "ubuntu22.04"),
        ("nvcr.io/nvidia/cuda:12.4.1-base-ubi8", "ubi8"),
        ("rockylinux:9", "rockylinux9"),
        ("rockylinux:9.3-minimal", "rockylinux9"),
        ("docker.io/library/debian:bookworm-slim", "debian12"),
        ("ubuntu:jammy", "ubuntu22.04"),
        ("python:3.10-bullseye", "debian11"),
        ("amazonlinux:2023", "amzn2023"),
        ("amazonlinux:2", "amzn2"),
        ("public.ecr.aws/amazonlinux/amazonlinux:2023", "amzn2023"),
        ("registry.access.redhat.com/ubi9/ubi:9.4", "ubi9"),
        ("redhat/ubi9", "ubi9"),
        ("opensuse/leap:15.5", "opensuse15"),
        ("registry.example:5000/team/cuda-ubuntu-20.04:7", "ubuntu20.04"),
        ("mcr.microsoft.com/azurelinux/base/core:3.0", "azl3"),
        ("mine/core:3.0", None),
        ("mine/base:1", None),
        ("nvidia/cuda:9.0-base", None),
    ],
)
def test_the_name_says_the_system(matrix: Matrix, image: str, os_id: str | None) -> None:
    system = own_base(image, matrix).system
    assert (system.os_id if system else None) == os_id


def test_the_plan_is_for_the_system_of_the_base() -> None:
    rendered = run(*PYTORCH, "--base", "nvidia/cuda:12.4.1-base-ubuntu22.04").stdout
    label = commands(rendered, "LABEL")[0]
    assert "ubuntu22.04" in label and "ubuntu24.04" not in label
    assert "python3 -m venv" not in rendered or "Python 3.10" in label
    rocky = run(*PYTORCH, "--base", "rockylinux:9").stdout
    assert froms(rocky)[-1] == "rockylinux:9"
    assert "dnf install" in rocky and "apt-get" not in rocky


def test_cuda_alone_follows_the_base(matrix: Matrix) -> None:
    asked = on_own_base(request(), "nvidia/cuda:12.4.1-cudnn-runtime-ubuntu22.04", matrix)
    assert (asked.os_id, str(asked.cuda)) == ("ubuntu22.04", "12.4")
    rendered = run("--base", "nvidia/cuda:12.4.1-cudnn-runtime-ubuntu22.04", "--target", "any").stdout
    assert froms(rendered) == ["nvidia/cuda:12.4.1-cudnn-runtime-ubuntu22.04"]


def test_a_base_of_another_cuda_gets_that_of_the_plan() -> None:
    result = run("--framework", "mxnet", "--target", "any", "--base", "nvidia/cuda:12.4.1-runtime-ubuntu22.04")
    assert "COPY --from=cuda" in result.stdout and "COPY --from=cudnn" in result.stdout
    assert "has CUDA 12.4.1, but the plan needs 11.8.0" in result.stderr
    fitting = run("--framework", "mxnet", "--target", "any", "--base", "nvidia/cuda:11.8.0-cudnn8-runtime-ubuntu22.04")
    assert "COPY --from=cuda" not in fitting.stdout and "has CUDA" not in fitting.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--base", "rockylinux:9", "--os", "ubuntu22.04"), "is rockylinux9, but --os says ubuntu22.04"),
        (("--base", "python:3.12-alpine3.20"), "Alpine Linux cannot be the base.*musl"),
        (("--base", "gcr.io/distroless/cc"), "neither a shell"),
        (("--base", "ubuntu"), "which release of ubuntu.*ubuntu22.04"),
        (("--base", "fedora:39"), "--os: fedora29"),
    ],
)
def test_what_cannot_be_served_is_refused(arguments: tuple[str, ...], told: str) -> None:
    with pytest.raises(RequestError, match=told):
        run(*PYTORCH, *arguments)


def test_cuda_that_contradicts_the_base_is_refused() -> None:
    with pytest.raises(RequestError, match="has CUDA 12.4.1, but --cuda says 11.8"):
        run("--cuda", "11.8", "--target", "any", "--base", "nvidia/cuda:12.4.1-runtime-ubuntu22.04")


def test_os_says_what_the_name_does_not() -> None:
    rendered = run(*PYTORCH, "--base", "fedora:39", "--os", "fedora40").stdout
    assert froms(rendered)[-1] == "fedora:39" and "dnf install" in rendered


@pytest.mark.parametrize(
    ("image", "told"),
    [
        ("nvidia/cuda:9.0-base", "was deleted from its registry"),
        ("nvidia/cuda:12.4.9-base-ubuntu22.04", "is not a tag known to envkit"),
        ("mine/base:1", "is unknown: the file is written for ubuntu"),
    ],
)
def test_what_is_known_of_the_base_is_reported(image: str, told: str) -> None:
    assert told in run(*PYTORCH, "--base", image).stderr


def test_a_supported_base_is_not_talked_about(matrix: Matrix) -> None:
    asked = on_own_base(request("pytorch"), "nvidia/cuda:12.4.1-base-ubuntu22.04", matrix)
    found = planned(asked, matrix)
    base = own_base("nvidia/cuda:12.4.1-base-ubuntu22.04", matrix)
    assert isinstance(found, Plan)
    assert list(base_notes(base, found.choice)) == []
