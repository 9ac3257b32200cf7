"""`--fix` on modules of Python that apt has under another name: taken from apt only where its Python is the image's."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Status
from envkit.dockerfile.repairs_left import why_left
from tests.image.repaired import fixed
from tests.image.test_fix import check, errors

_APT = "RUN apt-get update && apt-get install -y "
_JAMMY = "FROM ubuntu:22.04\n"
_CONDA = "FROM pytorch/pytorch:2.1.2-cuda12.1-cudnn8-devel\n"


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        pytest.param(
            f"{_JAMMY}{_APT}git opencv-python\n", f"{_JAMMY}{_APT}git python3-opencv\n", id="a plain distribution"
        ),
        pytest.param(
            f"{_CONDA}{_APT}git h5py vim\nRUN pip install h5py==3.10.0\n",
            f"{_CONDA}{_APT}git vim\nRUN pip install h5py==3.10.0\n",
            id="pip installs it as well",
        ),
        pytest.param(
            f"{_CONDA}{_APT}\\\n    git \\\n    opencv-python-headless\nRUN pip install opencv-python-headless\n",
            f"{_CONDA}{_APT}\\\n    git\nRUN pip install opencv-python-headless\n",
            id="on a line of its own",
        ),
        pytest.param(
            f"{_CONDA}{_APT}opencv-python-headless\nRUN pip install opencv-python-headless\n",
            f"{_CONDA}RUN pip install opencv-python-headless\n",
            id="nothing else in the instruction",
        ),
    ],
)
def test_a_module_goes_where_it_is_found(text: str, becomes: str) -> None:
    assert errors(text)
    assert fixed(text) == becomes


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"{_CONDA}{_APT}git opencv-python\n", id="an image with conda"),
        pytest.param(
            f"FROM nvcr.io/nvidia/l4t-ml:r32.6.1-py3\n{_APT}vim opencv-python\n",
            id="an image with an OpenCV of its own",
        ),
        pytest.param(f"FROM python:3.11\n{_APT}git opencv-python\n", id="an image of Python"),
    ],
)
def test_a_module_for_another_python_is_left(text: str) -> None:
    [left] = [one for one in check(text) if one.status is Status.FAIL]
    assert fixed(text) == text
    assert why_left(left).startswith("modules from apt are for the distribution's Python")


def test_a_tool_of_python_is_no_module() -> None:
    text = f"FROM python:3.11\n{_APT}pip3\n"
    assert fixed(text) == text.replace("pip3", "python3-pip")
