"""A package that imports torch while pip builds it needs torch before; where torch may be there, nothing is said."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Status
from envkit.dockerfile.check import check_dockerfile
from envkit.solver.request import Request
from envkit.tables import Matrix

CUDA = "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nRUN apt-get update && apt-get install -y git python3-pip\n"
MISSING = {
    "beside it": f"{CUDA}RUN pip install torch==2.5.1 flash-attn==2.7.4.post1",
    "beside it, without isolation": f"{CUDA}RUN pip install torch flash-attn --no-build-isolation",
    "before it": f"{CUDA}RUN pip install flash-attn --no-build-isolation && pip install torch",
    "with tools alone": f"{CUDA}RUN pip install -U pip && pip install ninja\nRUN pip install flash-attn torch",
    "in an image of Python": "FROM python:3.12\nRUN pip install flash-attn torch",
}
MAYBE = {
    "installed before": f"{CUDA}RUN pip install torch\nRUN pip install flash-attn --no-build-isolation",
    "brought by another package": f"{CUDA}RUN pip install accelerate\nRUN pip install flash-attn --no-build-isolation",
    "in a list": f"{CUDA}RUN pip install -r a.txt\nRUN pip install flash-attn --no-build-isolation",
    "by a script": f"{CUDA}COPY a.sh /\nRUN ./a.sh\nRUN pip install flash-attn --no-build-isolation",
    "in some cases": f"{CUDA}RUN if a; then pip install torch; fi\nRUN pip install flash-attn --no-build-isolation",
    "in the base": "FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-devel\nRUN pip install flash-attn",
    "in an unknown base": "FROM example/base:1\nRUN pip install flash-attn torch",
    "in the stage below": f"{CUDA.replace('22.04', '22.04 AS a', 1)}RUN pip install torch\nFROM a\nRUN pip install "
    "flash-attn --no-build-isolation",
    "copied": f"FROM a/b AS b\n{CUDA}COPY --from=b /x /usr/local/lib\nRUN pip install flash-attn --no-build-isolation",
    "a wheel": f"{CUDA}RUN pip install torch https://mirror.example/flash_attn-2.7.4-cp310-cp310-linux_x86_64.whl",
    "wheels of another place": f"{CUDA}RUN pip install torch flash-attn -f https://mirror.example/wheels",
    "wheels that ENV names": f"{CUDA}ENV PIP_FIND_LINKS=https://mirror.example\nRUN pip install torch flash-attn",
    "failure is fine": f"{CUDA}RUN pip install flash-attn torch || true",
}


def found(text: str, matrix: Matrix) -> list[str]:
    told = check_dockerfile(f"{text}\n", Request(container=True), matrix)
    return [one.id for one in told if one.status is Status.FAIL and one.id == "image.torch-hidden"]


@pytest.mark.parametrize("name", MISSING)
def test_torch_is_missing(name: str, matrix: Matrix) -> None:
    assert found(MISSING[name], matrix) == ["image.torch-hidden"]


@pytest.mark.parametrize("name", MAYBE)
def test_torch_may_be_there(name: str, matrix: Matrix) -> None:
    assert not found(MAYBE[name], matrix)
