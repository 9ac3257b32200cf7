"""What set j taught: each rule on its smallest file, and where it keeps silent."""

from __future__ import annotations

import pytest

from envkit.base.errors import SourceError
from envkit.base.versions import Version
from envkit.checks.engine.findings import Status
from envkit.dockerfile.check import check_dockerfile
from envkit.dockerfile.common_python import takes
from envkit.dockerfile.packages import Package, Places
from envkit.solver.request import Request
from envkit.tables import Matrix
from tests.image.told import told

JAMMY = "FROM nvidia/cuda:12.9.1-devel-ubuntu22.04\n"
PIP = f"{JAMMY}RUN apt-get update && apt-get install -y python3-pip git\n"
TORCH = "FROM pytorch/pytorch:1.10.0-cuda11.3-cudnn8-devel\n"
SNAKE = "FROM python:3.12\n"
MINICONDA = "https://repo.anaconda.com/miniconda/Miniconda3-latest-Linux-x86_64.sh"
REPOSITORY = "http://developer.download.nvidia.com/compute/cuda/repos/ubuntu1604/x86_64"
PACKAGE = "cuda-repo-ubuntu1604_9.0.176-1_amd64.deb"
TOLD = {
    "pip with nothing": ("image.word-unknown", Status.FAIL, f"{PIP}RUN pip install -U\n"),
    "a blank requirement": (
        "image.word-unknown",
        Status.FAIL,
        f'{PIP}ARG SDK\nRUN python3 -m pip install "${{SDK}}"\n',
    ),
    "three dots": ("image.word-unknown", Status.FAIL, f"{PIP}RUN pip install pandas==2.2.1 ...\n"),
    "an option of uv": (
        "image.tool-option",
        Status.FAIL,
        f"{PIP}RUN pip install six --index-strategy unsafe-best-match\n",
    ),
    "Docker's own package": (
        "image.apt-without-package",
        Status.FAIL,
        f"{JAMMY}RUN apt-get update && apt-get install -y docker-compose-plugin\n",
    ),
    "Boost's former host": (
        "image.installer-gone",
        Status.FAIL,
        f"{JAMMY}RUN curl -LO https://boostorg.jfrog.io/artifactory/main/release/1.71.0/source/boost_1_71_0.tar.gz\n",
    ),
    "Miniconda by ADD": (
        "image.glibc-too-old",
        Status.FAIL,
        f"FROM ubuntu:18.04\nADD {MINICONDA} /conda.sh\nRUN sh /conda.sh -b -p /conda\n",
    ),
    "Miniconda by ENV": (
        "image.glibc-too-old",
        Status.FAIL,
        f"FROM ubuntu:18.04\nENV URL={MINICONDA}\nRUN /root/Miniconda3-latest-Linux-x86_64.sh -b -p /conda\n",
    ),
    "the MMCV of before": (
        "image.requirements-clash",
        Status.FAIL,
        f"{SNAKE}RUN pip install mmcv-full==1.3.16\nRUN pip install mmdet\n",
    ),
    "vLLM without a bound": ("image.requirements-clash", Status.FAIL, f"{SNAKE}RUN pip install vllm==0.9.1\n"),
    "a bound that the shell takes": (
        "image.word-unknown",
        Status.WARN,
        f"{PIP}RUN pip install accelerate==0.19.0\nRUN pip install accelerate>=0.20.2\n",
    ),
    "the old key with NVIDIA's package of the repository": (
        "image.apt-key-rotated",
        Status.FAIL,
        "FROM ubuntu:xenial\n"
        f"RUN apt-key adv --fetch-keys {REPOSITORY}/7fa2af80.pub && curl -LO {REPOSITORY}/{PACKAGE}\n"
        f"RUN dpkg -i {PACKAGE}\nRUN apt update\n",
    ),
    "no python": ("image.program-missing", Status.FAIL, f'{PIP}CMD ["python", "/app.py"]\n'),
    "an index that ended": (
        "image.framework-version",
        Status.FAIL,
        f"{PIP}RUN pip install torch==2.7.1+cu124 --extra-index-url https://download.pytorch.org/whl/cu124\n",
    ),
}
SILENT = {
    "a default": ("image.word-unknown", f'{PIP}ARG SDK=six\nRUN pip install "${{SDK}}"\n'),
    "a list": ("image.word-unknown", f"{PIP}RUN pip install -U -r list.txt\n"),
    "an argument of the base": ("image.word-unknown", 'FROM $BASE\nARG SDK\nRUN pip install "${SDK}"\n'),
    "quotes": (
        "image.word-unknown",
        f"{PIP}RUN pip install accelerate==0.19.0\nRUN pip install 'accelerate>=0.20.2'\n",
    ),
    "nothing before": ("image.word-unknown", f"{PIP}RUN pip install accelerate>=0.20.2\n"),
    "python linked": ("image.program-missing", f'{PIP}RUN ln -s python3 /usr/bin/python\nCMD ["python", "/app.py"]\n'),
    "python of an environment": (
        "image.program-missing",
        f'{PIP}RUN python3 -m venv /venv\nENV PATH=/venv/bin:$PATH\nCMD ["python", "/app.py"]\n',
    ),
    "no MMCV named": ("image.requirements-clash", f"{SNAKE}RUN pip install mmdet\n"),
    "Transformers bounded": (
        "image.requirements-clash",
        f"{SNAKE}RUN pip install vllm==0.9.1 'transformers<5'\n",
    ),
    "an older JAX for an older Python": (
        "image.python-without-package",
        "FROM ubuntu:18.04\nRUN apt-get update && apt-get install -y python3-pip\nRUN pip3 install --upgrade jax\n",
    ),
}


@pytest.mark.parametrize(("id", "status", "text"), TOLD.values(), ids=TOLD)
def test_tells(id: str, status: Status, text: str, matrix: Matrix) -> None:
    assert (id, status) in told(text, matrix)


@pytest.mark.parametrize(("id", "text"), SILENT.values(), ids=SILENT)
def test_keeps_silent(id: str, text: str, matrix: Matrix) -> None:
    assert not {(id, Status.FAIL), (id, Status.WARN)} & told(text, matrix)


def test_only_arg_stands_before_from(matrix: Matrix) -> None:
    with pytest.raises(SourceError, match="line 2: ENV comes before the first FROM, where only ARG is allowed"):
        check_dockerfile("ARG A=1\nENV B=2\nFROM ubuntu:24.04\n", Request(container=True), matrix)
    check_dockerfile("ARG A=1\nFROM ubuntu:24.04\nENV B=2\n", Request(container=True), matrix)


@pytest.mark.parametrize(("spec", "taken"), [("==0.3.0.post4", True), ("==1.0.0.dev1x", True), ("==1.7.1", False)])
def test_a_release_of_torch_of_any_form_is_read(spec: str, taken: bool) -> None:
    """Of one that no build is known of, nothing is said."""
    torch = Package(1, (1,), "pip", "pip", "torch", (), spec, Places("", "", (), "", False), "", None)
    assert takes(torch, "x86_64", Version.parse("3.12")) is taken
