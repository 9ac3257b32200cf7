"""What the fourth look at public files taught: each rule on its smallest file, and where it keeps silent."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Status
from envkit.dockerfile.check import check_dockerfile
from envkit.solver.request import Request
from envkit.tables import Matrix

SLIM = "FROM python:3.11-slim\n"
CONDA = (
    "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y wget\n"
    "RUN wget https://repo.anaconda.com/miniconda/Miniconda3-latest-Linux-x86_64.sh && "
    "bash Miniconda3-latest-Linux-x86_64.sh -b -p /opt/conda\n"
)
GET = "RUN huggingface-cli download a/b\n"
STOPS = {
    "a release for an older Python": ("image.python-without-package", f"{SLIM}RUN pip install tts==0.13.0\n"),
    "a bound for newer Pythons": ("image.python-without-package", f"{SLIM}RUN pip install 'librosa>=1.0.0'\n"),
    "the program of yesterday": ("image.program-missing", f"{SLIM}RUN pip install -U 'huggingface_hub[cli]'\n{GET}"),
    "the program of yesterday, brought": (
        "image.program-missing",
        f"{SLIM}RUN pip install transformers hf-transfer\n{GET}",
    ),
    "the program of yesterday, in an image": ("image.program-missing", f"FROM vllm/vllm-openai:latest\n{GET}"),
    "a model without a server": ("image.service-at-build", "FROM ollama/ollama\nRUN ollama pull a\n"),
    "an option that is gone": ("image.tool-option", f"{SLIM}RUN pip install gdown\nRUN gdown --id 0a\n"),
    "a model's short name": ("image.tool-option", f"{SLIM}RUN pip install spacy\nRUN python -m spacy download en\n"),
    "an image that was moved": ("image.base-gone", "FROM bitnami/pytorch:2.1.2\n"),
    "an image that never was": ("image.base-gone", "FROM pytorch/pytorch:1.8.1-cuda10.1-cudnn7-devel\n"),
    "no git in PyTorch's image": (
        "image.program-missing",
        "FROM pytorch/pytorch:2.1.0-cuda12.1-cudnn8-runtime\nRUN git clone https://a.example/b\n",
    ),
    "the program of yesterday, after apt": (
        "image.program-missing",
        f"{SLIM}RUN pip install -U huggingface_hub\nRUN apt-get update && apt-get install -y vim\n{GET}",
    ),
    "no git in TensorFlow's image": (
        "image.program-missing",
        "FROM tensorflow/tensorflow:2.9.1-gpu\nRUN pip install git+https://a.example/b.git\n",
    ),
    "the python3 of TensorFlow's image": (
        "image.installer-refuses",
        "FROM tensorflow/tensorflow:2.4.1-gpu\nRUN apt-get update && apt-get install -y python3.7-dev wget\n"
        "RUN wget https://bootstrap.pypa.io/get-pip.py && python3 get-pip.py\n",
    ),
    "no such package": (
        "image.apt-without-package",
        "FROM debian:13\nRUN apt-get update && apt-get install -y openjdk-17-jdk\n",
    ),
    "conda outside of PATH": ("image.program-missing", f"{CONDA}RUN conda install -y -c conda-forge numpy\n"),
}
SILENT = {
    "a release for the Python": ("image.python-without-package", f"{SLIM}RUN pip install tts==0.22.0\n"),
    "a bound that this Python meets": ("image.python-without-package", f"{SLIM}RUN pip install 'librosa>=0.9.0'\n"),
    "another index": (
        "image.python-without-package",
        f"{SLIM}RUN pip install --extra-index-url https://a.example/simple tts==0.13.0\n",
    ),
    "an older hub": ("image.program-missing", f"{SLIM}RUN pip install 'huggingface_hub[cli]<1'\n{GET}"),
    "what holds it": ("image.program-missing", f"{SLIM}RUN pip install huggingface_hub whisperx\n{GET}"),
    "an older Transformers": ("image.program-missing", f"{SLIM}RUN pip install transformers==4.40.0\n{GET}"),
    "Transformers lower it again": (
        "image.program-missing",
        f"{SLIM}RUN pip install -U huggingface_hub\nRUN pip install transformers==4.40.0\n{GET}",
    ),
    "a list may hold it": (
        "image.program-missing",
        f"{SLIM}COPY a.txt .\nRUN pip install -U huggingface_hub\nRUN pip install -r a.txt\n{GET}",
    ),
    "nobody knows who holds it": (
        "image.program-missing",
        f"{SLIM}RUN pip install some-thing\nRUN pip install huggingface_hub\n{GET}",
    ),
    "the hub of an image": ("image.program-missing", f"FROM vllm/vllm-openai:v0.6.0\n{GET}"),
    "a server in the same RUN": (
        "image.service-at-build",
        "FROM ollama/ollama\nRUN ollama serve & sleep 5 && ollama pull a\n",
    ),
    "a server elsewhere": (
        "image.service-at-build",
        "FROM ollama/ollama\nENV OLLAMA_HOST=a.example:11434\nRUN ollama pull a\n",
    ),
    "an image of today": ("image.base-gone", "FROM bitnami/pytorch\n"),
    "git in an old image": (
        "image.program-missing",
        "FROM pytorch/pytorch:1.1.0-cuda10.0-cudnn7.5-runtime\nRUN git clone https://a.example/b\n",
    ),
    "git that apt installs": (
        "image.program-missing",
        "FROM pytorch/pytorch:2.1.0-cuda12.1-cudnn8-runtime\nRUN apt-get update && apt-get install -y git\n"
        "RUN git clone https://a.example/b\n",
    ),
    "conda on PATH": (
        "image.program-missing",
        f"{CONDA}ENV PATH=/opt/conda/bin:$PATH\nRUN conda install -y -c conda-forge numpy\n",
    ),
    "conda that is read first": (
        "image.program-missing",
        f"{CONDA}RUN . /opt/conda/etc/profile.d/conda.sh && conda install -y numpy\n",
    ),
    "a login shell": (
        "image.program-missing",
        f'{CONDA}SHELL ["/bin/bash", "--login", "-c"]\nRUN conda install -y numpy\n',
    ),
    "conda by a link": (
        "image.program-missing",
        f"{CONDA}RUN ln -s /opt/conda/bin/conda /usr/local/bin/conda\nRUN conda install -y numpy\n",
    ),
}


def failures(text: str, matrix: Matrix) -> set[str]:
    found = check_dockerfile(text, Request(container=True), matrix)
    return {one.id for one in found if one.status is Status.FAIL}


@pytest.mark.parametrize(("id_", "text"), STOPS.values(), ids=STOPS)
def test_says_what_stops(id_: str, text: str, matrix: Matrix) -> None:
    assert id_ in failures(text, matrix)


@pytest.mark.parametrize(("id_", "text"), SILENT.values(), ids=SILENT)
def test_keeps_silent(id_: str, text: str, matrix: Matrix) -> None:
    assert id_ not in failures(text, matrix)
