"""What pip installs over an official image is judged with what the image has, and only where that is certain."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Status
from envkit.dockerfile.check import check_dockerfile
from envkit.solver.request import Request
from envkit.tables import Matrix

BASE = "FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime\n"
FITS = {
    "the release for it": f"{BASE}RUN pip install torchvision==0.20.1",
    "no release named": f"{BASE}RUN pip install torchvision torchaudio",
    "a range with the release": f"{BASE}RUN pip install 'torchvision>=0.15,<0.21'",
    "a release not on record": f"{BASE}RUN pip install torchvision==99.9",
    "torch asked for too": f"{BASE}RUN pip install torch==2.0.1 torchvision==0.15.2",
    "torch asked for before": f"{BASE}RUN pip install torch==2.0.1\nRUN pip install torchvision==0.15.2",
    "the dependencies left out": f"{BASE}RUN pip install --no-deps torchvision==0.15.2",
    "an environment of its own": f"{BASE}RUN python -m venv /v && /v/bin/pip install torchvision==0.15.2",
    "another folder": f"{BASE}RUN pip install --target=/other torchvision==0.15.2",
    "another Python": f"{BASE}RUN python3.9 -m pip install torchvision==0.15.2",
    "a list that nobody read": f"{BASE}RUN pip install -r a.txt\nRUN pip install torchvision==0.15.2",
    "only in some cases": f'{BASE}ARG A\nRUN if [ -n "$A" ]; then pip install torchvision==0.15.2; fi',
    "its constraints taken away": "FROM nvcr.io/nvidia/pytorch:24.01-py3\nENV PIP_CONSTRAINT=\n"
    "RUN pip install torchvision==0.15.2",
    "an image without a framework": "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\n"
    "RUN apt-get update && apt-get install -y python3-pip && pip install torchvision==0.15.2",
}


@pytest.mark.parametrize("name", FITS)
def test_nothing_is_said_where_the_base_stays_or_that_is_not_certain(name: str, matrix: Matrix) -> None:
    found = check_dockerfile(f"{FITS[name]}\n", Request(container=True), matrix)
    assert "image.requirements-clash" not in {one.id for one in found if one.status is not Status.OK}


@pytest.mark.parametrize("command", ["pip install", "pip3 install -U", "python -m pip install", "sudo -H pip install"])
@pytest.mark.parametrize("package", ["torchvision==0.15.2", "torchaudio==2.0.2", "vllm==0.6.0", "'torchvision<0.16'"])
def test_what_pip_would_replace_is_reported_with_its_line(command: str, package: str, matrix: Matrix) -> None:
    text = f"{BASE}RUN pip install six\nRUN {command} \\\n    {package}\n"
    found = [one for one in check_dockerfile(text, Request(container=True), matrix) if one.status is Status.WARN]
    assert [one.id for one in found] == ["image.requirements-clash"]
    assert found[0].subject.startswith("line 4: ") and "but torch 2.5.1 is in the base image" in found[0].title


@pytest.mark.parametrize(
    "text",
    [f"{BASE}RUN pip install vllm\n", "FROM nvcr.io/nvidia/pytorch:25.11-py3\nRUN pip install vllm==0.15.1\n"],
    ids=["the newest release", "over NVIDIA's own build"],
)
def test_what_holds_another_torch_replaces_the_one_of_the_base(text: str, matrix: Matrix) -> None:
    found = check_dockerfile(text, Request(container=True), matrix)
    assert "image.requirements-clash" in {one.id for one in found if one.status is Status.WARN}


@pytest.mark.parametrize(
    ("packages", "told"),
    [
        ("torch==1.8.2 torchvision==0.9.2", ""),
        ("torch==1.5 torchaudio==0.5.0", ""),
        ("torch==1.13.0 torchvision==99.9", ""),
    ],
)
def test_a_companion_of_another_torch_is_found_where_only_its_builds_are_known(
    packages: str, told: str, matrix: Matrix
) -> None:
    text = f"FROM python:3.8\nRUN pip install {packages}\n"
    found = [one for one in check_dockerfile(text, Request(container=True), matrix) if one.status is Status.WARN]
    assert [one.title for one in found] == ([f"{told}, but torch==1.13.0 is also requested"] if told else [])


NGC = "FROM nvcr.io/nvidia/pytorch:24.01-py3\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"{NGC}RUN pip install torch==2.1.0 torchvision==0.16.0\n", 1),
        (f"{NGC}RUN pip install torch\n", 0),
        (f"{NGC}RUN python -m venv /v && /v/bin/pip install torch==2.1.0\n", 0),
        (f"{BASE}RUN pip install torch==2.1.0\n", 0),
    ],
)
def test_a_pinned_torch_over_nvidias_own_build_leaves_its_extensions_in_doubt(
    text: str, told: int, matrix: Matrix
) -> None:
    found = check_dockerfile(text, Request(container=True), matrix)
    assert [one.status for one in found if "NVIDIA's own build" in one.title] == [Status.UNKNOWN] * told
    assert not [one for one in found if one.id == "image.numpy-unbounded" and text.startswith(NGC)]
