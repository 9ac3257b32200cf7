"""Where a build stops at a word that its shell or program cannot read, and the near misses that build."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Status
from envkit.dockerfile.check import check_dockerfile
from envkit.solver.request import Request
from envkit.tables import Matrix

_UBUNTU = "FROM nvidia/cuda:12.6.3-runtime-ubuntu22.04\nENV R=12.6\n"
_PIP = _UBUNTU + "RUN apt-get update && apt-get install -y python3-pip\n"
_LIST = "COPY list.txt .\nRUN pip3 install -r list.txt\n"

STOPS = [
    ("image.word-unknown", _UBUNTU + "RUN apt-get update && agt-get install -y git\n"),
    ("image.word-unknown", _UBUNTU + "RUN apt-gte update\n"),
    ("image.word-unknown", _UBUNTU + "RUN sudo apt-ge update\n"),
    ("image.word-unknown", _UBUNTU + "RUN echo cuda-${R/./-}\n"),
    ("image.word-unknown", _UBUNTU + "RUN echo ${R:0:2}\n"),
    ("image.word-unknown", _UBUNTU + 'RUN echo "${R^^}"\n'),
    ("image.word-unknown", _PIP + "RUN pip3 install 'numpy<2.0,>=1.16.0''six>=1.10.0'\n"),
    ("image.word-unknown", _PIP + "RUN pip3 install six==1.16s\n"),
    ("image.word-unknown", "FROM vllm/vllm-openai:latest\nCMD python app.py\n"),
    ("image.word-unknown", 'FROM vllm/vllm-openai:latest\nCMD ["python3", "app.py"]\n'),
    ("image.word-unknown", 'FROM ollama/ollama\nCMD ["/bin/bash", "start.sh"]\n'),
    ("image.tool-option", _UBUNTU + "RUN apt-get update && apt-get install -y -r list.txt\n"),
    ("image.tool-option", "FROM python:3.10\nRUN pip install poetry\nRUN poetry install --no-dev\n"),
    ("image.tool-option", "FROM python:3.12\nRUN pip install poetry && poetry lock --no-update\n"),
    ("image.tool-option", "FROM python:3.12\nRUN pip install uv\nRUN uv pip install six\n"),
    ("image.tool-option", "FROM python:3.12\nRUN pip install uv && uv pip install six && uv venv\n"),
    ("image.compiler-missing", "FROM python:3.12\nRUN nvcc --version\n"),
    ("image.framework-version", "FROM python:3.8\nRUN pip install paddlepaddle==2.5.1\n"),
    ("image.base-unknown", "FROM nvidia/cuda:${RELEASE}-runtime-ubuntu22.04\nARG RELEASE=12.6.3\nRUN true\n"),
    ("image.base-unknown", "FROM ${BASE}\nARG BASE=ubuntu:22.04\nRUN true\n"),
    ("image.commands-joined", _UBUNTU + "RUN R=1 cmake --build build \\\n\nWORKDIR /app\n"),
    ("image.apt-without-package", _UBUNTU + "RUN apt-get update && apt-get install -y libjpeg62-turbo\n"),
    ("image.requirements-clash", "FROM python:3.8\nRUN pip install 'tensorflow>=2.7' keras==2.3.1\n"),
    (
        "image.pip-outdates-itself",
        "FROM nvidia/cuda:7.5-cudnn5-devel-centos7\nRUN yum install -y python-pip\nRUN pip install -U pip\n"
        "RUN pip install six\n",
    ),
]

BUILDS = [
    "FROM python:3.12\nRUN nvcc --version || true\n",
    "FROM python:3.12-bookworm\nRUN apt-get update && apt-get install -y nvidia-cuda-toolkit && nvcc --version\n",
    _UBUNTU + "RUN ln -s /usr/bin/apt-get /usr/bin/agt-get && agt-get update\n",
    _UBUNTU + "RUN agt-get update || true\n",
    _UBUNTU + "RUN apt-get update && apt-key list\n",
    _UBUNTU + "RUN echo ${R%.*} ${R#*.} ${R:-1} ${#R}\n",
    _UBUNTU + "RUN echo 'cuda-${R/./-}' > script\n",
    _UBUNTU + 'SHELL ["/bin/bash", "-c"]\nRUN echo ${R/./-}\n',
    _UBUNTU + "RUN bash -c 'echo ${R/./-}'\n",
    _UBUNTU + "RUN echo \\${R/./-}\n",
    "FROM rockylinux:9\nENV R=12.6\nRUN echo ${R/./-}\n",
    _PIP + "RUN pip3 install 'six>=1.10,!=1.11.*' 'attrs===23.1' idna~=3.4 'toml==0.10.2.post1' 'py==1.0rc1'\n",
    _PIP + "RUN pip3 install six==$SIX\n",
    "FROM vllm/vllm-openai:latest\nENTRYPOINT []\nCMD python app.py\n",
    'FROM vllm/vllm-openai:latest\nCMD ["--model", "Qwen/Qwen2.5-7B"]\n',
    'FROM ollama/ollama\nCMD ["serve"]\n',
    _UBUNTU + "RUN apt-get update && xargs apt-get install -y < list.txt\n",
    "FROM python:3.10\nRUN pip install 'poetry<2'\nRUN poetry install --no-dev\n",
    "FROM python:3.8\nRUN pip install poetry\nRUN poetry install --no-dev\n",
    "FROM python:3.10\nRUN pip install poetry\nRUN poetry install --only main\n",
    "FROM python:3.12\nRUN pip install uv && uv pip install --system six\n",
    "FROM python:3.12\nRUN pip install uv && uv venv && uv pip install six\n",
    "FROM python:3.12\nENV UV_SYSTEM_PYTHON=1\nRUN pip install uv && uv pip install six\n",
    "FROM python:3.12\nRUN pip install uv\nCOPY . .\nRUN uv pip install six\n",
    "FROM python:3.12\nRUN pip install uv && uv pip install six --target /app\n",
    "FROM python:3.8\nRUN pip install paddlepaddle==2.6.2\n",
    "FROM python:3.8\nRUN pip install paddlepaddle==2.5.1 -i https://mirror.example/simple\n",
    "FROM ubuntu:22.04${SUFFIX}\nRUN true\n",
    "FROM --platform=$BUILDPLATFORM ubuntu:22.04\nRUN true\n",
    _UBUNTU + "RUN mkdir a \\\n\nWORKDIR /app\n",
    "FROM python:3.11-bookworm\nRUN apt-get update && apt-get install -y libjpeg62-turbo\n",
    "FROM python:3.8\nRUN pip install 'tensorflow>=2.7,<2.14' 'keras>=2.7'\n",
]


def _failures(text: str, matrix: Matrix, lines: str | None = None) -> list[str]:
    beside = {"list.txt": lines} if lines is not None else {}
    found = check_dockerfile(text, Request(container=True), matrix, beside.get)
    return [one.id for one in found if one.status is Status.FAIL]


@pytest.mark.parametrize(("fault", "text"), STOPS)
def test_says_where_the_build_stops(fault: str, text: str, matrix: Matrix) -> None:
    assert fault in _failures(text, matrix)


@pytest.mark.parametrize("text", BUILDS)
def test_says_nothing_of_what_builds(text: str, matrix: Matrix) -> None:
    assert not set(_failures(text, matrix)) - {"image.base-gone"}


def test_a_list_of_another_machine_stops_pip(matrix: Matrix) -> None:
    frozen = "six @ file:///home/conda/feedstock_root/build_artifacts/six_1/work\nattrs @ file:///croot/attrs_1\n"
    assert _failures(_PIP + _LIST, matrix, frozen) == ["image.list-missing"]
    assert not _failures(_PIP + _LIST, matrix, "six @ file:///wheels/six-1.16.0-py3-none-any.whl\n")


def test_a_driver_that_is_unpacked_is_not_installed(matrix: Matrix) -> None:
    run = _UBUNTU + "RUN ./NVIDIA-Linux-x86_64-550.54.15.run {}\n"
    for option, told in (("-s --no-kernel-module", True), ("--extract-only", False), ("-x", False)):
        found = check_dockerfile(run.format(option), Request(container=True), matrix)
        assert any(one.id == "image.driver-inside" for one in found) == told, option
