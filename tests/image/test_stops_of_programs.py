"""Where a build stops at a program or a service that is not there, and what the container cannot start."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Status
from envkit.dockerfile.check import check_dockerfile
from envkit.solver.request import Request
from envkit.tables import Matrix

_UBUNTU = "FROM nvidia/cuda:12.6.3-runtime-ubuntu22.04\n"
_PIP = f"{_UBUNTU}RUN apt-get update && apt-get install -y python3-pip\n"
_BIONIC = "FROM ubuntu:18.04\nRUN apt-get update && apt-get install -y python3-pip{}\n"
_FOCAL = "FROM ubuntu:20.04\nRUN apt-get update && apt-get install -y curl python3\n"
_LEAN = "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y --no-install-recommends {}\n"
_CUDA = "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y gcc\nCOPY cuda_12.4.1_550.54.15_linux.run .\n"
_POETRY = "RUN curl -sSL https://install.python-poetry.org | {}python3 -{}\n"

STOPS = [
    ("image.program-missing", f"{_PIP}RUN git clone https://github.com/a/b\n"),
    ("image.program-missing", f"{_PIP}RUN pip3 install git+https://github.com/a/b\n"),
    ("image.program-missing", f"{_UBUNTU}RUN wget https://a.example/b && tar xf b\n"),
    ("image.program-missing", "FROM python:3.12-slim\nRUN curl -O https://a.example/b\n"),
    ("image.program-missing", "FROM ubuntu:22.04\nRUN wget https://a.example/setup.sh && sh setup.sh\n"),
    ("image.program-missing", "FROM python:3.12\nRUN cmake .\n"),
    ("image.program-missing", f"{_UBUNTU}RUN apt-get update && apt-get install -y wget && unzip b.zip\n"),
    ("image.program-missing", "FROM ubuntu:22.04\nRUN gcc -o a a.c\n"),
    ("image.program-missing", "FROM debian:12\nRUN apt-get update && apt-get install -y gcc\nRUN make -j4\n"),
    ("image.program-missing", "FROM python:3.12-slim\nCOPY . .\nRUN make\n"),
    ("image.program-missing", f"{_UBUNTU}RUN sudo apt-get update\n"),
    ("image.program-missing", "FROM ubuntu:22.04\nRUN add-apt-repository ppa:deadsnakes/ppa\n"),
    ("image.program-missing", "FROM debian:12\nRUN rsync -a a b\n"),
    ("image.program-missing", f"{_UBUNTU}RUN apt-get update && apt-get install -y python3\nRUN python a.py\n"),
    ("image.program-missing", f'{_UBUNTU}COPY a.py .\nCMD ["python3", "a.py"]\n'),
    ("image.program-missing", f"{_UBUNTU}COPY a.py .\nENTRYPOINT python3 a.py\n"),
    ("image.program-missing", "FROM python:3.12-slim\nCOPY . .\nRUN uv sync\n"),
    ("image.compiler-missing", "FROM ubuntu:22.04\nRUN nvcc --version\n"),
    ("image.apt-lists-missing", "FROM ubuntu:22.04\nRUN apt-get install -y gcc\n"),
    ("image.apt-lists-missing", "FROM debian:12\nRUN apt-get install -y vim\n"),
    ("image.apt-lists-missing", "FROM nvidia/cuda:12.6.3-devel-ubuntu22.04\nRUN apt-get install -y wget\n"),
    ("image.user-not-root", "FROM ubuntu:22.04\nUSER 1000\nRUN apt-get update\n"),
    ("image.user-not-root", f"{_UBUNTU}RUN useradd -m me\nUSER me\nRUN apt-get install -y git\n"),
    ("image.user-not-root", "FROM jupyter/base-notebook\nRUN apt-get update && apt-get install -y git\n"),
    ("image.certificates-missing", f"{_LEAN.format('curl')}RUN curl -O https://a.example/b\n"),
    ("image.certificates-missing", f"{_LEAN.format('git')}RUN git clone https://a.example/b\n"),
    ("image.installer-asks", f"{_CUDA}RUN sh cuda_12.4.1_550.54.15_linux.run\n"),
    ("image.installer-asks", f"{_CUDA}RUN ./cuda_12.4.1_550.54.15_linux.run --toolkit\n"),
    ("image.driver-inside", f"{_CUDA}RUN sh cuda_12.4.1_550.54.15_linux.run --silent\n"),
    ("image.driver-inside", f"{_CUDA}RUN bash ./cuda_12.4.1_550.54.15_linux.run --silent --toolkitpath=/opt/cuda\n"),
    ("image.word-unknown", "FROM continuumio/miniconda3\nRUN conda install -y -c conda-forge\n"),
    ("image.installer-gone", "FROM python:3.12\nRUN gpg --keyserver ha.pool.sks-keyservers.net --recv-keys A\n"),
    (
        "image.archive-gone",
        "FROM debian:buster\nRUN apt-get update\nRUN echo 'deb a' > /etc/apt/sources.list.d/b.list\n",
    ),
    ("image.archive-gone", "FROM ubuntu:15.04\nRUN apt-get update\n"),
    ("image.path-exists", "FROM ubuntu:24.04\nRUN useradd -m -u 1000 me\n"),
    ("image.path-exists", "FROM nvidia/cuda:12.6.3-base-ubuntu24.04\nRUN groupadd --gid=1000 me && useradd -g me me\n"),
    ("image.installer-gone", "FROM python:3.12\nRUN curl -O https://repo.continuum.io/miniconda/Miniconda3-4.sh\n"),
    (
        "image.installer-gone",
        "FROM python:3.12\nRUN curl -sS https://github.com/a/b/releases/download/v1/c.tgz | tar xz\n",
    ),
    ("image.program-missing", "FROM pytorch/pytorch:2.12.0-cuda13.0-cudnn9-devel\nRUN conda install -y six\n"),
    ("image.python-managed", "FROM pytorch/pytorch:2.12.0-cuda13.0-cudnn9-devel\nRUN pip install six\n"),
    ("image.word-unknown", "FROM python:3.12\nCOPY . .\nRUN pip install -e .[a, b]\n"),
    ("image.word-unknown", f'{_PIP}CMD ["sh", "a.sh", "&&", "python3", "a.py"]\n'),
    ("image.service-at-build", f"{_UBUNTU}RUN apt-get update && apt-get install -y docker.io\nRUN docker build .\n"),
    ("image.service-at-build", f"{_UBUNTU}RUN sudo systemctl restart nginx\n"),
    ("image.word-unknown", f"{_PIP}RUN pip3 .\n"),
    ("image.word-unknown", f"{_PIP}RUN pip3 intsall six\n"),
    ("image.word-unknown", "FROM continuumio/miniconda3\nRUN conda install -y cudatoolkit=CUDA_VERSION -c pytorch\n"),
    ("image.word-unknown", f"{_PIP}ENTRYPOINT ['python3', 'app.py']\n"),
    ("image.word-unknown", f'{_PIP}CMD ["python3", "app.py"\n'),
    ("image.word-unknown", f'{_PIP}CMD ["python3 app.py"]\n'),
    ("image.word-unknown", f'{_PIP}CMD ["python3", "app.py --gpu"]\n'),
    ("image.word-unknown", f'{_PIP}CMD ["uvicorn", "app:app", "--port", "$PORT"]\n'),
    ("image.word-unknown", f'{_PIP}CMD ["gunicorn", "--bind", "0.0.0.0:${{PORT}}", "app:app"]\n'),
    ("image.package-refuses", _BIONIC.format("") + "RUN pip3 install opencv-python\n"),
    ("image.package-refuses", _BIONIC.format("") + "RUN pip3 install 'opencv-python-headless>=4.1'\n"),
    ("image.installer-refuses", _FOCAL + _POETRY.format("", "")),
    ("image.installer-gone", f"{_UBUNTU}ADD https://huggingface.co/deepinsight/inswapper/resolve/main/a.onnx .\n"),
    ("image.tool-option", "FROM python:3.12\nRUN pip install pipenv\nRUN pipenv lock -r > requirements.txt\n"),
    ("image.apt-asks", f"{_UBUNTU}RUN apt-get update && apt-get install openssh-server\n"),
    ("image.apt-asks", "FROM python:3.12-slim\nRUN apt-get update && apt-get install ffmpeg\n"),
    ("image.apt-lists-missing", "FROM python:3.12-slim\nRUN apt-get install -y ffmpeg\n"),
    ("image.apt-without-package", "FROM python:3.12-bookworm\nRUN apt-get update && apt-get install -y mysql-client\n"),
    (
        "image.list-missing",
        "FROM python:3.10-slim\nRUN pip install virtualenv\nRUN virtualenv /v\nCOPY a.txt /s/\n"
        "RUN /v/bin/pip install -r /s/a.txt\nRUN /v/bin/pip install -r /s/b.txt\n",
    ),
]

BUILDS = [
    "FROM condaforge/miniforge3\nRUN conda install -y -c conda-forge numpy\n",
    "FROM python:3.12\nRUN gpg --keyserver ha.pool.sks-keyservers.net --recv A || gpg --keyserver b.example --recv A\n",
    "FROM debian:buster\nRUN sed -i s/deb.debian.org/archive.debian.org/ /etc/apt/sources.list && apt-get update\n",
    "FROM ubuntu:24.04\nRUN userdel -r ubuntu && useradd -m -u 1000 me\n",
    "FROM ubuntu:24.04\nRUN useradd -m me && useradd -o -u 1000 you\n",
    "FROM ubuntu:22.04\nRUN useradd -m -u 1000 me\n",
    "FROM python:3.12\nRUN curl -fsSL https://github.com/a/b/releases/download/v1/c.tgz | tar xz\n",
    "FROM python:3.12\nRUN curl -O https://raw.githubusercontent.com/a/b/main/c\n",
    "FROM pytorch/pytorch:2.9.1-cuda12.8-cudnn9-devel\nRUN conda install -y six && pip install six\n",
    "FROM pytorch/pytorch:2.12.0-cuda13.0-cudnn9-devel\nRUN pip install --break-system-packages six\n",
    "FROM python:3.12\nCOPY . .\nRUN pip install -e '.[a, b]' 'uvicorn[standard]'\n",
    f'{_PIP}CMD ["sh", "-c", "python3 a.py && python3 b.py"]\n',
    "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y cmake\nRUN gcc --version && make\n",
    "FROM nvidia/cuda:12.6.3-devel-ubuntu22.04\nRUN gcc --version && make && nvcc --version\n",
    "FROM nvidia/cuda:12.6.3-devel-ubuntu22.04\nRUN apt-get install -y gcc\n",
    "FROM python:3.12\nRUN make && gcc --version\n",
    "FROM python:3.12-slim\nRUN pip install cmake ninja uv\nRUN cmake . && ninja && uv sync\n",
    f'{_PIP}RUN usermod -aG sudo root\nRUN python3 a.py\nCMD ["python3", "a.py"]\n',
    f'{_UBUNTU}RUN apt-get update && apt-get install -y supervisor\nCMD ["python3", "a.py"]\n',
    f'{_UBUNTU}COPY . .\nENV PATH=/opt/venv/bin:$PATH\nCMD ["python3", "a.py"]\n',
    f"{_PIP}RUN ln -s /usr/bin/python3 /usr/bin/python\nRUN python a.py\n",
    "FROM ubuntu:22.04\nUSER 1000\nUSER root\nRUN apt-get update\n",
    "FROM ubuntu:22.04\nARG WHO\nUSER $WHO\nRUN apt-get update\n",
    f"{_PIP}RUN apt-get install -y sudo\nUSER 1000\nRUN sudo apt-get update\n",
    "FROM jupyter/base-notebook\nUSER root\nRUN apt-get update && apt-get install -y git\n",
    f"{_LEAN.format('curl ca-certificates')}RUN curl -O https://a.example/b\n",
    f"{_LEAN.format('curl')}RUN curl -k -O https://a.example/b && curl -O http://a.example/b\n",
    "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y curl\nRUN curl -O https://a.example/b\n",
    "FROM nvidia/cuda:12.6.3-base-ubuntu22.04\nRUN apt-get update && apt-get install -y --no-install-recommends git\n"
    "RUN git clone https://a.example/b\n",
    f"{_CUDA}RUN sh cuda_12.4.1_550.54.15_linux.run --silent --toolkit\n",
    f"{_CUDA}RUN sh cuda_12.4.1_550.54.15_linux.run --silent --samples\n",
    f"{_CUDA}RUN sh cuda_12.4.1_550.54.15_linux.run --silent || true\n",
    f"{_CUDA.replace('12.4.1_550.54.15', '9.0.176_384.81')}RUN sh cuda_9.0.176_384.81_linux.run --silent\n",
    f'{_CUDA}ARG PARTS\nRUN sh cuda_12.4.1_550.54.15_linux.run --silent "$PARTS"\n',
    f"{_CUDA}RUN sh cuda_12.4.1_550.54.15_linux.run --extract=/x && yes | sh cuda_12.4.1_550.54.15_linux.run\n",
    "FROM python:3.12\nRUN apt-get install git\n",
    "FROM python:3.12-slim\nRUN apt-get update && apt-get install -y ffmpeg\n",
    f"{_PIP}RUN apt-get install -y git && git clone https://github.com/a/b\n",
    f"{_PIP}RUN git --version || true\n",
    f"{_PIP}RUN if command -v git; then git --version; fi\n",
    f"{_UBUNTU}COPY --from=alpine/git /usr/bin/git /usr/bin/git\nRUN git --version\n",
    f"{_UBUNTU}COPY wget /usr/bin/wget\nRUN wget https://a.example/b\n",
    f"{_UBUNTU}RUN apt-get update && apt-get install -y ros-humble-desktop && cmake .\n",
    f"{_UBUNTU}RUN apt-get update && apt-get install -y $TOOLS && git clone https://github.com/a/b\n",
    f"{_UBUNTU}COPY install.sh .\nRUN ./install.sh && wget https://a.example/b\n",
    "FROM python:3.12\nRUN git clone https://github.com/a/b && curl -O https://a.example/b && wget https://a.example/b\n",
    "FROM pytorch/pytorch:2.6.0-cuda12.4-cudnn9-devel\nRUN git clone https://github.com/a/b\n",
    f"{_UBUNTU}RUN systemctl enable nginx || true\n",
    f"{_UBUNTU}RUN service nginx start\n",
    f"{_PIP}RUN pip3 download six && pip3 $VERB six\n",
    "FROM continuumio/miniconda3\nRUN conda install -y -c conda-forge python=3.11 blas=*=openblas\n",
    f'{_PIP}CMD ["sh", "-c", "uvicorn app:app --port $PORT"]\n',
    f'{_PIP}ENTRYPOINT ["bash", "-c"]\nCMD ["python3 app.py"]\n',
    f'{_PIP}CMD [ "$A" = b ] && python3 app.py\n',
    f"{_PIP}CMD python3 app.py --port $PORT\n",
    f'{_PIP}CMD ["python3", "-c", "import os; print(os.environ)"]\n',
    _BIONIC.format("") + "RUN pip3 install --upgrade pip\nRUN pip3 install opencv-python\n",
    _BIONIC.format("") + "RUN pip3 install opencv-python==4.2.0.34\n",
    _BIONIC.format(" python3-venv") + "RUN python3 -m venv /v && /v/bin/pip install -U pip opencv-python\n",
    _FOCAL + _POETRY.format("POETRY_VERSION=1.8.5 ", ""),
    _FOCAL + _POETRY.format("", " --version 1.8.5"),
    "FROM python:3.12\n" + _POETRY.format("", ""),
    "FROM python:3.12\nRUN pip install pipenv && pipenv requirements > requirements.txt\n",
    "FROM python:3.10-slim\nRUN pip install virtualenv\nCOPY . /s/\nRUN pip install -r /s/b.txt\n",
]


def _told(text: str, matrix: Matrix) -> set[tuple[str, Status]]:
    nothing: dict[str, str] = {}
    return {(one.id, one.status) for one in check_dockerfile(text, Request(container=True), matrix, nothing.get)}


@pytest.mark.parametrize(("fault", "text"), STOPS)
def test_says_what_stops(fault: str, text: str, matrix: Matrix) -> None:
    assert (fault, Status.FAIL) in _told(text, matrix)


@pytest.mark.parametrize("text", BUILDS)
def test_says_nothing_of_what_goes_on(text: str, matrix: Matrix) -> None:
    failed = {fault for fault, status in _told(text, matrix) if status is Status.FAIL}
    assert not failed & {fault for fault, _ in STOPS}


def test_an_argument_that_no_shell_reads_may_be_taken_as_it_is(matrix: Matrix) -> None:
    text = f'{_PIP}CMD ["python3", "app.py", "--name=$NAME"]\n'
    assert ("image.word-unknown", Status.WARN) in _told(text, matrix)
