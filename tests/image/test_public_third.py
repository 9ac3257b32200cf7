"""What the third set of public files taught: each rule on its smallest file, and where it keeps silent."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Status
from envkit.dockerfile.check import check_dockerfile
from envkit.solver.request import Request
from envkit.tables import Matrix

JAMMY = "FROM nvidia/cuda:12.9.1-devel-ubuntu22.04\n"
PIP = f"{JAMMY}RUN apt-get update && apt-get install -y python3-pip git\n"
NEWEST = f"{PIP}RUN pip3 install --upgrade pip\nRUN pip install torch==2.8.0\n"
FOCAL = NEWEST.replace("ubuntu22.04", "ubuntu20.04").replace("12.9.1", "12.4.1").replace("2.8.0", "2.4.1")
UV = f"{JAMMY}RUN curl -LsSf {{}} | sh && {{}} pip install --system six\n"
APEX = "RUN git clone https://github.com/NVIDIA/apex /opt/apex\nRUN cd /opt/apex && pip install {} .\n"
DETECTRON = (
    "RUN git clone https://github.com/facebookresearch/detectron2\nRUN pip install --no-build-isolation -e detectron2\n"
)
SNAKES = "RUN add-apt-repository ppa:deadsnakes/ppa && apt-get update && apt-get install -y {}\n"
TWO = (
    f"{JAMMY}RUN apt-get update && apt-get install -y python3.11 python3-pip"
    " && ln -s /usr/bin/python3.11 /usr/bin/python\n"
)
STOPS = {
    "a get-pip.py without a number": (
        "image.installer-refuses",
        "FROM ubuntu:20.04\nRUN apt-get update && apt-get install -y curl python3\n"
        "RUN curl -O https://bootstrap.pypa.io/pip/get-pip.py && python3 get-pip.py\n",
    ),
    "pip install -y": ("image.tool-option", f"{PIP}RUN pip3 install -y six\n"),
    "uv pip install -y": ("image.tool-option", f"{PIP}RUN pip3 install uv && uv pip install --system -y six\n"),
    "an option that pip dropped": ("image.tool-option", f"{NEWEST}RUN pip install --global-option=--cuda_ext six\n"),
    "uv in the folder of before": (
        "image.program-moved",
        UV.format("https://astral.sh/uv/install.sh", "/root/.cargo/bin/uv"),
    ),
    "a clone built in isolation": ("image.torch-hidden", NEWEST + APEX.format("")),
    "a setup that wants pkg_resources": (
        "image.package-refuses",
        f"{NEWEST}RUN pip install git+https://github.com/openai/CLIP.git\n",
    ),
    "a release of before that wants it": (
        "image.package-refuses",
        f"{NEWEST}RUN pip install openai-whisper==20231117\n",
    ),
    "no distutils": ("image.apt-without-package", JAMMY + SNAKES.format("python3.12-distutils")),
    "a name of the index": (
        "image.apt-without-package",
        f"{JAMMY}RUN apt-get update && apt-get install -y packaging\n",
    ),
    "deadsnakes brings no pip": (
        "image.pip-missing",
        JAMMY + SNAKES.format("python3.11") + "RUN python3.11 -m pip install six\n",
    ),
    "no distribution in the tag": ("image.base-gone", "FROM nvidia/cuda:11.4.0-base\n"),
    "NVIDIA's registry has the same tags": ("image.base-gone", "FROM nvcr.io/nvidia/cuda:11.4.2-base-ubuntu20.04\n"),
    "no tag latest": ("image.base-gone", "FROM nvcr.io/nvidia/tensorflow:latest\n"),
    "sources of before": (
        "image.sources-missing",
        "FROM python:3.12-slim\nRUN sed -i s/deb.debian.org/mirror.example/g /etc/apt/sources.list\n",
    ),
    "another list is copied": (
        "image.list-missing",
        "FROM python:3.12\nCOPY requirements.txt .\nRUN pip install -r requirements-gpu.txt\n",
    ),
    "imports in another Python": ("image.other-python", f'{TWO}RUN pip install torch && python -c "import torch"\n'),
    "the newest state wants a newer Python": (
        "image.python-without-package",
        f"{PIP.replace('22.04', '20.04')}RUN pip3 install git+https://github.com/huggingface/transformers\n",
    ),
    "no wheel, and a setup of before": (
        "image.package-refuses",
        "FROM python:3.13\nRUN pip install basicsr\n",
    ),
}
WARNS = {
    "the newest torchvision is for a newer torch": (
        "image.requirements-clash",
        f"{PIP}RUN pip3 install torch==2.6.0\nRUN pip3 install torchvision\n",
    ),
    "CUDA code left out": ("image.gpu-at-build", NEWEST + DETECTRON),
    "no driver for Vulkan": (
        "image.gpu-hidden",
        "FROM nvidia/cuda:12.9.1-base-ubuntu22.04\nRUN apt-get update && apt-get install -y libvulkan1\n",
    ),
    "NumPy 2 under the base's torch": (
        "image.numpy-unbounded",
        "FROM pytorch/pytorch:2.1.0-cuda12.1-cudnn8-devel\nRUN pip install opencv-python-headless\n",
    ),
    "the newest wants a newer torch": (
        "image.requirements-clash",
        "FROM pytorch/pytorch:1.13.1-cuda11.6-cudnn8-devel\nRUN pip install accelerate\n",
    ),
    "a nightly index beside the default one": (
        "image.needs-newer-driver",
        "FROM nvidia/cuda:12.9.1-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y python3-pip\n"
        "RUN pip3 install torch --extra-index-url https://download.pytorch.org/whl/nightly/cu129\n",
    ),
    "a container of the month": (
        "image.needs-newer-driver",
        "FROM nvcr.io/nvidia/tensorflow:23.08-tf2-py3\nRUN pip install torch\n",
    ),
    "TensorFlow goes on without cuDNN 8": (
        "image.cudnn-differs",
        f"{PIP.replace('devel', 'cudnn-runtime')}RUN pip3 install tensorflow==2.15.1 torch\n",
    ),
}
SILENT = {
    "a package whose name ends with python": (
        "image.python-without-package",
        "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nRUN wget https://repo.anaconda.com/miniconda/"
        "Miniconda3-py38_4.9.2-Linux-x86_64.sh -O m.sh && bash m.sh -b -p /opt/conda\n"
        "RUN /opt/conda/bin/pip install opencv-python==4.5.1.48\n"
        "RUN /opt/conda/bin/pip install tensorflow==2.4.1\n",
    ),
    "torchvision beside torch": ("image.requirements-clash", f"{PIP}RUN pip3 install torch==2.6.0 torchvision\n"),
    "torchvision is there": (
        "image.requirements-clash",
        f"{PIP}RUN pip3 install torch==2.6.0 torchvision==0.21.0\nRUN pip3 install torchvision timm\n",
    ),
    "a runtime beside torch of the file": ("image.cpu-build", f"{NEWEST}RUN pip install rembg onnxruntime\n"),
    "the pip of Python 3.8 has the option": (
        "image.tool-option",
        f"{FOCAL}RUN pip install --global-option=--cuda_ext six\n",
    ),
    "a value of another option": (
        "image.tool-option",
        f"{NEWEST}RUN pip install --config-settings --global-option=a six\n",
    ),
    "uv where it is now": ("image.program-moved", UV.format("https://astral.sh/uv/install.sh", "/root/.local/bin/uv")),
    "uv of then": ("image.program-moved", UV.format("https://astral.sh/uv/0.4.9/install.sh", "/root/.cargo/bin/uv")),
    "a clone built without isolation": ("image.torch-hidden", NEWEST + APEX.format("--no-build-isolation")),
    "a package in the folder of a clone": ("image.torch-hidden", NEWEST + APEX.format("").replace(" .\n", " ninja\n")),
    "old setuptools, and no isolation": (
        "image.package-refuses",
        f"{NEWEST}RUN pip install 'setuptools<81'\nRUN pip install --no-build-isolation git+https://github.com/openai/CLIP.git\n",
    ),
    "a repository whose name goes on": (
        "image.package-refuses",
        f"{NEWEST}RUN pip install git+https://github.com/openai/CLIP-featurevis.git\n",
    ),
    "distutils of 3.11": ("image.apt-without-package", JAMMY + SNAKES.format("python3.11-distutils")),
    "get-pip for deadsnakes": (
        "image.pip-missing",
        JAMMY
        + SNAKES.format("python3.11 curl")
        + "RUN curl https://bootstrap.pypa.io/get-pip.py | python3.11\nRUN python3.11 -m pip install six\n",
    ),
    "sources of Debian 11": (
        "image.sources-missing",
        "FROM python:3.12-slim-bullseye\nRUN sed -i s/deb.debian.org/mirror.example/g /etc/apt/sources.list\n",
    ),
    "a list in a folder": (
        "image.list-missing",
        "FROM python:3.12\nCOPY requirements requirements\nRUN pip install -r requirements/gpu.txt\n",
    ),
    "imports of the standard library": (
        "image.other-python",
        f'{TWO}RUN pip install torch && python -c "import sys"\n',
    ),
    "CUDA code on purpose": ("image.gpu-at-build", f"{NEWEST}ENV FORCE_CUDA=1\n{DETECTRON}"),
    "the driver's Vulkan": (
        "image.gpu-hidden",
        "FROM nvidia/cuda:12.9.1-base-ubuntu22.04\nENV NVIDIA_DRIVER_CAPABILITIES=all\n"
        "RUN apt-get update && apt-get install -y libvulkan1\n",
    ),
    "NumPy is pinned afterwards": (
        "image.numpy-unbounded",
        "FROM pytorch/pytorch:2.1.0-cuda12.1-cudnn8-devel\nRUN pip install opencv-python\nRUN pip install 'numpy<2'\n",
    ),
    "the base's torch is new enough": (
        "image.requirements-clash",
        "FROM pytorch/pytorch:2.1.0-cuda12.1-cudnn8-devel\nRUN pip install accelerate\n",
    ),
    "a runtime beside torch": (
        "image.cpu-build",
        "FROM pytorch/pytorch:2.6.0-cuda12.4-cudnn9-runtime\nRUN pip install onnxruntime onnx\n",
    ),
}


def told(text: str, matrix: Matrix) -> set[tuple[str, str]]:
    return {(one.status.value, one.id) for one in check_dockerfile(text, Request(container=True), matrix)}


@pytest.mark.parametrize("name", STOPS)
def test_what_stops_is_reported(name: str, matrix: Matrix) -> None:
    expected, text = STOPS[name]
    assert (Status.FAIL.value, expected) in told(text, matrix)


@pytest.mark.parametrize("name", WARNS)
def test_what_goes_wrong_later_is_reported(name: str, matrix: Matrix) -> None:
    expected, text = WARNS[name]
    assert (Status.WARN.value, expected) in told(text, matrix)


@pytest.mark.parametrize("name", SILENT)
def test_what_is_in_order_is_not(name: str, matrix: Matrix) -> None:
    other, text = SILENT[name]
    assert {(Status.FAIL.value, other), (Status.WARN.value, other)}.isdisjoint(told(text, matrix))
