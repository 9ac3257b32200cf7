"""What set u taught, and the faults that were still missed before: each rule on its smallest file, and where it keeps
silent."""

from __future__ import annotations

import pytest

from envkit.tables import Matrix
from tests.image.told import failures

XENIAL = "FROM ubuntu:16.04\nRUN apt-get update && apt-get install -y python3-pip{}\n"
XENIAL_TWO = "FROM ubuntu:16.04\nRUN apt-get update && apt-get install -y python-pip{}\n"
BIONIC = "FROM ubuntu:18.04\nRUN apt-get update && apt-get install -y python3-pip{}\n"
FOCAL = "FROM ubuntu:20.04\nRUN apt-get update && apt-get install -y python3-pip\n"
REFUSES = "image.package-refuses"
LISTED = "COPY <<E r.txt\n{}\nE\nRUN pip install -r r.txt\n"
UV = "FROM python:3.12\nRUN pip install uv\nRUN uv pip install --system --torch-backend=auto {}\n"
TOLD = {
    "a source that wants a newer Python": (REFUSES, f"{XENIAL.format('')}RUN pip3 install pillow\n"),
    "what another package requires": (REFUSES, f"{XENIAL.format('')}RUN pip3 install tensorflow==1.4.0\n"),
    "a package of Python 2 alone": (REFUSES, f"{XENIAL_TWO.format('')}RUN pip install tqdm\n"),
    "an upgrade of what apt has": (
        REFUSES,
        f"{XENIAL.format(' python3-numpy')}RUN pip3 install --upgrade numpy\n",
    ),
    "a pip that is there already": (REFUSES, f"{XENIAL.format('')}RUN pip3 install pip six numpy wheel\n"),
    "setuptools of today": (REFUSES, f"{XENIAL_TWO.format('')}RUN pip install --upgrade setuptools\n"),
    "a setup with Rust": (REFUSES, f"{BIONIC.format('')}RUN pip3 install cryptography\n"),
    "Transformers with the tokenizers of today": (REFUSES, f"{BIONIC.format('')}RUN pip3 install transformers\n"),
    "Jupyter by an old pip": (REFUSES, f"{BIONIC.format('')}RUN pip3 install jupyter\n"),
    "headers of libjpeg": (REFUSES, f"{BIONIC.format('')}RUN pip3 install matplotlib\n"),
    "LightGBM on Ubuntu 20.04": (REFUSES, f"{FOCAL}RUN pip3 install lightgbm\n"),
    "a release behind a nested default": (
        "image.python-without-package",
        "FROM python:3.12\nARG P=tensorflow\nARG V=2.3.0\nRUN pip install ${P}${V:+==${V}}\n",
    ),
    "a default that names another argument": (
        "image.base-gone",
        "ARG C=9.0\nFROM nvidia/cuda:${T:-${C}-devel-ubuntu16.04}\n",
    ),
    "a source that Python 3.12 cannot build": (REFUSES, "FROM python:3.12\nRUN pip install scikit-image==0.19.3\n"),
    "a source that wants Arrow": (REFUSES, "FROM python:3.11\nRUN pip install pyarrow==8.0.0\n"),
    "an ONNX Runtime for older Pythons": (
        "image.python-without-package",
        "FROM python:3.12\nRUN pip install onnxruntime==1.10.0\n",
    ),
    "a repository in a list": (
        "image.python-without-package",
        "FROM python:3.8\n" + LISTED.format("git+https://github.com/huggingface/transformers.git"),
    ),
    "a repository with a name in a list": (
        REFUSES,
        "FROM python:3.12\nRUN pip install -U pip\n" + LISTED.format("clip @ git+https://github.com/openai/CLIP.git"),
    ),
    "an older address of a repository": (
        "image.python-without-package",
        "FROM python:3.7\nRUN pip install git+https://github.com/huggingface/pytorch-pretrained-BERT.git\n",
    ),
    "the driver asked for vLLM": ("image.cpu-build", UV.format("vllm")),
}
SILENT = {
    "a pinned release": (REFUSES, f"{XENIAL.format('')}RUN pip3 install pillow==5.0.0\n"),
    "NumPy by apt": (REFUSES, f"{XENIAL.format(' python3-numpy')}RUN pip3 install tensorflow==1.4.0\n"),
    "NumPy by pip before": (
        REFUSES,
        f"{XENIAL.format('')}RUN pip3 install numpy==1.13.0\nRUN pip3 install tensorflow==1.4.0\n",
    ),
    "NumPy in the same command": (
        REFUSES,
        f"{XENIAL.format('')}RUN pip3 install numpy==1.13.0 tensorflow==1.4.0\n",
    ),
    "a wheel for any Python": (REFUSES, f"{XENIAL.format('')}RUN pip3 install tqdm\n"),
    "another pip": (REFUSES, f"{BIONIC.format('')}RUN pip3 install 'pip<21.4'\nRUN pip3 install jupyter\n"),
    "the headers are there": (REFUSES, f"{BIONIC.format(' libjpeg-dev')}RUN pip3 install matplotlib\n"),
    "Pillow by apt": (REFUSES, f"{BIONIC.format(' python3-pil')}RUN pip3 install torchvision\n"),
    "an unseen list before": (
        REFUSES,
        f"{BIONIC.format('')}COPY r.txt .\nRUN pip3 install -r r.txt\nRUN pip3 install matplotlib\n",
    ),
    "another Python under the name": (
        REFUSES,
        f"{BIONIC.format(' python3.8')}RUN ln -sf /usr/bin/python3.8 /usr/bin/python3\n"
        "RUN python3 -m pip install jupyter\n",
    ),
    "LightGBM by a newer pip": (REFUSES, f"{FOCAL}RUN pip3 install -U 'pip<25'\nRUN pip3 install lightgbm\n"),
    "a nested default of a blank": (
        "image.python-without-package",
        "FROM python:3.12\nARG P=tensorflow\nARG V=\nRUN pip install ${P}${V:+==${V}}\n",
    ),
    "a tag of a repository in a list": (
        "image.python-without-package",
        "FROM python:3.8\n" + LISTED.format("git+https://github.com/huggingface/transformers.git@v4.30.0"),
    ),
    "a wheel for Python 3.12": (REFUSES, "FROM python:3.12\nRUN pip install scikit-image==0.22.0 pyarrow==14.0.1\n"),
    "Arrow for Python 3.9": (REFUSES, "FROM python:3.9\nRUN pip install pyarrow==8.0.0\n"),
    "a repository with a marker": (
        "image.python-without-package",
        "FROM python:3.8\n"
        + LISTED.format("transformers @ git+https://github.com/huggingface/transformers ; python_version>'3.11'"),
    ),
    "the driver asked for torch": ("image.cpu-build", UV.format("torch")),
}


@pytest.mark.parametrize(("id", "text"), TOLD.values(), ids=TOLD)
def test_is_told(id: str, text: str, matrix: Matrix) -> None:
    assert id in failures(text, matrix)


@pytest.mark.parametrize(("id", "text"), SILENT.values(), ids=SILENT)
def test_keeps_silent(id: str, text: str, matrix: Matrix) -> None:
    assert id not in failures(text, matrix)
