"""A pinned framework that conda has for older Pythons than that of its own environment."""

from __future__ import annotations

import pytest

from envkit.dockerfile.check import check_dockerfile
from envkit.solver.request import Request
from envkit.tables import Matrix

FORGE = "FROM condaforge/miniforge3:latest\n"
OLD = "pytorch==1.12.1 torchvision cudatoolkit=11.6 -c pytorch"
STOPS = (
    f"{FORGE}RUN conda install -y {OLD}",
    f"FROM condaforge/miniforge3\nRUN mamba install -y {OLD}",
    "FROM continuumio/miniconda3\nRUN conda install -y pytorch=1.12.1 -c pytorch",
)
BUILDS = (
    f"{FORGE}RUN conda install -y python=3.10 {OLD}",
    f"{FORGE}RUN conda install -y python=3.10\nRUN conda install -y {OLD}",
    f"{FORGE}RUN conda create -n a python=3.10 && conda install -n a -y {OLD}",
    f"{FORGE}RUN conda install -y -p /opt/a {OLD}",
    f"{FORGE}RUN conda install -y pytorch==2.5.1 -c pytorch",
    f"{FORGE}RUN conda install -y pytorch -c pytorch",
    f"FROM condaforge/miniforge3:4.12.0-0\nRUN conda install -y {OLD}",
    f"{FORGE}COPY a.yml .\nRUN conda env update -n base -f a.yml\nRUN conda install -y {OLD}",
)


def _told(text: str, matrix: Matrix) -> list[str]:
    found = check_dockerfile(f"{text}\n", Request(container=True), matrix)
    return [one.title for one in found if one.id == "image.python-without-package"]


@pytest.mark.parametrize("text", STOPS)
def test_conda_keeps_its_python(text: str, matrix: Matrix) -> None:
    assert len(_told(text, matrix)) == 1


@pytest.mark.parametrize("text", BUILDS)
def test_another_python_or_a_newer_release_is_no_fault(text: str, matrix: Matrix) -> None:
    assert not _told(text, matrix)
