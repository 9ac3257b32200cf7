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
    "nobody knows who holds it": (
        "image.program-missing",
        f"{SLIM}RUN pip install some-thing\nRUN pip install huggingface_hub\n{GET}",
    ),
    "the hub of an image": ("image.program-missing", f"FROM vllm/vllm-openai:v0.6.0\n{GET}"),
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
