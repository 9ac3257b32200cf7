"""Where a build stops at pip's packages: releases for other Pythons, sources that do not build, what refuses torch."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Finding, Status
from envkit.dockerfile.check import check_dockerfile
from envkit.solver.request import Request
from envkit.tables import Matrix

_RUNTIME = "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y {}python3-pip git\n"
_LEAN = _RUNTIME.format("--no-install-recommends ")
_FULL = _RUNTIME.format("")
_CUDNN_8 = "FROM nvidia/cuda:12.2.2-cudnn8-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y python3-pip\n"

STOPS = [
    ("image.python-without-package", "FROM python:3.8-slim\nRUN pip install transformers==4.50.0\n"),
    ("image.python-without-package", "FROM python:3.9\nRUN pip install 'gradio>=5'\n"),
    ("image.python-without-package", "FROM python:3.12\nRUN pip install open3d==0.18.0\n"),
    ("image.python-without-package", _LEAN + "RUN pip3 install 'pandas>=3'\n"),
    ("image.package-refuses", "FROM python:3.12\nRUN pip install numpy==1.24.4\n"),
    ("image.package-refuses", "FROM python:3.11-slim\nRUN pip install pandas==1.3.5\n"),
    ("image.package-refuses", "FROM python:3.12\nRUN pip install transformers==4.30.0\n"),
    ("image.package-refuses", "FROM python:3.11-slim\nRUN pip install llama-cpp-python\n"),
    ("image.package-refuses", "FROM python:3.10\nRUN pip install pyaudio\n"),
    ("image.package-refuses", "FROM python:3.10\nRUN pip install faster-whisper==0.10.0\n"),
    ("image.package-refuses", "FROM python:3.9-slim\nRUN pip install mpi4py==3.1.4\n"),
    ("image.package-refuses", "FROM python:3.10\nRUN pip install -U pip && pip install gym==0.21.0\n"),
    ("image.package-refuses", "FROM python:3.12\nRUN pip install mmcv==2.1.0\n"),
    ("image.package-refuses", _LEAN + "RUN pip3 install insightface==0.7.3 onnxruntime\n"),
    ("image.compiler-missing", _FULL + 'RUN CMAKE_ARGS="-DGGML_CUDA=on" pip3 install llama-cpp-python\n'),
    ("image.compiler-missing", _FULL + "RUN pip3 install pycuda\n"),
    (
        "image.pip-refuses-metadata",
        "FROM python:3.10\nRUN pip install -U pip && pip install pytorch-lightning==1.6.5\n",
    ),
    (
        "image.torch-hidden",
        "FROM pytorch/pytorch:2.4.0-cuda12.4-cudnn9-devel\nRUN pip install -U pip\nRUN pip install diso\n",
    ),
    ("image.requirements-clash", "FROM pytorch/pytorch:2.1.0-cuda11.8-cudnn8-devel\nRUN pip install transformers\n"),
    ("image.requirements-clash", "FROM python:3.10\nRUN pip install torch==2.1.0\nRUN pip install transformers\n"),
    ("image.cudnn-differs", _CUDNN_8 + "RUN pip3 install faster-whisper\n"),
]

BUILDS = [
    "FROM python:3.9-slim\nRUN pip install transformers==4.50.0\n",
    "FROM python:3.9\nRUN pip install 'gradio>=4'\n",
    "FROM python:3.11\nRUN pip install open3d==0.18.0 numpy==1.24.4 transformers==4.30.0 pandas==1.5.3\n",
    "FROM python:3.8\nRUN pip install transformers==4.50.0 --extra-index-url https://mirror.example/simple\n",
    "FROM python:3.8\nRUN pip install transformers==4.50.0 || true\n",
    "FROM python:3.8\nRUN pip install 'transformers==4.50.0; python_version >= \"3.9\"'\n",
    "FROM python:3.12\nRUN apt-get update && apt-get install -y cargo\nRUN pip install transformers==4.30.0\n",
    "FROM python:3.11\nRUN pip install llama-cpp-python\n",
    "FROM python:3.11-slim\nRUN apt-get update && apt-get install -y build-essential\nRUN pip install fasttext\n",
    "FROM python:3.11-slim\nRUN apt-get update && apt-get install -y some-package\nRUN pip install fasttext\n",
    "FROM python:3.11-slim\nCOPY setup.sh .\nRUN ./setup.sh\nRUN pip install fasttext\n",
    "FROM python:3.10\nRUN apt-get update && apt-get install -y portaudio19-dev\nRUN pip install pyaudio\n",
    "FROM python:3.10\nRUN pip install gym==0.21.0\n",  # its setuptools is that of the image
    "FROM python:3.10\nRUN pip install -U pip && pip install gym==0.26.2\n",
    "FROM python:3.12\nRUN pip install setuptools==65.5.0\nRUN pip install gym==0.21.0\n",
    "FROM python:3.10\nRUN pip install -U pip && pip install pytorch-lightning==1.9.0\n",
    "FROM python:3.10\nRUN pip install pytorch-lightning==1.6.5\n",
    _FULL + "RUN pip3 install insightface==0.7.3 onnxruntime\n",  # pip of apt recommends the compiler
    _FULL + "RUN pip3 install llama-cpp-python\n",
    _FULL.replace("runtime", "devel") + 'RUN CMAKE_ARGS="-DGGML_CUDA=on" pip3 install llama-cpp-python\n',
    "FROM pytorch/pytorch:2.1.0-cuda11.8-cudnn8-devel\nRUN pip install transformers==4.40.0\n",
    "FROM pytorch/pytorch:2.7.0-cuda12.8-cudnn9-devel\nRUN pip install transformers\n",
    "FROM pytorch/pytorch:2.4.0-cuda12.4-cudnn9-devel\nRUN pip install -U pip\nRUN (pip install diso || true)\n",
    _CUDNN_8 + "RUN pip3 install faster-whisper==1.0.3 ctranslate2==4.4.0\n",
    _CUDNN_8 + "RUN pip3 install faster-whisper ctranslate2==4.4.0\n",
    _CUDNN_8 + "RUN pip3 install nvidia-cudnn-cu12 faster-whisper\n",
    _CUDNN_8.replace("12.2.2-cudnn8", "12.4.1-cudnn") + "RUN pip3 install faster-whisper\n",
]


def _failing(text: str, matrix: Matrix) -> list[Finding]:
    return [one for one in check_dockerfile(text, Request(container=True), matrix) if one.status is Status.FAIL]


@pytest.mark.parametrize(("fault", "text"), STOPS)
def test_tells_where_pip_stops(fault: str, text: str, matrix: Matrix) -> None:
    last = text.count("\n")
    assert [(one.id, one.subject.partition(":")[0]) for one in _failing(text, matrix)] == [(fault, f"line {last}")]


@pytest.mark.parametrize("text", BUILDS)
def test_is_silent_where_it_builds(text: str, matrix: Matrix) -> None:
    assert _failing(text, matrix) == []


def test_packages_are_judged_for_the_pip_that_has_to_be_installed_first(matrix: Matrix) -> None:
    bare = "FROM nvidia/cuda:11.8.0-devel-ubuntu20.04\nRUN pip install torch=={}\n"
    assert [one.id for one in _failing(bare.format("2.6.0"), matrix)] == [
        "image.pip-missing",
        "image.python-without-package",
    ]
    assert [one.id for one in _failing(bare.format("2.4.0"), matrix)] == ["image.pip-missing"]
