"""What public files taught: which system `latest` means, when a build is certain, what a made environment holds."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Status
from envkit.dockerfile.check import check_dockerfile
from envkit.solver.request import Request
from envkit.tables import Matrix

UV = "COPY --from=ghcr.io/astral-sh/uv:latest /uv /bin/\n"
TWO_STAGES = (
    "FROM ubuntu:22.04 AS a\nRUN apt-get update && apt-get install -y python3.11-venv && python3.11 -m venv /opt/app\n"
    "RUN /opt/app/bin/pip install torch==1.5.0\nFROM ubuntu:22.04\n"
)


def told(text: str, matrix: Matrix) -> dict[str, Status]:
    return {one.id: one.status for one in check_dockerfile(text, Request(container=True), matrix)}


@pytest.mark.parametrize("base", ["ubuntu", "ubuntu:latest", "docker.io/library/ubuntu:latest", "debian:latest"])
def test_latest_is_the_newest_release(base: str, matrix: Matrix) -> None:
    text = f"FROM {base}\nRUN apt-get update && apt-get install -y python3-pip\nRUN pip3 install numpy\n"
    assert told(text, matrix).get("image.python-managed") is Status.FAIL


@pytest.mark.parametrize("base", ["ubuntu@sha256:" + 64 * "0", "ubuntu:rolling", "example/ubuntu:latest", "python"])
def test_another_tag_or_image_is_not(base: str, matrix: Matrix) -> None:
    text = f"FROM {base}\nRUN apt-get update && apt-get install -y python3-pip\nRUN pip3 install numpy\n"
    assert "image.python-managed" not in told(text, matrix)


@pytest.mark.parametrize(("spec", "certain"), [("", False), (">=2", False), ("==2.21.0", True)])
def test_the_release_for_an_unknown_python_is_not_known(spec: str, certain: bool, matrix: Matrix) -> None:
    text = f"FROM centos:7\nRUN yum install -y python36\nRUN pip3 install 'tensorflow{spec}'\n"
    assert (told(text, matrix).get("image.glibc-too-old") is Status.FAIL) is certain


@pytest.mark.parametrize(
    ("copied", "judged"),
    [("/opt/app /opt/app", True), ("/opt/app/ /usr/share/app/", True), ("/opt/other /opt/other", False)],
)
def test_an_environment_is_known_by_how_it_was_made(copied: str, judged: bool, matrix: Matrix) -> None:
    found = told(f"{TWO_STAGES}COPY --from=a {copied}\n", matrix)
    assert (found.get("image.python-without-package") is Status.FAIL) is judged


@pytest.mark.parametrize(
    ("run", "status"),
    [
        ("uv pip install --system torch --torch-backend=auto", Status.WARN),
        ("uv pip install --system vllm --torch-backend auto", Status.FAIL),  # which runs on nothing else
        ("uv pip install --system numpy --torch-backend=auto", None),
        ("uv pip install --system torch --torch-backend=cu128", None),
        ("uv pip install --system torch", None),
    ],
)
def test_a_build_has_no_driver_that_tells_the_backend(run: str, status: Status | None, matrix: Matrix) -> None:
    found = told(f"FROM python:3.12\n{UV}RUN {run}\n", matrix)
    told_status = found.get("image.cpu-build")
    assert (told_status if told_status in (Status.WARN, Status.FAIL) else None) is status
