"""Faults of the shell, of keys and of the distribution's pip: each rule on its smallest file, and near misses."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Status
from envkit.dockerfile.check import check_dockerfile
from envkit.solver.request import Request
from envkit.tables import Matrix

JAMMY = "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y git cmake python3-pip curl gnupg\n"
BIONIC = "FROM ubuntu:18.04\nRUN apt-get update && apt-get install -y curl python3-pip\n"
NOBLE = "FROM ubuntu:24.04\nRUN apt-get update && apt-get install -y python3-pip\n"
SNAKES = (
    "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y software-properties-common python3-pip curl\n"
    "RUN add-apt-repository ppa:deadsnakes/ppa && apt-get update && apt-get install -y python3.12 python3.12-venv\n"
)
CLONED = f"{JAMMY}RUN git clone https://github.com/o/bar && cd bar\n"
REPOSITORY = "https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2204/x86_64/"
KEYED = (
    f"{JAMMY}RUN apt-key adv --fetch-keys {REPOSITORY}{{}}"
    f" && echo 'deb {REPOSITORY} /' > /etc/apt/sources.list.d/cuda.list\n"
    "RUN apt-get update\n"
)
NOTEBOOK = "FROM python:3.10\nRUN pip install {} ipywidgets\nRUN jupyter nbextension enable --py widgetsnbextension\n"
SECOND = (
    "FROM ubuntu:22.04 AS first\nRUN apt-get update && apt-get install -y python3-pip && pip install six\n"
    "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y python3\n"
    "COPY --from=first {0} {0}\nRUN pip install jupyterlab\n"
)
STOPS = {
    "no semicolon before fi": ("image.commands-joined", f"{JAMMY}RUN if [ -f x ]; then pip install six fi\n", 3),
    "no semicolon before then": ("image.commands-joined", f"{JAMMY}RUN if [ -f x ] then echo y; fi\n", 3),
    "no semicolon before done": (
        "image.commands-joined",
        f"{JAMMY}RUN for i in a b; do echo x && pip install $i done\n",
        3,
    ),
    "RUN as a command": ("image.commands-joined", f"{JAMMY}RUN apt-get update && RUN apt-get install -y vim\n", 3),
    "ENV as a command": ("image.commands-joined", f"{JAMMY}RUN true && \\\n\nENV X=1\n", 5),
    "nothing after &&": ("image.commands-joined", f"{JAMMY}RUN true &&\n", 3),
    "nothing before &&": ("image.commands-joined", f"{JAMMY}RUN && true\n", 3),
    "&& twice": ("image.commands-joined", f"{JAMMY}RUN true && && true\n", 3),
    "a semicolon before &&": ("image.commands-joined", f"{JAMMY}RUN true ; && true\n", 3),
    "the old key": ("image.apt-key-rotated", KEYED.format("7fa2af80.pub"), 4),
    "pip of Ubuntu 24.04": (
        "image.python-managed",
        f"{NOBLE}RUN pip install --break-system-packages --upgrade pip\n",
        3,
    ),
    "wheel of Ubuntu 24.04": (
        "image.python-managed",
        f"{NOBLE}ENV PIP_BREAK_SYSTEM_PACKAGES=1\nRUN python3 -m pip install -U setuptools wheel\n",
        4,
    ),
    "get-pip.py over it": (
        "image.python-managed",
        "FROM ubuntu:24.04\nRUN apt-get update && apt-get install -y software-properties-common curl python3-pip\n"
        "RUN add-apt-repository ppa:deadsnakes/ppa && apt-get install -y python3.11\n"
        "RUN curl -sS https://bootstrap.pypa.io/get-pip.py | python3.11\n",
        4,
    ),
    "a Python without distutils": ("image.pip-missing", f"{SNAKES}RUN python3.12 -m pip install six\n", 4),
    "pip of Ubuntu 18.04 is pip3": ("image.pip-missing", f"{BIONIC}RUN pip install six\n", 3),
    "setuptools brings no pip": (
        "image.pip-missing",
        f"{BIONIC}RUN pip3 install -U setuptools\nRUN pip install six\n",
        4,
    ),
    "no pip is copied": ("image.pip-missing", SECOND.format("/usr/local/lib/python3.10/dist-packages"), 6),
    "cd in a RUN before pip": ("image.list-missing", f"{CLONED}RUN pip3 install -r requirements.txt\n", 4),
    "cd in a RUN before setup.py": ("image.list-missing", f"{CLONED}RUN python3 setup.py install\n", 4),
    "cd in a RUN before cmake": ("image.list-missing", f"{CLONED}RUN cmake .. && make\n", 4),
    "wget without -y": ("image.apt-asks", "FROM ubuntu:22.04\nRUN apt-get update && apt-get install wget\n", 2),
    "no more nbextension": ("image.tool-option", NOTEBOOK.format("jupyter"), 3),
    "conda env create asks for the terms": (
        "image.conda-terms",
        "FROM continuumio/miniconda3\nCOPY environment.yml .\nRUN conda env create -f environment.yml\n",
        3,
    ),
    "a registry inside NVIDIA": (
        "image.base-gone",
        "FROM gitlab-dl.nvidia.com:5005/dgx/tensorflow:18.04-py2-devel\n",
        1,
    ),
    "the old key of cudagl": (
        "image.apt-key-rotated",
        "FROM nvidia/cudagl:11.4.2-devel-ubuntu20.04\nRUN apt-get update\n",
        2,
    ),
    "another mirror leaves the old key": (
        "image.apt-key-rotated",
        "FROM tensorflow/tensorflow:2.6.0-gpu\n"
        "RUN sed -i 's/archive.ubuntu.com/mirror.example/' /etc/apt/sources.list\n"
        "RUN apt-get update\n",
        3,
    ),
    "a tag in none of the lists": ("image.base-gone", "FROM nvidia/cuda:12.6.0-cudnn8-devel-ubuntu22.04\n", 1),
    "a code name in a tag": ("image.base-gone", "FROM nvidia/cuda:12.2.2-devel-jammy\n", 1),
    "no PyTorch for that CUDA": ("image.base-gone", "FROM pytorch/pytorch:2.3.0-cuda12.2-cudnn8-devel\n", 1),
    "an archived code name": ("image.archive-gone", "FROM ubuntu:lunar\nRUN apt-get update\n", 2),
    "the last image of Python 2": ("image.archive-gone", "FROM python:2.7-slim\nRUN apt-get update\n", 2),
    "the old key of Triton": (
        "image.apt-key-rotated",
        "FROM nvcr.io/nvidia/tritonserver:21.10-py3\nRUN apt-get update\n",
        2,
    ),
    "a compiler of before": (
        "image.apt-without-package",
        "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y gcc-8 g++-8\n",
        2,
    ),
    "a Python's library": (
        "image.apt-without-package",
        "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y libpython3.8-dev\n",
        2,
    ),
    "no name of a package": (
        "image.apt-without-package",
        "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y python3_pip\n",
        2,
    ),
    "a PPA that is gone": (
        "image.apt-without-package",
        "FROM ubuntu:18.04\nRUN apt-get update && apt-get install -y software-properties-common\n"
        "RUN add-apt-repository ppa:jonathonf/python-3.6\n",
        3,
    ),
    "a virtual package": (
        "image.apt-without-package",
        "FROM ubuntu:24.04\nRUN apt-get update && apt-get install -y libasound2\n",
        2,
    ),
    "a CUDA before the distribution": (
        "image.apt-without-package",
        "FROM nvidia/cuda:12.8.1-base-ubuntu24.04\nRUN apt-get update && apt-get install -y cuda-toolkit-11-8\n",
        2,
    ),
    "get-pip.py by ADD": (
        "image.installer-refuses",
        "FROM ubuntu:20.04\nRUN apt-get update && apt-get install -y python3 python3-distutils\n"
        "ADD https://bootstrap.pypa.io/get-pip.py /tmp/get-pip.py\nRUN python3 /tmp/get-pip.py\n",
        4,
    ),
    "a list after a clone": (
        "image.list-missing",
        "FROM python:3.10\nRUN git clone https://github.com/o/bar ./b && cd ./b && pip install . && cd ..\n"
        "RUN pip install -r requirements.txt\n",
        3,
    ),
    "a package of no distribution": (
        "image.apt-without-package",
        "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y lib-ssl-dev\n",
        2,
    ),
}
FINE = {
    "branches and groups": (
        f"{JAMMY}RUN if [ -f a ]; then b; fi && (cd x && make) && {{ a; b; }}\nRUN f() {{ a && b; }} && f\n"
    ),
    "a case": f'{JAMMY}RUN case "$X" in a) b ;; *) c || d ;; esac && e\n',
    "a comment between": f"{JAMMY}RUN true && \\\n    # why\n    true\n",
    "echo of such words": f'{JAMMY}RUN if true; then echo "if" && echo done; fi\n',
    "find with a semicolon": f"{JAMMY}RUN find . -name x -exec rm {{}} \\; && ls\n",
    "a bash script": f'{JAMMY}RUN bash -c "source x && \\\n  true && true"\n',
    "the key of today": KEYED.format("3bf863cc.pub"),
    "the old key of the image that knows the new one": KEYED.format("7fa2af80.pub").replace(
        "ubuntu:22.04", "nvidia/cuda:12.4.1-base-ubuntu22.04"
    ),
    "a newer pip of Ubuntu 18.04": f"{BIONIC}RUN pip3 install --upgrade pip==20.3.4\nRUN pip install six\n",
    "a link to pip3": f"{BIONIC}RUN cd /usr/bin && ln -s pip3 pip\nRUN pip install six\n",
    "the pip of Python 2": f"{BIONIC}RUN apt-get install -y python-pip\nRUN pip install six\n",
    "pip of Ubuntu 22.04": f"{JAMMY}RUN pip install --upgrade pip\n",
    "pip beside that of 24.04": f"{NOBLE}RUN pip install --break-system-packages --ignore-installed --upgrade pip\n",
    "a pip of its own": f"{NOBLE}RUN python3 -m venv /v && /v/bin/pip install --upgrade pip\n",
    "pip is there": f"{NOBLE}RUN pip install --break-system-packages pip setuptools\n",
    "ensurepip first": f"{SNAKES}RUN python3.12 -m ensurepip && python3.12 -m pip install six\n",
    "get-pip.py first": (
        f"{SNAKES}RUN curl -sS https://bootstrap.pypa.io/get-pip.py | python3.12\nRUN python3.12 -m pip install six\n"
    ),
    "the distribution's Python beside": f"{SNAKES}RUN pip install six\n",
    "programs are copied": SECOND.format("/usr/local"),
    "WORKDIR": f"{CLONED}WORKDIR /bar\nRUN pip3 install -r requirements.txt\n",
    "files are in the folder": f"{JAMMY}COPY . .\nRUN cd sub\nRUN pip3 install -r requirements.txt\n",
    "cloned into the folder": (
        f"{JAMMY}RUN git clone https://github.com/o/bar .\nRUN cd sub\nRUN python3 setup.py install\n"
    ),
    "the command before made it": f"{JAMMY}RUN echo six > r.txt && cd /tmp\nRUN pip3 install -r r.txt\n",
    "gcc of a devel image": (
        "FROM nvidia/cuda:12.8.1-devel-ubuntu22.04\nRUN apt-get update && apt-get install build-essential\n"
    ),
    "what another has brought": (
        "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y cmake\nRUN apt-get install curl\n"
    ),
    "terms are accepted by variable": (
        "FROM continuumio/miniconda3\nENV CONDA_PLUGINS_AUTO_ACCEPT_TOS=yes\nRUN conda env create -f environment.yml\n"
    ),
    "Miniforge has other channels": "FROM condaforge/miniforge3\nRUN conda env create -f environment.yml\n",
    "NVIDIA's list is removed": (
        "FROM nvidia/cudagl:11.4.2-devel-ubuntu20.04\nRUN rm /etc/apt/sources.list.d/cuda.list && apt-get update\n"
    ),
    "a list of the clone": "FROM python:3.10\nRUN git clone https://github.com/o/b && cd b && pip install -r r.txt\n",
    "a list by the clone's path": (
        "FROM python:3.10\nRUN git clone https://github.com/o/b\nRUN pip install -r b/r.txt\n"
    ),
    "the folder is the clone": (
        "FROM python:3.10\nWORKDIR /b\nRUN git clone https://github.com/o/b /b\nRUN pip install -r r.txt\n"
    ),
    "a tag of that release": "FROM nvidia/cuda:12.3.2-cudnn9-devel-ubuntu22.04\n",
    "a tag of PyTorch": "FROM pytorch/pytorch:2.1.0-cuda11.8-cudnn8-devel\n",
    "Triton after the key": "FROM nvcr.io/nvidia/tritonserver:22.12-py3\nRUN apt-get update\n",
    "a compiler of the release": "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y gcc-9 g++-12\n",
    "a compiler of the toolchain's PPA": (
        "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y software-properties-common\n"
        "RUN add-apt-repository ppa:ubuntu-toolchain-r/test && apt-get install -y gcc-14\n"
    ),
    "CUDA of another distribution's repository": (
        "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y wget\n"
        "RUN wget https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2004/x86_64/cuda-keyring_1.1-1_all.deb"
        " && dpkg -i cuda-keyring_1.1-1_all.deb && apt-get update && apt-get install -y cuda-toolkit-11-4\n"
    ),
    "a file of apt": "FROM ubuntu:22.04\nCOPY a_1.deb /\nRUN apt-get update && apt-get install -y /a_1.deb\n",
    "notebook is bounded": NOTEBOOK.format("'notebook<7'"),
    "notebook of an old Python": NOTEBOOK.format("notebook").replace("3.10", "3.7"),
}


@pytest.mark.parametrize(("fault", "text", "line"), STOPS.values(), ids=STOPS)
def test_says_what_stops(fault: str, text: str, line: int, matrix: Matrix) -> None:
    found = check_dockerfile(text, Request(container=True), matrix)
    assert [(one.id, one.subject.partition(":")[0]) for one in found if one.status is Status.FAIL] == [
        (fault, f"line {line}")
    ]


@pytest.mark.parametrize("text", FINE.values(), ids=FINE)
def test_says_nothing_of_what_builds(text: str, matrix: Matrix) -> None:
    found = check_dockerfile(text, Request(container=True), matrix)
    assert [one for one in found if one.status is Status.FAIL] == []
