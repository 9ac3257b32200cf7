"""`--fix` on names: what it changes takes the error away."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Status
from envkit.dockerfile.change import change_for
from envkit.dockerfile.check import check_dockerfile
from envkit.solver.request import Request
from envkit.tables import Matrix

SLIM = "FROM python:3.11-slim\n"
JAMMY = "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\n"
PIP = f"{JAMMY}RUN apt-get update && apt-get install -y python3-pip\n"
CONDA = (
    "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y wget\n"
    "RUN wget https://repo.anaconda.com/miniconda/Miniconda3-latest-Linux-x86_64.sh && "
    "bash Miniconda3-latest-Linux-x86_64.sh -b -p /opt/conda\n"
)
FIXED = {
    "a package's new name": (
        "FROM ubuntu:24.04\nRUN apt-get update && apt-get install -y libgl1-mesa-glx\n",
        "apt-get install -y libgl1\n",
    ),
    "a retired name": (f"{PIP}RUN pip3 install sklearn\n", "RUN pip3 install scikit-learn\n"),
    "a tag of PyTorch": (
        "FROM pytorch/pytorch:1.13.1-cuda11.7-cudnn8-devel\n",
        "FROM pytorch/pytorch:1.13.1-cuda11.6-cudnn8-devel\n",
    ),
    "pip on Alpine": (
        "FROM alpine:3.18\nRUN apk add --no-cache python3\nRUN pip3 install six\n",
        "RUN apk add --no-cache py3-pip\nRUN pip3 install six\n",
    ),
    "a moved image": ("FROM bitnami/pytorch:2.1.2\n", "FROM bitnamilegacy/pytorch:2.1.2\n"),
    "no git": (f"{SLIM}RUN git clone https://a.example/b\n", "apt-get install -y --no-install-recommends git"),
    "no python": (f'{PIP}COPY a.py .\nCMD ["python3", "a.py"]\n'.replace('"python3"', '"python"'), "ln -s python3"),
    "conda outside of PATH": (
        f"{CONDA}RUN conda install -y -c conda-forge --override-channels numpy\n",
        "ENV PATH=/opt/conda/bin:$PATH\n",
    ),
    "no answer": (f"{JAMMY}RUN apt-get update && apt-get install git\n", "apt-get install -y git\n"),
    "a misspelled program": (f"{JAMMY}RUN apt-get update && agt-get install -y git\n", "apt-get install -y git\n"),
    "no &&": (f"{JAMMY}RUN apt-get update apt-get install -y git\n", "apt-get update && apt-get install -y git\n"),
    "an index that never had it": (
        f"{PIP}RUN pip3 install torch==2.6.0 --index-url https://download.pytorch.org/whl/cu121\n",
        "https://download.pytorch.org/whl/cu124\n",
    ),
    "a suffix without its index": (
        f"{PIP}RUN pip3 install torch==2.5.1+cu124\n",
        "install --extra-index-url https://download.pytorch.org/whl/cu124 torch==2.5.1+cu124\n",
    ),
    "a program's new name": (
        f"{SLIM}RUN pip install -U huggingface_hub\nRUN huggingface-cli download a/b\n",
        "RUN hf download a/b\n",
    ),
    "an option that is gone": (
        f"{SLIM}RUN pip install gdown\nRUN gdown --id 0a -O x\n",
        "RUN gdown 0a -O x\n",
    ),
}


@pytest.mark.parametrize(("text", "part"), FIXED.values(), ids=FIXED)
def test_a_repair_takes_the_error_away(text: str, part: str, matrix: Matrix) -> None:
    found = check_dockerfile(text, Request(container=True), matrix)
    assert any(one.status is Status.FAIL for one in found)
    change = change_for(text, found, lambda changed: check_dockerfile(changed, Request(container=True), matrix), matrix)
    assert change is not None
    assert part in change.text
    assert not change.left
