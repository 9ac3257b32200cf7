"""What 216 public files taught: each rule on its smallest file, and where it keeps silent."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Status
from envkit.dockerfile.check import check_dockerfile
from envkit.solver.request import Request
from envkit.tables import Matrix

JAMMY = "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\n"
PIP = f"{JAMMY}RUN apt-get update && apt-get install -y python3-pip\n"
NEWEST = f"{PIP}RUN pip3 install --upgrade pip\nRUN pip install torch==2.4.1\n"
CONDA = "RUN wget https://repo.anaconda.com/miniconda/{} -O /m.sh && bash /m.sh -b -p /opt/conda\n"
TINY = "pip install {} git+https://github.com/NVlabs/tiny-cuda-nn/#subdirectory=bindings/torch"
TWO = f"{JAMMY}RUN apt-get update && apt-get install -y python3.11 python3-pip && ln -sf /usr/bin/python3.11 {{}}\n"
BOTH = "apt-get install -y python3.11 python3-pip"
STARTS = 'RUN pip install -r a.txt\nCMD ["{}", "a.py"]\n'
TRIXIE = "FROM python:3.12-slim\n"
KEYRING = (
    "RUN curl -O https://developer.download.nvidia.com/compute/cuda/repos/{}/x86_64/cuda-keyring_1.1-1_all.deb"
    " && dpkg -i cuda-keyring_1.1-1_all.deb && apt-get update\n"
)
STOPS = {
    "Miniconda on an old glibc": (
        "image.glibc-too-old",
        "FROM ubuntu:18.04\n" + CONDA.format("Miniconda3-latest-Linux-x86_64.sh"),
    ),
    "apt-key on Debian 13": ("image.apt-without-package", f"{TRIXIE}RUN curl a | apt-key add -\n"),
    "a package that Debian 13 dropped": (
        "image.apt-without-package",
        f"{TRIXIE}RUN apt-get update && apt-get install -y libgl1-mesa-glx\n",
    ),
    "the key of another distribution": ("image.apt-key-refused", TRIXIE + KEYRING.format("debian12")),
    "no -y": ("image.apt-asks", f"{JAMMY}RUN apt-get update && apt-get install git\n"),
    "no && after update": ("image.commands-joined", f"{JAMMY}RUN apt-get update apt-get install -y git\n"),
    "no && before rm": ("image.commands-joined", f"{JAMMY}RUN apt-get update && apt-get install -y git rm -rf /a\n"),
    "a backslash before RUN": ("image.commands-joined", f"{JAMMY}RUN cmake .. \\\nRUN make\n"),
    "a list of nowhere": ("image.list-missing", f"{PIP}RUN pip3 install -r requirements.txt\n"),
    "a retired name": ("image.package-refuses", f"{PIP}RUN pip3 install sklearn\n"),
    "an option of before": (
        "image.package-refuses",
        f"{PIP}RUN CMAKE_ARGS=-DLLAMA_CUBLAS=on pip3 install llama-cpp-python\n",
    ),
    "no wheel, and Cython 3": ("image.package-refuses", f"{PIP}RUN pip3 install pyyaml==5.4.1\n"),
    "metadata of before": ("image.pip-refuses-metadata", f"{NEWEST}RUN pip install fairseq==0.12.2\n"),
    "metadata of before, in a repository": (
        "image.pip-refuses-metadata",
        f"{NEWEST}RUN pip install git+https://github.com/FacebookResearch/fairseq.git@main\n",
    ),
    "an index in place of the default one": (
        "image.index-without-package",
        f"{PIP}RUN pip3 install torch gradio --index-url https://download.pytorch.org/whl/cu124\n",
    ),
    "pip 8 replaces itself": (
        "image.pip-outdates-itself",
        "FROM ubuntu:16.04\nRUN apt-get update && apt-get install -y python3-pip\n"
        "RUN pip3 install -U pip\nRUN pip3 install six\n",
    ),
    "torch hidden from a repository": (
        "image.torch-hidden",
        f"{NEWEST}RUN TCNN_CUDA_ARCHITECTURES=86 {TINY.format('')}\n",
    ),
    "no GPU to compile for": ("image.gpu-at-build", f"{NEWEST}RUN {TINY.format('--no-build-isolation')}\n"),
    "nvcc of another CUDA": (
        "image.compiled-for-other-cuda",
        f"{PIP}RUN pip3 install torch==2.13.0\nRUN pip3 install --no-build-isolation flash-attn==2.7.4\n",
    ),
    "python is another one": ("image.other-python", TWO.format("/usr/bin/python") + STARTS.format("python")),
    "CUDA 12.6 in 11.7": (
        "image.apt-without-package",
        f"{JAMMY}RUN apt-get update && apt-get install -y cuda-toolkit-12-6=11.7.99-1\n",
    ),
    "Python 2 of apt": (
        "image.installer-refuses",
        "FROM ubuntu:18.04\nRUN apt-get update && apt-get install -y python-dev curl\n"
        "RUN curl https://bootstrap.pypa.io/get-pip.py -o get-pip.py && python get-pip.py\n",
    ),
    "uv sync --system": (
        "image.tool-option",
        f"{JAMMY}COPY --from=ghcr.io/astral-sh/uv:latest /uv /bin/uv\nRUN uv sync --system\n",
    ),
}
SILENT = {
    "a Miniconda of then": (
        "image.glibc-too-old",
        "FROM ubuntu:18.04\n" + CONDA.format("Miniconda3-py38_4.12.0-Linux-x86_64.sh"),
    ),
    "Miniconda on a new glibc": ("image.glibc-too-old", JAMMY + CONDA.format("Miniconda3-latest-Linux-x86_64.sh")),
    "apt-key on Ubuntu 22.04": ("image.apt-without-package", f"{JAMMY}RUN curl a | apt-key add -\n"),
    "a tag that names its Debian": (
        "image.apt-without-package",
        "FROM python:3.12-slim-bookworm\nRUN apt-get update && apt-get install -y libgl1-mesa-glx\n",
    ),
    "the key of Debian 13": ("image.apt-key-refused", TRIXIE + KEYRING.format("debian13")),
    "yes answers": ("image.apt-asks", f"{JAMMY}RUN apt-get update && yes | apt-get install git\n"),
    "git is there": ("image.apt-asks", f"{JAMMY}RUN apt-get update && apt-get install -y git && apt-get install git\n"),
    "output thrown away": (
        "image.commands-joined",
        f"{JAMMY}RUN apt-get update > /dev/null && apt-get install -y git\n",
    ),
    "a list that is copied": ("image.list-missing", f"{PIP}COPY . .\nRUN pip3 install -r requirements.txt\n"),
    "a list that git brings": (
        "image.list-missing",
        f"{PIP}RUN git clone https://a.example/b && cd b && pip3 install -r requirements.txt\n",
    ),
    "a list that is mounted": (
        "image.list-missing",
        f"{PIP}RUN --mount=type=bind,target=. pip3 install -r requirements.txt\n",
    ),
    "pip is held": (
        "image.pip-refuses-metadata",
        f"{NEWEST}RUN pip install 'pip<24.1'\nRUN pip install fairseq==0.12.2\n",
    ),
    "a repository whose name goes on": (
        "image.pip-refuses-metadata",
        f"{NEWEST}RUN pip install git+https://github.com/facebookresearch/fairseq2.git\n",
    ),
    "beside the default index": (
        "image.index-without-package",
        f"{PIP}RUN pip3 install torch gradio --extra-index-url https://download.pytorch.org/whl/cu124\n",
    ),
    "GPUs are named": (
        "image.gpu-at-build",
        f"{NEWEST}ENV TCNN_CUDA_ARCHITECTURES=86\nRUN {TINY.format('--no-build-isolation')}\n",
    ),
    "python3 is that one, and so is apt's pip": (
        "image.other-python",
        TWO.format("/usr/bin/python3") + STARTS.format("python3"),
    ),
    "installed for the one that starts": (
        "image.other-python",
        TWO.format("/usr/bin/python") + "RUN python -m pip install -U pip\n" + STARTS.format("python"),
    ),
    "PyYAML on its Python": ("image.package-refuses", "FROM python:3.9\nRUN pip install pyyaml==5.4.1\n"),
}


def faults(text: str, matrix: Matrix) -> set[str]:
    return {one.id for one in check_dockerfile(text, Request(container=True), matrix) if one.status is Status.FAIL}


@pytest.mark.parametrize("name", STOPS)
def test_what_stops_is_reported(name: str, matrix: Matrix) -> None:
    told, text = STOPS[name]
    assert told in faults(text, matrix)


@pytest.mark.parametrize("name", SILENT)
def test_what_does_not_stop_is_not(name: str, matrix: Matrix) -> None:
    told, text = SILENT[name]
    assert told not in faults(text, matrix)


@pytest.mark.parametrize(
    ("lines", "python"),
    [
        ("apt-get install -y python3.11 python3-pip && pip3 install six", "3.10"),
        ("apt-get install -y python3.11 python3-pip && python3.11 -m pip install -U pip && pip install six", "3.11"),
        ("apt-get install -y python3.11 curl && curl https://a/get-pip.py | python3.11 && pip install six", "3.11"),
        (
            f"{BOTH} && ln -sf /usr/bin/python3.11 /usr/bin/python3 && pip install six",
            "3.11",
        ),
        (
            f"{BOTH} && if a; then ln -sf /usr/bin/python3.11 /usr/bin/python3; fi && pip install six",
            None,
        ),
    ],
)
def test_the_python_of_pip_is_followed(lines: str, python: str | None, matrix: Matrix) -> None:
    found = check_dockerfile(f"{JAMMY}RUN apt-get update && {lines}\n", Request(container=True), matrix)
    told = [one.title for one in found if one.id == "image.python-of-pip" and "six" in one.subject]
    first = [one.title for one in found if one.id == "image.python-of-pip"]
    assert (python is None and not first) or any(f"Python {python}" in title for title in told or first)
