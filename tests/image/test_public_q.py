"""What set q taught: each rule on its smallest file, and where it keeps silent."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Status
from envkit.dockerfile.check import check_dockerfile
from envkit.solver.request import Request
from envkit.tables import Matrix
from tests.image.told import told

JAMMY = "FROM ubuntu:22.04\n"
BIONIC = "FROM ubuntu:18.04\nRUN apt-get update && apt-get install -y nodejs npm curl\n"
GIT = f"{JAMMY}RUN apt-get update && apt-get install -y git python3-pip\n"
PIECES = "https://github.com/google/sentencepiece"
SLIM = "FROM python:3.12-slim\n"
ALPINE = "FROM alpine:latest\nRUN apk add python3\n"
RUNPOD = "FROM runpod/pytorch:2.4.0-py3.11-cuda12.4.1-devel-ubuntu22.04\n"
NVIDIA = "FROM nvcr.io/nvidia/pytorch:22.09-py3\n"
FAIRSEQ = "FROM python:3.8\nRUN python -m pip install --upgrade pip\nRUN python -m pip install fairseq@git+https://"
TOLD = {
    "pip before its package": (
        "image.pip-missing",
        Status.FAIL,
        f"{JAMMY}RUN pip3 install six\nRUN apt-get update && apt-get install -y python3-pip\n",
    ),
    "pip on Alpine": ("image.pip-missing", Status.FAIL, f"{ALPINE}RUN pip3 install six\n"),
    "a base in quotes": (
        "image.archive-gone",
        Status.FAIL,
        'ARG base="debian:buster"\nFROM "${base}"\nRUN apt-get update\n',
    ),
    "a script that is gone": (
        "image.installer-gone",
        Status.FAIL,
        f"{GIT}RUN git clone -b master {PIECES} && cd sentencepiece && ./autogen.sh\n",
    ),
    "the same by a shell, in a folder": (
        "image.installer-gone",
        Status.FAIL,
        f"{GIT}RUN git clone {PIECES}.git /opt/pieces && cd /opt/pieces && bash autogen.sh\n",
    ),
    "nothing to clone": ("image.argument-missing", Status.FAIL, f"{GIT}ARG URL\nRUN git clone $URL\n"),
    "nothing to clone in a strict shell": (
        "image.argument-missing",
        Status.FAIL,
        f"{GIT}ARG URL\nRUN bash -ex <<EOT\ngit clone $URL\nls\nEOT\n",
    ),
    "an old address, with two slashes": (
        "image.pip-refuses-metadata",
        Status.FAIL,
        f"{FAIRSEQ}github.com//pytorch/fairseq.git@f2146bdc\n",
    ),
    "OpenCV that another brings": ("image.library-missing", Status.FAIL, f"{SLIM}RUN pip install ultralytics\n"),
    "over the one without windows": (
        "image.library-missing",
        Status.FAIL,
        f"{SLIM}RUN pip install opencv-python-headless\nRUN pip install ultralytics\n",
    ),
    "a torch for the CPU": (
        "image.python-without-package",
        Status.FAIL,
        "FROM python:3.10\nRUN pip install torch==1.10.0+cpu -f https://download.pytorch.org/whl/torch_stable.html\n",
    ),
    "pydantic upgraded": (
        "image.requirements-clash",
        Status.FAIL,
        f"{NVIDIA}RUN pip install pydantic --upgrade\nRUN pip install deepspeed==0.9.2\n",
    ),
    "Node of n on an old glibc": (
        "image.glibc-too-old",
        Status.FAIL,
        f"{BIONIC}RUN npm install n -g && n stable\nRUN npm install -g yarn\n",
    ),
    "Node of NodeSource on an old glibc": (
        "image.glibc-too-old",
        Status.FAIL,
        f"{BIONIC}RUN curl -sL https://deb.nodesource.com/setup_20.x | bash - && apt-get install -y nodejs\n",
    ),
    "an archived base": ("image.base-end-of-life", Status.WARN, "FROM debian:stretch-slim\nRUN true\n"),
    "an old Python's Debian": ("image.base-end-of-life", Status.WARN, "FROM python:3.6-slim\nRUN true\n"),
    "a release for another torch": (
        "image.requirements-clash",
        Status.WARN,
        f"{RUNPOD}RUN pip install xformers==0.0.28.post1 git+https://github.com/example/project\n",
    ),
    "a torch that magic-pdf brings": (
        "image.needs-newer-driver",
        Status.WARN,
        f"{GIT.replace('ubuntu:22.04', 'nvidia/cuda:12.1.1-base-ubuntu22.04')}RUN pip3 install magic-pdf\n",
    ),
}
SILENT = {
    "pip before, of a script": (
        "image.pip-missing",
        f"{JAMMY}COPY setup.sh .\nRUN ./setup.sh\nRUN pip3 install six\nRUN apt-get install -y python3-pip\n",
    ),
    "pip by an argument": (
        "image.pip-missing",
        f"{JAMMY}ARG P=python3\nRUN apt-get update && apt-get install -y ${{P}}-pip\nRUN pip3 install six\n",
    ),
    "pip of Alpine": ("image.pip-missing", f"{ALPINE}RUN apk add py3-pip && pip3 install six\n"),
    "pip of an old Alpine": ("image.pip-missing", "FROM alpine:3.10\nRUN apk add python3 && pip3 install six\n"),
    "a tag": (
        "image.installer-gone",
        f"{GIT}RUN git clone -b v0.1.6 {PIECES} && cd sentencepiece && ./autogen.sh\n",
    ),
    "another state": (
        "image.installer-gone",
        f"{GIT}RUN git clone {PIECES} && cd sentencepiece && git checkout v0.1.6 && ./autogen.sh\n",
    ),
    "another project": (
        "image.installer-gone",
        f"{GIT}RUN git clone https://github.com/example/sentences && cd sentences && ./autogen.sh\n",
    ),
    "something to clone": ("image.argument-missing", f"{GIT}ARG URL=https://example.org/a\nRUN git clone $URL\n"),
    "a shell that goes on": (
        "image.argument-missing",
        f"{GIT}ARG URL\nRUN bash -x <<EOT\ngit clone $URL\nls\nEOT\n",
    ),
    "a repaired fork": ("image.pip-refuses-metadata", f"{FAIRSEQ}github.com/example/fairseq.git\n"),
    "the one without windows later": (
        "image.library-missing",
        f"{SLIM}RUN pip install ultralytics\nRUN pip install --force-reinstall opencv-python-headless\n",
    ),
    "an OpenCV of before": ("image.library-missing", f"{SLIM}RUN pip install ultralytics opencv-python==4.2.0.34\n"),
    "a torch for the CPU of that Python": (
        "image.python-without-package",
        "FROM python:3.10\nRUN pip install torch==2.0.0+cpu -f https://download.pytorch.org/whl/torch_stable.html\n",
    ),
    "pydantic of the image": ("image.requirements-clash", f"{NVIDIA}RUN pip install deepspeed==0.9.2\n"),
    "an older Node of n": ("image.glibc-too-old", f"{BIONIC}RUN n 16.20.2 && npm install -g yarn\n"),
    "Node that nothing uses": ("image.glibc-too-old", f"{BIONIC}RUN npm install n -g && n stable\n"),
    "Node on a newer glibc": ("image.glibc-too-old", f"{JAMMY}RUN n stable && npm install -g yarn\n"),
    "an older Node of NodeSource": (
        "image.glibc-too-old",
        f"{BIONIC}RUN curl -sL https://deb.nodesource.com/setup_16.x | bash - && apt-get install -y nodejs\n",
    ),
    "an archive that a command told": ("image.base-end-of-life", "FROM debian:stretch\nRUN apt-get update\n"),
    "beside a list": (
        "image.requirements-clash",
        f"{RUNPOD}COPY list.txt .\nRUN pip install xformers==0.0.28.post1 -r list.txt\n",
    ),
    "tokenizers hold Transformers": (
        "image.requirements-clash",
        "FROM pytorch/pytorch:2.0.0-cuda11.7-cudnn8-runtime\nRUN pip install transformers tokenizers==0.12.1\n",
    ),
    "a wheel that Alpine compiled": (
        "image.glibc-missing",
        "FROM alpine:latest\nRUN pip3 install /tmp/tensorflow-1.8.0-cp36-cp36m-linux_x86_64.whl\n",
    ),
    "an option behind a RUN": (
        "image.tool-option",
        "FROM python:3.12\nRUN pip install six \\\n\nRUN apt-get install -y git\n",
    ),
}


@pytest.mark.parametrize(("id", "status", "text"), TOLD.values(), ids=TOLD)
def test_tells(id: str, status: Status, text: str, matrix: Matrix) -> None:
    assert (id, status) in told(text, matrix)


@pytest.mark.parametrize(("id", "text"), SILENT.values(), ids=SILENT)
def test_keeps_silent(id: str, text: str, matrix: Matrix) -> None:
    assert not {(id, Status.FAIL), (id, Status.WARN)} & told(text, matrix)


def test_reads_the_tags_of_a_gpu_cloud(matrix: Matrix) -> None:
    text = "FROM runpod/pytorch:1.0.2-cu1281-torch280-ubuntu2404\nRUN pip install pydantic\n"
    titles = [one.title for one in check_dockerfile(text, Request(container=True), matrix)]
    assert any("pytorch 2.8.0, for CUDA 12.8.1" in title for title in titles), titles
