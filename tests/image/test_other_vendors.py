"""What pip takes for CUDA in an image for GPUs of another vendor."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Status
from envkit.dockerfile.check import check_dockerfile
from envkit.solver.request import Request
from envkit.tables import Matrix

ROCM = "FROM rocm/pytorch:rocm6.1_ubuntu22.04_py3.10_pytorch_2.1.2\n"
LATEST = "FROM rocm/pytorch:latest\n"
DEV = "FROM rocm/dev-ubuntu-22.04:6.1\n"
CERTAIN = {
    "another torch": f"{ROCM}RUN pip install torch==2.3.0",
    "a bound that the image's does not meet": f"{ROCM}RUN pip3 install 'torch>=2.2'",
    "vLLM": f"{ROCM}RUN pip install vllm",
    "xFormers over an image whose release is not told": f"{LATEST}RUN pip install xformers",
    "an old bitsandbytes": f"{ROCM}RUN pip install bitsandbytes==0.43.0",
    "PyTorch where there is none": f"{DEV}RUN apt-get update && apt-get install -y python3-pip && pip install torch",
    "CuPy": f"{ROCM}RUN pip install cupy-cuda12x",
}
PERHAPS = {
    "a release that the image may have": f"{LATEST}RUN pip install torch==2.3.0",
    "the newest, if it is newer": f"{ROCM}RUN pip install -U torch",
    "an environment of its own": f"{ROCM}RUN python -m venv /v && /v/bin/pip install torch==2.3.0",
}
NOTHING = {
    "what the image has": f"{ROCM}RUN pip install torch",
    "its very release": f"{ROCM}RUN pip install torch==2.1.2",
    "a bound that it meets": f"{ROCM}RUN pip install 'torch>=2.0'",
    "whatever the image has": f"{LATEST}RUN pip install torch",
    "packages that use what is there": f"{ROCM}RUN pip install transformers accelerate",
    "the index for ROCm": f"{ROCM}RUN pip install torch==2.3.0 --index-url https://download.pytorch.org/whl/rocm6.0",
    "the index for ROCm in the environment": f"{ROCM}ENV PIP_INDEX_URL=https://download.pytorch.org/whl/rocm6.0\n"
    "RUN pip install torch==2.3.0",
    "a build for ROCm by its suffix": f"{ROCM}RUN pip install torch==2.3.0+rocm6.0",
    "a bitsandbytes with ROCm": f"{ROCM}RUN pip install bitsandbytes",
    "an image with CUDA": "FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime\nRUN pip install vllm",
    "what is patched afterwards": f"{ROCM}RUN pip install xformers==0.0.23 --no-deps && sh patch_xformers.sh",
    "only in some cases": f'{ROCM}ARG A\nRUN if [ -n "$A" ]; then pip install vllm; fi',
}


def _told(text: str, matrix: Matrix) -> list[Status]:
    found = check_dockerfile(f"{text}\n", Request(container=True), matrix)
    return [one.status for one in found if one.id == "image.other-vendor"]


@pytest.mark.parametrize("name", CERTAIN)
def test_a_package_for_cuda_is_an_error_in_an_image_for_another_vendor(name: str, matrix: Matrix) -> None:
    assert _told(CERTAIN[name], matrix) == [Status.FAIL]


@pytest.mark.parametrize("name", PERHAPS)
def test_it_is_a_warning_where_it_may_not_replace_the_build_of_the_image(name: str, matrix: Matrix) -> None:
    assert _told(PERHAPS[name], matrix) == [Status.WARN]


@pytest.mark.parametrize("name", NOTHING)
def test_nothing_is_said_of_what_leaves_the_build_of_the_image(name: str, matrix: Matrix) -> None:
    assert not _told(NOTHING[name], matrix)


def test_each_package_is_told_once(matrix: Matrix) -> None:
    text = f"{ROCM}RUN pip install vllm\nRUN pip install bitsandbytes==0.43.0 xformers\nRUN pip install vllm"
    assert _told(text, matrix) == [Status.FAIL] * 3
