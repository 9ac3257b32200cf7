"""What `--check` does not say of packages that install, are found, or stay as they are; and what it does say."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Status
from envkit.dockerfile.check import check_dockerfile
from envkit.solver.request import Request
from envkit.tables import Matrix
from tests.image.told import failures

_CUDNN_8 = "FROM nvidia/cuda:12.1.1-cudnn8-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y python3-pip\n"
_ORT = "RUN pip install onnxruntime-gpu==1.20.2 'numpy<2'"
_TORCH = "RUN pip install torch=={} --index-url https://download.pytorch.org/whl/{}\n"
_BIONIC = "FROM ubuntu:18.04\nRUN apt-get update && apt-get install -y python3-pip\n"
_NVIDIA = "FROM nvcr.io/nvidia/pytorch:{}-py3\nRUN pip install {}\n"

STOPS = [
    ("image.cudnn-differs", f"{_CUDNN_8}{_ORT}\n"),
    ("image.cudnn-differs", f"{_CUDNN_8}{_TORCH.format('2.3.1', 'cu121')}{_ORT}\n"),  # which brings cuDNN 8
    ("image.cudnn-differs", f"{_CUDNN_8}{_TORCH.format('2.5.1', 'cu118')}{_ORT}\n"),  # a cuDNN for CUDA 11
    ("image.package-refuses", f"{_BIONIC}RUN pip3 install sklearn\n"),
    ("image.package-refuses", f"{_BIONIC}RUN pip3 install -U pip\nRUN pip3 install conda\n"),
    ("image.package-refuses", "FROM python:3.8\nRUN pip install -U pip\nRUN pip install sklearn\n"),
    (
        "image.package-refuses",
        "FROM debian:12\nRUN apt-get update && apt-get install -y pipx\nRUN pip install sklearn\n",
    ),
    ("image.python-without-package", "FROM python:3.12\nRUN pip install tensorrt==8.6.1\n"),
    ("image.requirements-clash", "FROM python:3.8\nRUN pip install tensorflow==2.3.0\n"),
]

GOES_ON = [
    f"{_CUDNN_8}{_ORT} nvidia-cudnn-cu12==9.1.0.70\n",
    f"{_CUDNN_8}{_TORCH.format('2.5.1', 'cu121')}{_ORT}\n",
    f"{_BIONIC}RUN pip3 install -U pip\nRUN pip3 install sklearn\n",  # pip 21.3.1 goes on to sklearn 0.0
    "FROM python:3.6\nRUN pip install -U pip && pip install sklearn\n",
    "FROM debian:11\nRUN apt-get update && apt-get install -y python3-pip\nRUN pip3 install sklearn\n",  # pip 20.3.4
    "FROM python:3.12\nRUN pip install tensorrt\n",
    "FROM python:3.12\nRUN pip install tensorrt==10.3.0\n",
]

REPLACED = [
    ("25.01", "bitsandbytes", []),  # its candidate of torch 2.6.0 is newer than the 2.4 that is asked for
    ("23.11", "torchdata", []),
    ("23.11", "bitsandbytes", ["the newest bitsandbytes requires torch>=2.4, but torch 2.2.0 is in the base image"]),
    (
        "25.01",
        "vllm==0.7.3",
        ["vllm 0.7.3 requires torch==2.5.1, but NVIDIA's own build of torch is in the base image"],
    ),
]


@pytest.mark.parametrize(("id", "text"), STOPS)
def test_tells_what_stops(id: str, text: str, matrix: Matrix) -> None:
    assert id in failures(text, matrix)


@pytest.mark.parametrize("text", GOES_ON)
def test_says_nothing_of_what_goes_on(text: str, matrix: Matrix) -> None:
    assert failures(text, matrix) == set()


@pytest.mark.parametrize(("tag", "package", "titles"), REPLACED)
def test_tells_once_what_replaces_the_torch_of_nvidia(
    tag: str, package: str, titles: list[str], matrix: Matrix
) -> None:
    found = check_dockerfile(_NVIDIA.format(tag, package), Request(container=True), matrix)
    assert [one.title for one in found if one.status is Status.WARN and "requirements" in one.id] == titles


def test_says_nothing_of_the_import_of_what_pip_does_not_find(matrix: Matrix) -> None:
    found = failures("FROM python:3.10\nRUN pip install tensorflow==2.3.0\n", matrix)
    assert found == {"image.python-without-package"}
