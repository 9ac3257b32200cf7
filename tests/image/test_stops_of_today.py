"""Where a build or a start stops at words of bash, an old pip, links, and projects of today; and what goes on."""

from __future__ import annotations

import pytest

from envkit.tables import Matrix
from tests.image.told import failures

_JAMMY = "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y python3-pip git make\n"
_LLAMA = "FROM nvidia/cuda:12.6.3-devel-ubuntu22.04\nRUN apt-get update && apt-get install -y git cmake\n"
_CLONE = "RUN git clone {} && cd llama.cpp && {}cmake -B build -DLLAMA_CUBLAS={}\n"
_URL = "https://github.com/ggml-org/llama.cpp"
_MMDETECTION = "https://github.com/open-mmlab/mmdetection"
_MM = "FROM pytorch/pytorch:2.6.0-cuda12.6-cudnn9-devel\nRUN {}\n" + f"RUN git clone {_MMDETECTION}\n"
_TORCH = "RUN pip install torch --index-url https://download.pytorch.org/whl/cu{}\nRUN pip install transformers\n"
_SCRIPT = "FROM python:3.12\nRUN curl -sSL https://install.python-poetry.org | python3 -\n"

STOPS = [
    ("image.tool-option", f"{_JAMMY}RUN pip install six\nRUN pip uninstall six\n"),
    ("image.tool-option", "FROM pytorch/pytorch:2.6.0-cuda12.6-cudnn9-runtime\nRUN pip uninstall torch\n"),
    ("image.tool-option", f"{_JAMMY}RUN pip3 install --break-system-packages six\n"),
    ("image.tool-option", f"{_JAMMY}RUN python3 -m pip install --root-user-action=ignore six\n"),
    ("image.tool-option", f"{_JAMMY.replace('22', '20')}RUN pip3 cache purge\n"),
    ("image.tool-option", "FROM python:3.12\nRUN pip install poetry\nRUN poetry export -o list.txt\n"),
    ("image.tool-option", f"{_SCRIPT}RUN poetry export -o list.txt\n"),
    ("image.tool-option", _LLAMA + _CLONE.format(_URL, "", "ON")),
    ("image.word-unknown", f"{_JAMMY}RUN source /opt/set.env && make\n"),
    ("image.word-unknown", f"{_JAMMY}RUN set -euxo pipefail; make\n"),
    ("image.word-unknown", f"{_JAMMY}RUN [[ -f list ]] && make\n"),
    ("image.word-unknown", f"{_JAMMY}RUN diff <(ls /a) <(ls /b)\n"),
    ("image.word-unknown", f"{_JAMMY}RUN grep x <<< $HOME\n"),
    ("image.word-unknown", f"{_JAMMY}RUN names=(a b) && make\n"),
    ("image.word-unknown", f"{_JAMMY}RUN echo ${{NAMES[@]}}\n"),
    ("image.word-unknown", "FROM pytorch/pytorch:2.6.0-cuda12.6-cudnn9-runtime\nRUN conda activate base && true\n"),
    ("image.word-unknown", f"{_JAMMY}RUN bash -c 'source activate mine && make'\n"),
    ("image.word-unknown", f'{_JAMMY}CMD ["bash start.sh --now"]\n'),
    ("image.path-exists", f"{_JAMMY}RUN ln -s /usr/bin/pip3 /usr/bin/pip\n"),
    ("image.path-exists", f"{_JAMMY}RUN ln -sv /usr/bin/python3.11 /usr/bin/python3\n"),
    ("image.path-exists", "FROM python:3.12\nRUN ln -s /usr/bin/python3 /usr/local/bin/python\n"),
    ("image.installer-gone", f"{_JAMMY}ADD https://go.dev/dl/go1.24.linux-amd64.tar.gz /tmp/\n"),
    ("image.gpu-hidden", "FROM nvidia/cuda:12.6.3-runtime-ubuntu22.04\nENV CUDA_VISIBLE_DEVICES=all\n"),
    ("image.base-unknown", "ARG GPU=false\nFROM ${GPU:-ubuntu:22.04}\nRUN true\n"),
    ("image.apt-without-package", "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y git=2.34\n"),
    ("image.library-missing", "FROM python:3.12-slim\nRUN pip install opencv-python\n"),
    ("image.library-missing", f"{_JAMMY}RUN pip3 install opencv-contrib-python==4.10.0.84\n"),
    ("image.library-missing", "FROM tensorflow/tensorflow:latest-gpu\nRUN pip install opencv-python\n"),
    ("image.requirements-clash", "FROM python:3.10\nRUN pip install flask==1.1.2\n"),
    ("image.requirements-clash", "FROM python:3.10\nRUN pip install jinja2==2.11.3\n"),
    ("image.requirements-clash", "FROM python:3.10\nRUN pip install diffusers==0.21.4 transformers\n"),
    ("image.requirements-clash", "FROM python:3.10\nRUN pip install streamlit==1.12.0\n"),
    ("image.requirements-clash", "FROM python:3.10\nRUN pip install datasets==2.12.0\n"),
    ("image.requirements-clash", f"{_MM.format('true')}RUN pip install -v -e mmdetection\n"),
    ("image.requirements-clash", "FROM python:3.10\n" + _TORCH.format("121")),
    ("image.program-missing", f"{_JAMMY}WORKDIR /app\nCOPY . .\nRUN prepare.sh\n"),
    ("image.program-missing", f'{_JAMMY}WORKDIR /app\nCOPY . .\nENTRYPOINT ["main.py"]\n'),
    ("image.list-missing", "FROM nvcr.io/nvidia/l4t-pytorch:r32.5.0-pth1.7-py3\nRUN pip3 install -r list.txt\n"),
    ("image.list-missing", f"{_JAMMY}RUN unzip a.zip -d b\nRUN cd b\nRUN make\n"),
    ("image.apt-asks", "FROM tensorflow/tensorflow:2.4.1-gpu\nRUN apt-get update\nRUN apt install git\n"),
    ("image.apt-key-rotated", "FROM rapidsai/rapidsai:0.9-cuda10.0-runtime-ubuntu18.04\nRUN apt update\n"),
]

GOES_ON = [
    f"{_JAMMY}RUN pip install six\nRUN pip uninstall -y six\n",
    f"{_JAMMY}RUN pip uninstall six\n",  # it is not there
    f"{_JAMMY}RUN pip install six\nRUN yes | pip uninstall six\n",
    f"{_JAMMY}RUN pip3 install -U pip\nRUN pip3 install --break-system-packages six\n",
    f"{_JAMMY.replace('22', '24')}RUN pip3 install --break-system-packages six\n",
    f"{_JAMMY}RUN python3 -m venv /v && /v/bin/pip install --root-user-action=ignore six\n",
    "FROM python:3.12\nRUN pip install poetry poetry-plugin-export\nRUN poetry export -o list.txt\n",
    "FROM python:3.12\nRUN pip install 'poetry<2'\nRUN poetry export -o list.txt\n",
    _LLAMA + _CLONE.format(f"-b b1500 {_URL}", "", "ON"),
    _LLAMA + _CLONE.format(_URL, "git checkout b1500 && ", "ON"),
    _LLAMA + _CLONE.format(_URL, "", "OFF"),
    f'{_JAMMY}SHELL ["/bin/bash", "-c"]\nRUN source /opt/set.env && make\n',
    f"{_JAMMY}RUN bash -c 'source /opt/set.env && make'\n",
    f"{_JAMMY}RUN ln -sf /bin/bash /bin/sh\nRUN source /opt/set.env && make\n",
    f"{_JAMMY}RUN . /opt/set.env && echo 'a=(b c) <<< x' >> ~/.bashrc\n",
    f"{_JAMMY}RUN if [[ -f list ]]; then make; fi\n",
    "FROM rockylinux:9\nRUN source /opt/set.env && true\n",
    "FROM continuumio/miniconda3\nRUN . /opt/conda/etc/profile.d/conda.sh && conda activate base\n",
    'FROM continuumio/miniconda3\nSHELL ["/bin/bash", "--login", "-c"]\nRUN conda activate base && true\n',
    f"{_JAMMY}RUN conda create -y -n mine && bash -c 'source activate mine && make'\n",
    f'{_JAMMY}CMD ["/opt/my program/start"]\n',
    f"{_JAMMY}RUN ln -sf /usr/bin/pip3 /usr/bin/pip\n",
    f"{_JAMMY}RUN rm /usr/bin/pip && ln -s /usr/bin/pip3 /usr/bin/pip\n",
    f"{_JAMMY.replace('22', '18')}RUN ln -s /usr/bin/pip3 /usr/bin/pip\n",
    f"{_JAMMY}RUN ln -s /usr/bin/python3 /usr/bin/python\n",
    f"{_JAMMY}ADD https://go.dev/dl/go1.24.0.linux-amd64.tar.gz /tmp/\n",
    "FROM nvidia/cuda:12.6.3-runtime-ubuntu22.04\nENV CUDA_VISIBLE_DEVICES=0,1\n",
    "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y git=1:2.34.1-1ubuntu1 'curl=7.81*'\n",
    "FROM python:3.12-slim\nRUN apt-get update && apt-get install -y libgl1\nRUN pip install opencv-python\n",
    "FROM python:3.12-slim\nRUN pip install opencv-python opencv-python-headless\n",
    "FROM python:3.12-slim\nRUN pip install opencv-python-headless\n",
    "FROM python:3.6\nRUN pip install opencv-python==4.1.2.30\n",
    "FROM python:3.10\nRUN pip install flask==1.1.2 'jinja2<3.1'\n",
    "FROM python:3.10\nRUN pip install flask==2.2.5\n",
    "FROM python:3.10\nRUN pip install diffusers==0.21.4 'huggingface-hub<0.26'\n",
    "FROM python:3.10\nRUN pip install diffusers==0.21.4 transformers==4.34.1\n",
    "FROM python:3.7\nRUN pip install diffusers==0.21.4\n",
    f"{_MM.format('pip install mmengine')}RUN pip install -v -e mmdetection\n",
    f"{_MM.format('true')}RUN cd mmdetection && git checkout v2.28.2 && pip install -v -e .\n",
    "FROM python:3.10\n" + _TORCH.format("126"),
    f"{_JAMMY}WORKDIR /app\nCOPY . .\nRUN ./prepare.sh\n",
    f"{_JAMMY}COPY prepare.sh /usr/local/bin/\nRUN prepare.sh\n",
    f'{_JAMMY}COPY main.py /usr/local/bin/\nENTRYPOINT ["main.py"]\n',
    'FROM jupyter/base-notebook\nCMD ["start-notebook.sh"]\n',
    "FROM nvcr.io/nvidia/l4t-pytorch:r32.5.0-pth1.7-py3\nCOPY . .\nRUN pip3 install -r list.txt\n",
    f"{_JAMMY}RUN tar xf a.tar\nRUN cd b\nRUN make\n",
    "FROM rapidsai/rapidsai:22.04-cuda11.5-runtime-ubuntu20.04-py3.9\nRUN apt update\n",
]


@pytest.mark.parametrize(("fault", "text"), STOPS)
def test_says_where_it_stops(fault: str, text: str, matrix: Matrix) -> None:
    assert fault in failures(text, matrix)


@pytest.mark.parametrize("text", GOES_ON)
def test_says_nothing_of_what_goes_on(text: str, matrix: Matrix) -> None:
    assert not failures(text, matrix) & {fault for fault, _ in STOPS} - {"image.conda-terms", "image.apt-key-rotated"}
