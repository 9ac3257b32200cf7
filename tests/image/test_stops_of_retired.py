"""Where a build or a start stops at names, releases and repositories that are gone; and what goes on."""

from __future__ import annotations

import pytest

from envkit.tables import Matrix
from tests.image.told import failures

_JAMMY = "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y python3-pip git make\n"
_XENIAL = "FROM ubuntu:16.04\nRUN apt-get update && apt-get install -y {}\n"
_TWELVE = "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y python3.12 python3-pip\n"
_LINKED = f"{_TWELVE}RUN ln -sf python3.12 /usr/bin/python3\n"
_TORCH = "FROM pytorch/pytorch:2.4.0-cuda12.4-cudnn9-runtime\nRUN pip install transformers {}\n"
_PINNED = "FROM python:3.10\nRUN pip install torch==2.1.1 transformers\nRUN pip install {}\n"
_TENSORFLOW = "FROM tensorflow/tensorflow:2.1.0-gpu\n"
_WEB = (
    "FROM python:3.10\nRUN git clone https://github.com/AUTOMATIC1111/stable-diffusion-webui.git /web\nWORKDIR /web\n"
)
_LAUNCH = 'CMD ["python", "launch.py", "--listen"]\n'
_CLONED = "RUN git clone -b v1.3.9 https://github.com/open-mmlab/mmcv.git /m\nWORKDIR /m\n"
_NEW_PIP = f"{_JAMMY}RUN pip install -U pip\n"
_XFORMERS = "https://github.com/facebookresearch/xformers.git"
_CONDA = 'FROM condaforge/miniforge3:24.9.2-0\nSHELL ["/bin/bash", "-lc"]\nRUN conda create -y -n e python={}\n'
_VENV = _XENIAL.format("python3-venv python3-pip") + "RUN python3 -m venv /e\n"
_RUNNER = "FROM ghcr.io/actions/actions-runner:latest\nRUN sudo apt-get update && sudo apt-get install -y {}\n"

STOPS = [
    ("image.package-refuses", f"{_JAMMY}RUN pip3 install conda\n"),
    ("image.package-refuses", f"{_JAMMY}RUN pip3 install 'pinecone-client>=3.1'\n"),
    ("image.package-refuses", f"{_JAMMY}RUN pip3 install pinecone-client==6.0.0\n"),
    ("image.framework-version", f"{_JAMMY}RUN pip3 install cloudvolume\n"),
    ("image.framework-version", f"{_JAMMY}RUN pip3 install pymeshlab==0.1.8\n"),
    ("image.pip-missing", f"{_LINKED}RUN pip install six\n"),
    ("image.requirements-clash", _TORCH.format("'torchvision>=0.17'")),
    ("image.requirements-clash", "FROM python:3.10\nRUN pip install torch==2.1.1 transformers xformers\n"),
    ("image.requirements-clash", "FROM python:3.8\nRUN pip install wandb==0.12.10\n"),
    ("image.requirements-clash", "FROM python:3.8\nRUN pip install lama-cleaner\n"),
    ("image.requirements-clash", "FROM python:3.8\nRUN pip install mmcv-full==1.6.0 mmsegmentation==0.20.0\n"),
    ("image.requirements-clash", "FROM python:3.8\nRUN pip install mmcv-full==1.7.2 mmdet==2.24.1\n"),
    ("image.requirements-clash", "FROM python:3.10\nRUN pip install xformers==0.0.22 vllm==0.2.7\n"),
    ("image.requirements-clash", f"{_TENSORFLOW}RUN pip install keras\n"),
    ("image.installer-gone", f"{_WEB}{_LAUNCH}"),
    ("image.installer-gone", f"{_WEB}RUN ./webui.sh -f --exit\n"),
    ("image.package-refuses", f"{_NEW_PIP}{_CLONED}RUN pip install .\n"),
    ("image.torch-hidden", f"{_NEW_PIP}RUN pip install torch\nRUN pip install git+{_XFORMERS}\n"),
    ("image.python-without-package", f"{_JAMMY}RUN pip install git+https://github.com/keras-team/keras\n"),
    ("image.pip-refuses-metadata", _CONDA.format("3.8") + "RUN conda activate e && pip install fairseq\n"),
    ("image.package-refuses", f"{_XENIAL.format('python-pip')}RUN pip install virtualenv && virtualenv /e\n"),
    ("image.package-refuses", f"{_XENIAL.format('python3-pip')}RUN pip3 install pip numpy\n"),
    ("image.pip-outdates-itself", f"{_VENV}RUN /e/bin/pip install -U pip\nRUN /e/bin/pip install six\n"),
    ("image.apt-lists-missing", "FROM python:3.11-bookworm\nRUN apt-get install -y ffmpeg\n"),
    ("image.apt-without-package", _RUNNER.format("libgl1-mesa-glx")),
]

GOES_ON = [
    f"{_JAMMY}RUN pip3 install -i https://mirror.example/simple conda\n",  # which may have it
    f"{_JAMMY}RUN pip3 install 'pinecone-client<6' cloud-volume pymeshlab==2023.12\n",
    f"{_TWELVE}RUN python3.12 -m venv /e && /e/bin/pip install six\n",
    f"{_TWELVE}RUN pip install six\n",  # by the Python of the distribution
    _TORCH.format("-U torchvision"),  # brings the newest torch
    _PINNED.format("xformers"),  # a later command raises torch
    "FROM python:3.8\nRUN pip install wandb==0.12.10 'protobuf<4'\n",
    "FROM python:3.8\nRUN pip install wandb==0.12.17\n",
    "FROM python:3.8\nRUN pip install lama-cleaner huggingface_hub==0.25.2\n",
    "FROM python:3.8\nRUN pip install mmcv-full==1.5.0 mmsegmentation==0.20.0 mmdet==2.24.1\n",
    f"{_TENSORFLOW}RUN pip install keras==2.3.1\n",
    f"{_WEB}ENV STABLE_DIFFUSION_REPO=https://github.com/w-e-w/stablediffusion.git\n{_LAUNCH}",
    f"{_WEB.replace('AUTOMATIC1111', 'vladmandic')}{_LAUNCH}",  # another program
    f"{_WEB}WORKDIR /app\nCOPY . .\n{_LAUNCH}",  # the launch.py of another project
    f"{_NEW_PIP}{_CLONED}RUN pip install --no-build-isolation .\n",
    f"{_NEW_PIP}RUN pip install torch\nRUN git clone {_XFORMERS} && cd xformers && pip install dist/*.whl\n",
    _CONDA.format("3.7") + "RUN conda activate e && pip install fairseq\n",
    _CONDA.format("3.8")
    + "RUN conda activate e && pip install 'pip<24.1'\nRUN conda activate e && pip install fairseq\n",
    _CONDA.format("3.8") + "RUN conda activate other && pip install fairseq\n",
    f"{_XENIAL.format('python-pip')}RUN pip install virtualenv==20.4.7\n",
    f"{_VENV}RUN /e/bin/pip install -U 'pip<21'\nRUN /e/bin/pip install six\n",
    "FROM python:3.11-bookworm\nRUN apt-get install -y libpq-dev imagemagick\n",  # it has them
    _RUNNER.format("libgl1"),
]


@pytest.mark.parametrize(("fault", "text"), STOPS)
def test_says_where_it_stops(fault: str, text: str, matrix: Matrix) -> None:
    assert fault in failures(text, matrix)


@pytest.mark.parametrize("text", GOES_ON)
def test_is_silent_where_it_goes_on(text: str, matrix: Matrix) -> None:
    assert not failures(text, matrix) - {"image.base-gone", "image.apt-without-package"}
