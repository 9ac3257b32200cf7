"""`--fix` changes what is certain to help, and leaves the rest: each kind of repair, and cases that must stay."""

from __future__ import annotations

import re

import pytest

from envkit.base.errors import SourceError
from envkit.checks.engine.findings import Status
from envkit.dockerfile.change import change_for
from envkit.dockerfile.repairs import repairs_of
from envkit.dockerfile.repairs_left import why_left
from tests.checks.software import matrix
from tests.image.repaired import assert_repaired, fixed
from tests.image.test_fix import check, errors
from tests.image.test_public import FILES

_APT = "RUN apt-get update && apt-get install -y "
_BIONIC = f"FROM ubuntu:18.04\n{_APT}python3-pip\n"
_XENIAL = f"FROM ubuntu:16.04\n{_APT}python3-pip\n"
_DEVEL = (
    f"FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\n{_APT}python3-pip git\nRUN pip install -U pip\n"
    "RUN pip install torch==2.6.0\n"
)
_MINICONDA = "https://repo.anaconda.com/miniconda/Miniconda3-latest-Linux-x86_64.sh"
_GET_MINICONDA = f"FROM ubuntu:22.04\n{_APT}wget\nRUN wget {_MINICONDA} && bash Miniconda3-latest-Linux-x86_64.sh -b"
_CONDA = "ENV PATH=/root/miniconda3/bin:$PATH\nRUN conda install -y numpy\n"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        pytest.param(
            "FROM nvidia/cuda:11.3.0-cudnn8-devel-ubuntu20.04\n",
            ("FROM nvidia/cuda:11.3.1-cudnn8-devel-ubuntu20.04\n",),
            id="the same release, though it is no longer supported",
        ),
        pytest.param(
            "FROM nvidia/cuda:11.0-base-ubuntu18.04\n",
            ("FROM nvidia/cuda:11.0.3-base-ubuntu18.04\n",),
            id="a base flavor of the same major",
        ),
        pytest.param(
            "FROM nvidia/cuda:10.0-cudnn7-devel-ubuntu18.04 AS one\n",
            (
                "FROM ubuntu:18.04 AS one\n",
                "cuda_10.0.130_410.48_linux --silent --toolkit",
                "tar -xf /tmp/cudnn-10.0-linux-x64-v7.6.5.32.tgz -C /tmp/cudnn --strip-components=1",
                "build-essential",
            ),
            id="a major of which no image is left",
        ),
        pytest.param(
            "FROM nvidia/cuda:10.2-cudnn8-runtime-ubuntu18.04\n",
            ("_cuda10.2-archive.tar.xz", "-name 'libcudnn*' -exec cp -a -t /usr/local/cuda-10.2/lib64/"),
            id="an archive of cuDNN with other folders",
        ),
        pytest.param(
            "ARG V=11.3.0\nFROM nvidia/cuda:${V}-devel-ubuntu20.04\n",
            ("ARG V=11.3.1\nFROM nvidia/cuda:${V}-devel-ubuntu20.04\n",),
            id="an argument of the image's name",
        ),
        pytest.param(
            "ARG V=11.3.0\nFROM nvidia/cuda:${V}-devel-ubuntu20.04\nARG V\nRUN echo $V\n",
            ("ARG V=11.3.0\nFROM nvidia/cuda:11.3.1-devel-ubuntu20.04\n",),
            id="not an argument that something else reads",
        ),
        pytest.param(
            f"FROM dustynv/ros:humble-ros-base-l4t-r32.7.1\n{_APT}git\n",
            ("FROM dustynv/ros:humble-ros-base-l4t-r32.7.1\nRUN curl -fsSL https://raw.githubusercontent.com/ros/",),
            id="the key of ROS, not NVIDIA's",
        ),
        pytest.param(
            f"FROM tensorflow/tensorflow:2.0.1-gpu-py3\n{_APT}git\n",
            ("RUN rm -f /etc/apt/sources.list.d/cuda.list",),
            id="NVIDIA's lists, where nothing comes from them",
        ),
        pytest.param(
            f"FROM tensorflow/tensorflow:2.0.1-gpu-py3\n{_APT}libcudnn7\n",
            ("RUN apt-key adv --fetch-keys https://developer.download.nvidia.com/compute/cuda/repos/ubuntu1804/",),
            id="NVIDIA's key, where something does",
        ),
        pytest.param(
            f"FROM debian:jessie-slim\n{_APT}git\n",
            ("deb [trusted=yes] http", 'Check-Valid-Until "false"'),
            id="an archive with keys that have expired",
        ),
        pytest.param(
            f"{_XENIAL}RUN pip3 install --upgrade pip setuptools\nRUN pip3 install six\n",
            ("RUN pip3 install --upgrade 'pip<21' && pip3 install --upgrade setuptools\n",),
            id="the last pip of a Python, and what it then chooses",
        ),
        pytest.param(
            f"{_BIONIC}RUN pip3 install opencv-python\n",
            ("RUN pip3 install --upgrade 'pip<22' && pip3 install opencv-python\n",),
            id="a pip that is too old for a package",
        ),
        pytest.param(
            f"{_DEVEL}RUN MAX_JOBS=4 pip install flash-attn==2.7.4\n",
            ("pip install ninja packaging psutil setuptools wheel && MAX_JOBS=4 pip install --no-build-isolation ",),
            id="what a build needs that fetches nothing",
        ),
        pytest.param(
            f"{_DEVEL}RUN pip install flash-attn git+https://github.com/a/b\n",
            ("--no-build-isolation flash-attn && pip install git+https://github.com/a/b\n",),
            id="a build beside a project with needs of its own",
        ),
        pytest.param(
            f"{_GET_MINICONDA}\n{_CONDA}",
            ("bash Miniforge3-Linux-x86_64.sh -b -p $HOME/miniconda3\n",),
            id="the folder of Miniconda",
        ),
        pytest.param(
            f"{_GET_MINICONDA} -p /opt/conda\n{_CONDA}".replace("/root/miniconda3", "/opt/conda"),
            ("bash Miniforge3-Linux-x86_64.sh -b -p /opt/conda\n",),
            id="a folder that is named",
        ),
        pytest.param(
            f"FROM ubuntu:22.04\n{_APT}curl\nRUN curl -LO https://github.com/conda-forge/miniforge/releases/latest/"
            "download/Mambaforge-Linux-x86_64.sh && bash Mambaforge-Linux-x86_64.sh -b\n"
            "ENV PATH=/root/mambaforge/bin:$PATH\n",
            ("bash Miniforge3-Linux-x86_64.sh -b\nENV PATH=/root/miniforge3/bin:$PATH\n",),
            id="the folder of Mambaforge",
        ),
        pytest.param(
            "FROM python:3.11\nRUN pip install poetry\nRUN poetry install --no-dev\n",
            ("RUN poetry install --only main\n",),
            id="an option under its new name",
        ),
        pytest.param(
            "FROM python:3.11\nRUN pip install pipenv\nRUN pipenv lock -r > requirements.txt\n",
            ("RUN pipenv requirements > requirements.txt\n",),
            id="a command in place of an option",
        ),
        pytest.param(
            f"{_DEVEL}RUN if true; then \\\n    pip install six \\\n    fi\n",
            ("    ; fi\n",),
            id="the end of a condition",
        ),
        pytest.param(
            f"{_DEVEL}{_APT}git-lfsRUN apt-get update\n",
            ("install -y git-lfs && apt-get update\n",),
            id="an instruction's name behind a word",
        ),
        pytest.param(
            f"FROM ubuntu:20.04\n{_APT}software-properties-common\n"
            f"RUN add-apt-repository -y ppa:deadsnakes/ppa\n{_APT}python3.10\n",
            ("FROM ubuntu:22.04\n",),
            id="a release that has the Python",
        ),
    ],
)
def test_a_certain_repair(text: str, parts: tuple[str, ...]) -> None:
    assert_repaired(text, *parts)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            f"FROM nvidia/cuda:9.0-base-ubuntu16.04\n{_APT}cuda-cublas-9-0 libcudnn7=7.1.4.18-1+cuda9.0\n",
            id="packages of the CUDA that an image had",
        ),
        pytest.param(
            "FROM nvidia/cuda:9.0-cudnn7-devel-ubuntu16.04\nRUN apt-mark hold cuda* libcudnn*\n",
            id="whatever packages of NVIDIA's an image had",
        ),
        pytest.param("FROM nvidia/cuda:10.2-base-ubuntu18.04\n", id="a base flavor of which another major is left"),
        pytest.param("FROM nvidia/cuda:8.0-devel-centos7\n", id="a system that the installer's lines are not for"),
        pytest.param(
            f"{_DEVEL}RUN pip install 'torch==1.12.1+cu116' xformers==0.0.17 "
            "--extra-index-url https://download.pytorch.org/whl/cu116\n",
            id="a release without a wheel for the Pythons of torch",
        ),
        pytest.param(
            f"{_XENIAL}RUN pip3 install --upgrade 'pip<21' && pip3 install tensorflow-gpu\n",
            id="a Python without a TensorFlow that brings CUDA",
        ),
        pytest.param(
            f"FROM ubuntu:18.04\n{_APT}software-properties-common\nRUN add-apt-repository -y ppa:deadsnakes/ppa\n"
            f"{_APT}python3.5\n",
            id="a Python that no release of today has",
        ),
        pytest.param(
            f"{_DEVEL.replace('torch==2.6.0', 'six')}RUN pip install flash-attn\n",
            id="a build before any torch",
        ),
    ],
)
def test_what_is_not_certain_stays(text: str) -> None:
    assert errors(text)
    assert fixed(text) == text


def test_why_a_base_flavor_stays_is_told() -> None:
    gone = "FROM nvidia/cuda:{}\n"
    [left] = check(gone.format("10.2-base-ubuntu18.04"))
    assert why_left(left).startswith("no tag of the same major CUDA is left")
    [other] = [one for one in check(gone.format("8.0-devel-centos7")) if one.status is Status.FAIL]
    assert why_left(other).startswith("nothing else is certain")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param(
            "ARG CUDA=10.0\nARG CUDNN=7\nFROM nvidia/cuda:${CUDA}-cudnn${CUDNN}-runtime-ubuntu16.04\n",
            "ARG CUDA, CUDNN no longer choose the base image",
            id="both of an image",
        ),
        pytest.param(
            "ARG V=11.3.0\nFROM nvidia/cuda:${V}-devel-ubuntu20.04\nARG V\nRUN echo $V\n",
            "ARG V no longer chooses the base image",
            id="one that is read elsewhere",
        ),
        pytest.param("ARG V=11.3.0\nFROM nvidia/cuda:${V}-devel-ubuntu20.04\n", "", id="one that has another default"),
        pytest.param("ARG V=1\nFROM nvidia/cuda:11.3.0-devel-ubuntu20.04\n", "", id="one that never named the image"),
    ],
)
def test_an_argument_that_chooses_nothing_any_more_is_told(text: str, told: str) -> None:
    change = change_for(text, check(text), check, matrix())
    assert change is not None
    assert [one for one in change.told if one.startswith("ARG ")] == ([told] if told else [])


def test_repositories_that_packages_bring_get_the_archive_as_well() -> None:
    text = "FROM centos:7\nRUN yum install -y centos-release-scl\nRUN yum install -y devtoolset-7\n"
    changed = fixed(text).splitlines()
    assert [line.startswith("RUN sed") for line in changed] == [False, True, False, True, False]
    together = "FROM centos:7\nRUN yum install -y centos-release-scl && yum install -y devtoolset-7\n"
    assert fixed(together) == together


@pytest.mark.thorough
def test_the_remedy_and_the_repair_name_the_same_image() -> None:
    """In every public file whose base is gone: the first repair has the image that the text of the finding names."""
    compared = 0
    for file in FILES.values():
        try:
            findings = check(file.text)
        except SourceError:
            continue
        for finding in findings:
            told = finding.remedy.advice if finding.remedy is not None else ""
            named = re.match(r"Use (nvidia/cuda:\S+),", told)
            if finding.id != "image.base-gone" or named is None:
                continue
            first = next(repairs_of(file.text, finding, matrix()), None)
            assert first is None or first.told.endswith(f" with {named[1]}"), (file.name, told, first.told)
            compared += first is not None
    assert compared > 40


@pytest.mark.thorough
def test_each_fault_that_is_left_has_its_reason_in_one_line() -> None:
    said = 0
    for file in list(FILES.values())[::7]:
        try:
            findings = [one for one in check(file.text) if one.status is Status.FAIL]
        except SourceError:
            continue
        for finding in findings:
            why = why_left(finding)
            assert why.partition(" ")[0].islower() and "\n" not in why and not why.endswith(":")
            said += 1
    assert said > 50


def test_each_stage_of_an_image_that_is_gone_is_repaired() -> None:
    """What one repair writes does not look like packages of NVIDIA's to the next."""
    gone = "nvidia/cuda:10.2-cudnn7-{}-ubuntu18.04"
    changed = fixed(f"FROM {gone.format('devel')} AS one\nFROM {gone.format('runtime')}\nCOPY --from=one /a /a\n")
    assert errors(changed) == [] and changed.count("FROM ubuntu:18.04") == 2
