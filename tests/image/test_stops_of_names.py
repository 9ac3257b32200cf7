"""Where a build or a start stops at blank users, doubled pins, modules of Python, upgrades, keys, and old images."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Status
from envkit.dockerfile.check import check_dockerfile
from envkit.solver.request import Request
from envkit.tables import Matrix

_JAMMY = "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y python3-pip git make\n"
_FOCAL = "FROM nvidia/cuda:12.1.1-cudnn8-devel-ubuntu20.04\nRUN apt-get update && apt-get install -y python3-pip\n"
_OLD = "FROM pytorch/pytorch:1.10.0-cuda11.3-cudnn8-runtime\n"
_TORCH = "FROM pytorch/pytorch:2.3.1-cuda12.1-cudnn8-runtime\n"
_MM = "FROM pytorch/pytorch:1.12.1-cuda11.3-cudnn8-runtime\nRUN conda clean --all\nRUN pip install mmcv-full==1.7.0\n"
_SPLATS = (
    "FROM nvidia/cuda:11.8.0-devel-ubuntu22.04\nRUN apt-get update && apt-get install -y python3-pip git\n"
    "RUN pip3 install torch=={} --index-url https://download.pytorch.org/whl/cu118\nCOPY . .\n"
)
_FOLDERS = (
    "FROM ubuntu:22.04 AS made\nRUN apt-get update && apt-get install -y python3-pip\nRUN pip3 install six\n"
    "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y python3 make\n"
    "COPY --from=made /usr/lib/python3/dist-packages /usr/lib/python3/dist-packages\nCOPY start.sh /start.sh\n"
)
_CONFIGURES = 'RUN tar -xf x.tar && ./configure && make install\nCMD ["python", "app.py"]\n'

STOPS = [
    ("image.argument-missing", f"{_JAMMY}ARG NAME\nRUN useradd -ms /bin/bash $NAME\n"),
    ("image.argument-missing", f"{_JAMMY}ARG NUMBER\nRUN groupadd -g ${{NUMBER}} staff2\n"),
    ("image.argument-missing", f"{_JAMMY}ARG NUMBER\nRUN useradd --uid=$NUMBER worker\n"),
    ("image.argument-missing", f"{_JAMMY}RUN addgroup --gid $GROUP_ID worker\n"),
    ("image.argument-missing", f"{_JAMMY}ARG UID\nRUN useradd -u $UID worker\n"),
    ("image.word-unknown", f"{_JAMMY}RUN pip3 install six=1.16\n"),
    ("image.word-unknown", "FROM ubuntu:22.04\nRUN bash <(wget -qO- https://example.org/a.sh)\n"),
    ("image.word-unknown", 'FROM ghcr.io/coqui-ai/tts:latest\nCMD ["python3", "-m", "TTS.server.server"]\n'),
    ("image.requirements-clash", f"{_JAMMY}RUN pip3 install six==1.16 requests six==1.15\n"),
    ("image.index-without-package", f"{_JAMMY}RUN pip3 install numpy itertools\n"),
    ("image.apt-asks", "FROM python:3.11.5\nRUN apt-get update\nRUN apt-get upgrade\n"),
    ("image.apt-asks", f"{_TORCH}RUN apt-get update && apt-get dist-upgrade\n"),
    ("image.apt-key-rotated", "FROM dustynv/ros:humble-ros-base-l4t-r35.3.1\nRUN apt-get update\n"),
    ("image.apt-key-rotated", "FROM tensorflow/tensorflow:nightly-gpu-py3\nRUN apt-get update\n"),
    (
        "image.apt-without-package",
        "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y opencv-python-headless\n",
    ),
    ("image.apt-lists-missing", f"{_FOCAL}RUN rm -rf /var/lib/apt/lists/* && apt-get install -y libgl1\n"),
    ("image.commands-joined", f"{_JAMMY}RUN apt-get install -y vim add-apt-repository ppa:a/b\n"),
    ("image.python-without-package", f"{_OLD}RUN pip install pandas==2.0.3\n"),
    ("image.pip-missing", f"{_FOLDERS}RUN pip install six\n"),
    ("image.pip-missing", "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y python3\nRUN pip --version\n"),
    ("image.program-missing", f"{_FOCAL}{_CONFIGURES}"),
    ("image.cpu-build", "FROM tensorflow/tensorflow:1.14.0-gpu-py3\nRUN pip install tensorflow==1.14.0\n"),
    ("image.requirements-clash", f"{_MM}RUN pip install mmdet\n"),
    ("image.requirements-clash", f"{_TORCH}RUN pip install 'torch>=2.0' transformers\n"),
    ("image.library-missing", f"{_TORCH}COPY . .\nRUN pip install -e . && pip install 'opencv-python>=4.8'\n"),
    ("image.gpu-at-build", f"{_SPLATS.format('2.0.0')}RUN pip3 install ./submodules/simple-knn\n"),
    ("image.torch-hidden", "FROM python:3.14\nRUN pip install -U pip torch\nRUN pip install ./submodules/simple-knn\n"),
]

GOES_ON = [
    f"{_JAMMY}ARG NAME=worker\nRUN useradd -ms /bin/bash $NAME\n",
    f"{_JAMMY}ARG NAME\nRUN useradd -ms /bin/bash $NAME || true\n",
    f"{_JAMMY}ARG NAME\nRUN useradd -ms /bin/bash ${{NAME:-worker}}\n",
    f'{_JAMMY}ARG NOTE\nRUN useradd -m -c "$NOTE" worker\n',
    f"{_JAMMY}ENV NAME worker\nRUN useradd $NAME\n",
    f"{_JAMMY}RUN for one in a b; do useradd $one; done\n",
    f"{_JAMMY}RUN . ./settings && useradd $NAME\n",
    f'{_JAMMY}SHELL ["/bin/bash", "-c"]\nARG UID\nRUN useradd -o -u $UID worker\n',
    "FROM quay.io/jupyter/base-notebook\nRUN useradd $NB_USER\n",
    f"{_JAMMY}RUN pip3 install six==1.16 && pip3 install -C level=1 requests\n",
    "FROM continuumio/miniconda3:4.12.0\nRUN conda install -y pip six=1.16\n",
    "FROM ubuntu:22.04\nRUN bash -c 'cat <(echo a)'\n",
    'FROM ghcr.io/coqui-ai/tts:latest\nENTRYPOINT ["python3"]\nCMD ["server.py"]\n',
    f"{_JAMMY}RUN pip3 install six==1.16 requests six==1.16.0\n",
    f"{_JAMMY}RUN pip3 install six==1.15 && pip3 install six==1.16\n",
    f"{_JAMMY}RUN pip3 install uuid\n",
    "FROM python:3.11.5\nRUN apt-get update\nRUN apt-get upgrade -y\n",
    "FROM python:3.11.5\nRUN apt-get upgrade\n",
    "FROM python:3.11.5\nRUN apt-get update\nRUN yes | apt-get upgrade\n",
    "FROM dustynv/ros:humble-desktop-l4t-r36.4.0\nRUN apt-get update\n",
    f"{_FOCAL}RUN rm -rf /var/lib/apt/lists/* && apt-get install -y libcublas-12-1\n",
    f"{_JAMMY}RUN apt-get install -y vim && apt-get update\n",
    f"{_OLD}RUN pip install pandas==1.3.5\n",
    f"{_FOLDERS}RUN curl -sS https://bootstrap.pypa.io/get-pip.py | python3 && pip install six\n",
    f'{_FOCAL}RUN tar -xf Python-3.11.9.tgz && cd Python-3.11.9 && ./configure && make install\nCMD ["python"]\n',
    "FROM tensorflow/tensorflow:2.4.0-gpu\nRUN pip install tensorflow==2.4.0\n",
    f"{_MM}RUN pip install 'mmdet<3'\n",
    f"{_TORCH}RUN pip install 'torch>=2.6' transformers\n",
    f"{_TORCH}COPY . .\nRUN pip install -e . && pip install 'opencv-python-headless>=4.8'\n",
    f"{_SPLATS.format('2.0.0')}ENV TORCH_CUDA_ARCH_LIST=8.6\nRUN pip3 install ./submodules/simple-knn\n",
    "FROM python:3.14\nENV CUDA_HOME=/cuda\nRUN pip install torch\n"
    "RUN pip install --no-build-isolation ./submodules/simple-knn\n",
]


def _failures(text: str, matrix: Matrix) -> list[str]:
    findings = check_dockerfile(text, Request(container=True), matrix)
    return [one.id for one in findings if one.status is Status.FAIL]


@pytest.mark.parametrize(("fault", "text"), STOPS)
def test_stops(fault: str, text: str, matrix: Matrix) -> None:
    assert fault in _failures(text, matrix)


@pytest.mark.parametrize("text", GOES_ON)
def test_goes_on(text: str, matrix: Matrix) -> None:
    assert _failures(text, matrix) == []
