"""Where a build or a start stops at arguments without a value, at environments that are copied, and at companions."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Status
from envkit.dockerfile.check import check_dockerfile
from envkit.solver.request import Request
from envkit.tables import Matrix

_JAMMY = "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y python3-pip git make\n"
_FOCAL = _JAMMY.replace("22", "20")
_XENIAL = _JAMMY.replace("22", "16")
_CUDA = "FROM nvidia/cuda:12.6.3-runtime-ubuntu22.04"
_CUDNN = "FROM nvidia/cuda:12.1.1-cudnn8-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y python3-pip\n"
_VENV = "FROM python:3.11 AS made\nRUN python -m venv /opt/venv && /opt/venv/bin/pip install six\n"
_OF_APT = (
    "FROM ubuntu:22.04 AS made\nRUN apt-get update && apt-get install -y python3-venv && python3 -m venv /opt/venv\n"
)
_COPY = 'COPY --from=made /opt/venv /opt/venv\nCMD ["/opt/venv/bin/python"]\n'
_PREFIX = (
    "FROM ubuntu:22.04 AS made\nRUN apt-get update && apt-get install -y python3-pip\n"
    "RUN pip3 install --prefix=/install six\nFROM ubuntu:22.04\n"
)
_PLACE = (
    "FROM python:3.12 AS made\nWORKDIR /build\nCOPY . .\n"
    "RUN python -m venv /opt/venv && /opt/venv/bin/pip install {} .\n"
)
_TORCH = "RUN pip install torch=={} torchvision=={}\nRUN pip install basicsr\n"

STOPS = [
    ("image.base-unknown", "ARG TAG\nFROM nvidia/cuda:${TAG}-runtime\nRUN true\n"),
    ("image.base-unknown", "ARG IMAGE\nFROM $IMAGE\nRUN true\n"),
    ("image.base-unknown", "FROM BASE_IMAGE\nRUN true\n"),
    ("image.argument-missing", f'{_JAMMY}ARG KEY\nRUN [ -n "$KEY" ] && make\n'),
    ("image.argument-missing", f'{_JAMMY}ARG KEY\nRUN if [ -z "$KEY" ]; then echo no key; exit 1; fi\n'),
    ("image.argument-missing", f"{_JAMMY}ARG KEY\nRUN echo ${{KEY:?no key}}\n"),
    ("image.argument-missing", f"{_JAMMY}ARG KIND gpu\nCOPY list.${{KIND}}.txt .\n"),
    ("image.word-unknown", "ARG SIX=1.16\nFROM python:3.12\nRUN pip install six==${SIX}\n"),
    ("image.other-python", f"{_VENV}{_CUDA}\n{_COPY}"),
    ("image.other-python", f"{_OF_APT}{_CUDA}\n{_COPY}"),
    ("image.other-python", f"{_PREFIX}COPY --from=made /install /usr/local\n"),
    ("image.project-left", f"{_PLACE.format('-e')}FROM python:3.12-slim\n{_COPY}"),
    ("image.package-refuses", f"{_FOCAL}RUN pip3 install 'six>=1.10' six\n"),
    ("image.package-refuses", f"{_XENIAL}RUN pip3 install numpy\n"),
    ("image.package-refuses", "FROM python:3.11\nRUN pip install openai-whisper==20231117\n"),
    ("image.package-refuses", "FROM python:3-slim\nRUN pip install numpy==1.26.4\n"),
    ("image.package-refuses", "FROM python:3.13\nRUN pip install transformers==4.41.0\n"),
    ("image.cudnn-differs", f"{_CUDNN}RUN pip3 install torch==2.3.1 faster-whisper\n"),
    ("image.tool-option", "FROM python:3.12\nRUN pip install jupyter\nRUN jupyter serverextension enable --py a\n"),
    ("image.library-missing", "FROM pytorch/pytorch:2.6.0-cuda12.6-cudnn9-runtime\nRUN pip install opencv-python\n"),
    ("image.requirements-clash", "FROM python:3.11\n" + _TORCH.format("2.3.0", "0.18.0")),
    ("image.requirements-clash", "FROM pytorch/pytorch:2.6.0-cuda12.6-cudnn9-runtime\nRUN pip install gfpgan\n"),
    ("image.requirements-clash", "FROM python:3.11\nRUN pip install openai==1.30.0\n"),
    ("image.requirements-clash", "FROM python:3.11\nRUN pip install transformers==4.39.0 peft\n"),
    ("image.requirements-clash", "FROM python:3.8\nRUN pip install tensorflow==2.5.0\n"),
    ("image.requirements-clash", "FROM python:3.9\nRUN pip install onnx==1.10.1\n"),
    ("image.requirements-clash", "FROM python:3.11\nRUN pip install dgl\n"),
    ("image.requirements-clash", "FROM python:3.11\nRUN pip install -U setuptools && pip install openmim\n"),
    ("image.requirements-clash", "FROM python:3.11\nRUN pip install easyocr==1.6.2 pillow==10.1.0\n"),
    ("image.requirements-clash", "FROM python:3.11\nRUN pip install rembg\n"),
    ("image.requirements-clash", "FROM python:3.11\nRUN pip install xformers==0.0.23 transformers torch\n"),
]

GOES_ON = [
    "ARG TAG=12.6.3\nFROM nvidia/cuda:${TAG}-runtime-ubuntu22.04\nRUN true\n",
    "FROM --platform=$BUILDPLATFORM ubuntu:22.04\nRUN true\n",
    "FROM ubuntu:22.04 AS Base\nRUN true\nFROM Base\nRUN true\n",
    f'{_JAMMY}ARG KEY=a\nRUN [ -n "$KEY" ] && make\n',
    f'{_JAMMY}ARG KEY\nRUN [ -n "$KEY" ] && make || true\n',
    f'{_JAMMY}ARG KEY\nENV KEY=a\nRUN if [ -z "$KEY" ]; then exit 1; fi\n',
    f"{_JAMMY}ARG KIND=gpu\nCOPY list.${{KIND}}.txt .\n",
    "ARG SIX=1.16\nFROM python:3.12\nARG SIX\nRUN pip install six==${SIX}\n",
    f"{_VENV}FROM python:3.11-slim\n{_COPY}",
    f"{_VENV}{_CUDA}\nCOPY --from=made /usr/local /usr/local\n{_COPY}",
    f"{_OF_APT}{_CUDA}\nRUN apt-get update && apt-get install -y python3\n{_COPY}",
    f"{_OF_APT}{_CUDA}\nRUN apt-get update && apt-get install -y software-properties-common\n{_COPY}",
    f"{_PREFIX}COPY --from=made /install/local /usr/local\n",
    f"{_PREFIX.replace('22', '20')}COPY --from=made /install /usr/local\n",
    f"{_PLACE.format('')}FROM python:3.12-slim\n{_COPY}",
    f"{_PLACE.format('-e')}FROM python:3.12-slim\nWORKDIR /build\nCOPY . .\n{_COPY}",
    f"{_FOCAL}RUN pip3 install -U pip && pip3 install 'six>=1.10' six\n",
    f"{_JAMMY}RUN pip3 install 'six>=1.10' six\n",
    f"{_XENIAL}RUN pip3 install numpy==1.18.5\n",
    "FROM python:3.11\nRUN pip install openai-whisper==20230124\n",
    f"{_CUDNN}RUN pip3 install torch faster-whisper\n",
    f"{_CUDNN}RUN pip3 install torch==2.3.1 faster-whisper 'ctranslate2<4'\n",
    "FROM python:3.11\n" + _TORCH.format("2.1.0", "0.16.0"),
    "FROM python:3.11\nRUN pip install torch==2.3.0 basicsr && sed -i s/functional_tensor/functional/ a.py\n",
    "FROM python:3.11\nRUN pip install openai==1.30.0 'httpx<0.28'\n",
    "FROM python:3.11\nRUN pip install transformers==4.46.0 peft\n",
    "FROM python:3.8\nRUN pip install tensorflow==2.5.0 protobuf==3.20.3\n",
    "FROM python:3.11\nRUN pip install dgl torch==2.4.0\n",
    "FROM python:3.11\nRUN pip install -U 'setuptools<81' && pip install openmim\n",
    "FROM python:3.11\nRUN pip install rembg[gpu]\n",
    "FROM python:3.11\nRUN pip install rembg onnxruntime\n",
    # OpenCV of a stage that is not the image: libGL comes where it is copied to
    f"{_VENV}RUN /opt/venv/bin/pip install opencv-python\nFROM python:3.11\nRUN apt-get update\n{_COPY}",
]


def _failures(text: str, matrix: Matrix) -> set[str]:
    return {one.id for one in check_dockerfile(text, Request(), matrix) if one.status is Status.FAIL}


@pytest.mark.parametrize(("fault", "text"), STOPS)
def test_stops(fault: str, text: str, matrix: Matrix) -> None:
    assert fault in _failures(text, matrix)


@pytest.mark.parametrize("text", GOES_ON)
def test_goes_on(text: str, matrix: Matrix) -> None:
    assert _failures(text, matrix) <= {"image.archive-gone", "image.python-managed"}
