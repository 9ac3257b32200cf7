"""A build that needs package lists or a GPU that it certainly has not stops; whatever may go well stays silent."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Status
from envkit.dockerfile.check import check_dockerfile
from envkit.solver.request import Request
from envkit.tables import Matrix

CUDA = "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\n"
TORCH = "FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime\n"
ASSERT = 'python3 -c "import torch; assert torch.cuda.is_available()"'
LISTS = {
    "updated in the same RUN": f"{CUDA}RUN apt-get update && apt-get install -y git",
    "updated with variables before": f"{CUDA}RUN A=1 B=2 apt-get -q update && apt-get install -y git",
    "updated by sudo": f"{CUDA}RUN sudo apt update; sudo apt install -y git",
    "updated in an earlier RUN": f"{CUDA}RUN apt-get update\nRUN echo a\nRUN apt-get install -y git",
    "updated in the stage below": f"{CUDA.strip()} AS a\nRUN apt update\nFROM a\nRUN apt install -y git",
    "updated in some cases": f"{CUDA}RUN if true; then apt-get update; fi\nRUN apt-get install -y git",
    "updated in a shell": f"{CUDA}RUN bash -c 'apt-get update'\nRUN apt-get install -y git",
    "updated by a script": f"{CUDA}COPY a.sh /\nRUN ./a.sh\nRUN apt-get install -y git",
    "updated by what adds a source": f"{CUDA}RUN add-apt-repository -y ppa:a/b\nRUN apt-get install -y git",
    "updated by an option": f"{CUDA}RUN apt install --update -y git",
    "only archives removed": f"{CUDA}RUN apt-get update && apt-get clean\nRUN apt-get install -y git",
    "lists in a cache": f"{CUDA}RUN --mount=type=cache,target=/var/lib/apt apt-get install -y git",
    "a file": f"{CUDA}COPY a.deb /\nRUN apt-get install -y ./a.deb /b.deb",
    "what the image has": f"{CUDA}RUN apt-get install -y build-essential ca-certificates",
    "failure is fine": f"{CUDA}RUN apt-get install -y git || true",
    "failure is hidden": f"{CUDA}RUN apt-get install -y git; true",
    "another base": "FROM example/base:1\nRUN apt-get install -y git",
    "lists removed in some cases": f"{CUDA}RUN apt-get update\nRUN if a; then rm -rf /var/lib/apt/lists/*; fi\n"
    "RUN apt-get install -y git",
}
NO_LISTS = {
    "none": f"{CUDA}RUN apt install -y git",
    "none before sudo": "FROM ubuntu:22.04\nRUN apt-get install -y sudo cmake",
    "none in a strict script": "FROM debian:12\nRUN set -ex; apt-get install -y git; git --version",
    "removed": f"{CUDA}RUN apt-get update && rm -rf /var/lib/apt/lists/*\nRUN apt-get install -y git",
    "removed after a script": f"{CUDA}RUN ./a.sh && rm -r /var/lib/apt/lists\nRUN apt-get install -y git",
    "updated too late": f"{CUDA}RUN apt-get install -y git && apt-get update",
}
GPU = {
    "failure is fine": f"{TORCH}RUN {ASSERT} || true\nRUN nvidia-smi || echo none",
    "failure is hidden": f"{TORCH}RUN {ASSERT}; echo done\nRUN nvidia-smi | head",
    "a chain whose failure is fine": f"{TORCH}RUN {ASSERT} && echo a || echo b",
    "asked by if": f"{TORCH}RUN if {ASSERT}; then echo a; fi\nRUN if nvidia-smi; then echo a; fi",
    "the opposite": f"{TORCH}RUN ! nvidia-smi",
    "printed": f'{TORCH}RUN python3 -c "import torch; print(torch.cuda.is_available())"',
    "another assertion": f'{TORCH}RUN python3 -c "import torch; assert torch.version.cuda"',
    "asserted not to be": f'{TORCH}RUN python3 -c "import torch; assert not torch.cuda.is_available()"',
    "asserted in some cases": f"{TORCH}RUN python3 -c 'if a: assert torch.cuda.is_available()'",
    "either": f'{TORCH}RUN python3 -c "import torch; assert torch.cuda.is_available() or True"',
    "when it runs": f"{TORCH}CMD nvidia-smi\nHEALTHCHECK CMD nvidia-smi",
    "handed over": f"{TORCH}RUN --device=nvidia.com/gpu=all nvidia-smi",
    "a Jetson's image": "FROM nvcr.io/nvidia/l4t-pytorch:r35.1.0-pth1.11-py3\nRUN " + ASSERT,
    "looked for": f"{TORCH}RUN which nvidia-smi || true\nRUN echo nvidia-smi",
    "a stand-in": f"{TORCH}COPY fake /usr/bin/nvidia-smi\nRUN nvidia-smi",
    "a module without parameters": f'{TORCH}RUN python3 -c "import torch; torch.nn.ReLU().cuda()"',
    "on the CPU": f"{TORCH}RUN python3 -c \"import torch; torch.zeros(1).to('cpu')\"",
    "only named": f"{TORCH}RUN python3 -c \"import torch; torch.device('cuda')\"",
    "printed as text": f"{TORCH}RUN python3 -c \"print('torch.zeros(1).cuda()')\"",
    "used where there is one": f"{TORCH}RUN python3 -c 'import torch; "
    "torch.cuda.is_available() and torch.rand(1).cuda()'",
    "chosen": f'{TORCH}RUN python3 -c "import torch; '
    "torch.rand(1, device='cuda' if torch.cuda.is_available() else 'cpu')\"",
    "left before": f"{TORCH}RUN python3 -c 'import sys, torch; "
    "torch.cuda.is_available() or sys.exit(); torch.rand(1).cuda()'",
    "in a function": f"{TORCH}RUN python3 -c 'import torch; f = lambda: torch.rand(1).cuda()'",
    "another torch": f"{TORCH}RUN python3 -c 'from mine import torch; torch.rand(1).cuda()'",
    "any device of JAX": f"{TORCH}RUN python3 -c \"import jax; print(jax.devices(), jax.devices('cpu'))\"",
    "use that may fail": f"{TORCH}RUN python3 -c 'import torch; torch.rand(1).cuda()' || true",
    "a stage left out": f"FROM ubuntu:22.04 AS a\nRUN nvidia-smi\n{TORCH}RUN pip list",
}
NO_GPU = {
    "asserted": f"{TORCH}RUN {ASSERT}",
    "asserted with words": f"{TORCH}RUN python -c 'import torch; assert torch.cuda.is_available(), \"no GPU\"'",
    "asserted with more": f"{TORCH}RUN python -c 'import torch; assert 1 and torch.cuda.is_available()'",
    "counted": f"{TORCH}RUN pip list && python -c 'import torch; assert torch.cuda.device_count() > 0'",
    "TensorFlow": "FROM tensorflow/tensorflow:2.15.0-gpu\n"
    "RUN python -c \"import tensorflow as tf; assert tf.config.list_physical_devices('GPU')\"",
    "moved": f'{TORCH}RUN python3 -c "import torch; torch.zeros(1).cuda()"',
    "moved by name": f"{TORCH}RUN python3 -c \"import torch as t; x = t.rand(2); print(x.half().to('cuda:0'))\"",
    "moved by a device": f"{TORCH}RUN python3 -c \"import torch; torch.ones(3).to(device=torch.device('cuda'))\"",
    "made there": f"{TORCH}RUN python3 -c \"import torch; x = torch.ones(3, device='cuda')\"",
    "asked for its name": f'{TORCH}RUN python3 -c "import torch; print(torch.cuda.get_device_name(0))"',
    "JAX": "FROM python:3.11\nRUN python -c \"import jax; assert jax.devices('gpu')\"",
    "JAX by keyword": "FROM python:3.11\nRUN python -c \"import jax; print(len(jax.devices(backend='cuda')))\"",
    "the backend of JAX": "FROM python:3.11\nRUN python -c \"import jax; assert jax.default_backend() == 'gpu'\"",
    "exec form": f'{TORCH}RUN ["nvidia-smi", "-L"]',
    "any base": "FROM python:3.12\nRUN nvidia-smi",
}


def found(text: str, matrix: Matrix) -> set[str]:
    return {
        one.id for one in check_dockerfile(f"{text}\n", Request(container=True), matrix) if one.status is Status.FAIL
    }


@pytest.mark.parametrize("name", LISTS)
def test_lists_may_be_there(name: str, matrix: Matrix) -> None:
    assert "image.apt-lists-missing" not in found(LISTS[name], matrix)


@pytest.mark.parametrize("name", NO_LISTS)
def test_lists_are_missing(name: str, matrix: Matrix) -> None:
    assert "image.apt-lists-missing" in found(NO_LISTS[name], matrix)


@pytest.mark.parametrize("name", GPU)
def test_no_gpu_is_needed(name: str, matrix: Matrix) -> None:
    assert "image.gpu-at-build" not in found(GPU[name], matrix)


@pytest.mark.parametrize("name", NO_GPU)
def test_a_gpu_is_needed(name: str, matrix: Matrix) -> None:
    assert "image.gpu-at-build" in found(NO_GPU[name], matrix)
