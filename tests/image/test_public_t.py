"""What set t taught: each rule on its smallest file, and where it keeps silent."""

from __future__ import annotations

import pytest

from envkit.tables import Matrix
from tests.image.told import failures

JAMMY = "FROM ubuntu:22.04\n"
PIP = f"{JAMMY}RUN apt-get update && apt-get install -y python3-pip\n"
XENIAL = "FROM ubuntu:16.04\nRUN apt-get update && apt-get install -y curl python-setuptools\n"
MINICONDA = "https://repo.anaconda.com/miniconda/Miniconda3-{}-Linux-x86_64.sh"
CONDA = f"{JAMMY}RUN curl -LO {MINICONDA} && bash Miniconda3-{{}}-Linux-x86_64.sh -b -p /opt/conda\n"
NEWEST = CONDA.format("latest", "latest")
OLDER = CONDA.format("py37_4.10.3", "py37_4.10.3")
INSTALL = "RUN /opt/conda/bin/conda install -y -c conda-forge"
WHEEL = "torch-1.9.0+cu102-cp38-cp38-linux_x86_64.whl"
PYTHON = "FROM python:3.8-bookworm\n"
ASDF = "asdf plugin add python && asdf install python 3.10.0 && asdf global python 3.10.0"
TOLD = {
    "easy_install takes pip": ("image.pip-outdates-itself", f"{XENIAL}RUN easy_install pip\n"),
    "easy_install upgrades pip": ("image.pip-outdates-itself", f"{XENIAL}RUN easy_install -U pip && echo done\n"),
    "an older Python beside the newest conda": (
        "image.python-without-package",
        f"{NEWEST}{INSTALL} python=3.6 numpy\n",
    ),
    "the same with a release": ("image.python-without-package", f"{NEWEST}{INSTALL} python=3.7.2\n"),
    "an OpenCV that PyPI has not": ("image.framework-version", f"{PIP}RUN pip3 install opencv-python==3.4.2.16\n"),
    "an old OpenCV": ("image.framework-version", f"{PIP}RUN pip3 install opencv-python==3.2.0.8\n"),
    "a suffix on the default index": ("image.framework-version", f"{PYTHON}RUN pip install torch==1.9.0+cu102\n"),
    "no pip": ("image.pip-missing", f"{JAMMY}RUN pip install six\n"),
    "a tag in quotes that is gone": ("image.base-gone", 'FROM nvidia/cuda:"10.0-base-ubuntu18.04"\n'),
}
TOLD["a list that is not read after the newest pip"] = (
    "image.pip-outdates-itself",
    "FROM ubuntu:16.04\nRUN apt-get update && apt-get install -y python3-pip\n"
    "RUN pip3 install --upgrade pip\nCOPY r.txt .\nRUN pip3 install -r r.txt\n",
)
SILENT = {
    "a bound for easy_install": ("image.pip-outdates-itself", f"{XENIAL}RUN easy_install 'pip<21'\n"),
    "a setup after the newest pip": (
        "image.pip-outdates-itself",
        "FROM ubuntu:16.04\nRUN apt-get update && apt-get install -y python3-pip\n"
        "RUN pip3 install --upgrade pip\nCOPY . .\nRUN python3 setup.py install\n",
    ),
    "easy_install of something else": ("image.pip-outdates-itself", f"{XENIAL}RUN easy_install six\n"),
    "a newer system": ("image.pip-outdates-itself", f"{PIP}RUN easy_install pip\n"),
    "an environment of its own": (
        "image.python-without-package",
        f"{NEWEST}RUN /opt/conda/bin/conda create -y -n old -c conda-forge python=3.6\n",
    ),
    "an environment that is there": ("image.python-without-package", f"{NEWEST}{INSTALL} -n old python=3.6\n"),
    "a conda that goes back": ("image.python-without-package", f"{NEWEST}{INSTALL} conda=4.10 python=3.6\n"),
    "a Python that the newest conda has": ("image.python-without-package", f"{NEWEST}{INSTALL} python=3.10\n"),
    "a bound alone": ("image.python-without-package", f"{NEWEST}{INSTALL} 'python>=3.6'\n"),
    "an older conda": ("image.python-without-package", f"{OLDER}{INSTALL} python=3.6\n"),
    "an OpenCV that PyPI has": ("image.framework-version", f"{PIP}RUN pip3 install opencv-python==3.4.2.17\n"),
    "another OpenCV": ("image.framework-version", f"{PIP}RUN pip3 install opencv-python==3.4.3.18\n"),
    "a wheel that lies in the image": ("image.framework-version", f"{PYTHON}COPY w /w\nRUN pip install /w/{WHEEL}\n"),
    "a wheel beside": (
        "image.framework-version",
        f"{PYTHON}RUN wget https://example.org/{WHEEL} && pip install {WHEEL}\n",
    ),
    "a range between releases that are recorded elsewhere": (
        "image.requirements-clash",
        f"{PIP}RUN pip3 install 'torch==2.8.*' 'torchaudio==2.8.*'\n",
    ),
    "asdf": ("image.pip-missing", f"{JAMMY}RUN {ASDF} && pip install six\n"),
    "a tag in quotes": (
        "image.base-gone",
        'ARG TAG="12.4.1-base-ubuntu22.04"\nFROM nvidia/cuda:"${TAG}" AS base\n',
    ),
}


@pytest.mark.parametrize(("finding", "text"), TOLD.values(), ids=TOLD)
def test_is_told(finding: str, text: str, matrix: Matrix) -> None:
    assert finding in failures(text, matrix)


@pytest.mark.parametrize(("finding", "text"), SILENT.values(), ids=SILENT)
def test_is_not_told(finding: str, text: str, matrix: Matrix) -> None:
    assert finding not in failures(text, matrix)
