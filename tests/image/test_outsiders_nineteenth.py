"""Findings of a customer's look at `--check`: reasons that were not so, and faults that only the resolver told."""

from __future__ import annotations

import pytest

from envkit.base.versions import ComputeCapability
from envkit.checks.engine.findings import Finding, Status
from envkit.compat.numpy_bound import numpy_meets
from envkit.dockerfile.check import check_dockerfile
from envkit.solver.request import Request, TargetGpu
from envkit.tables import Matrix
from tests.image.told import failures, told

UNBOUNDED = ("image.numpy-unbounded", Status.WARN)
WITH_NUMPY_2 = ("image.numpy-unbounded", Status.FAIL)
OLD_PIP = "FROM ubuntu:18.04\nRUN apt-get update && apt-get install -y python3-pip\n"
NO_FILE = "The build stops with: No matching distribution found."


def _faults(text: str, matrix: Matrix, *gpus: str) -> list[Finding]:
    targets = tuple(TargetGpu(ComputeCapability.parse(one)) for one in gpus)
    found = check_dockerfile(text, Request(gpus=targets, container=True), matrix)
    return [one for one in found if one.status is Status.FAIL]


@pytest.mark.parametrize(
    ("python", "package", "unbounded"),
    [
        ("3.8", "tensorflow==2.3.0", False),  # its metadata: numpy<1.19.0,>=1.16.0
        ("3.8", "tensorflow==2.2.3", False),
        ("3.8", "tensorflow==2.2.0", True),  # people found out that it needs an older one than its metadata say
        ("3.8", "mxnet-cu112==1.9.1", True),
        ("3.8", "tensorflow==2.8.0", True),
        ("3.10", "tensorflow==2.10.0", True),
    ],
)
def test_a_bound_of_the_metadata_holds_pip(python: str, package: str, unbounded: bool, matrix: Matrix) -> None:
    found = told(f"FROM python:{python}-slim\nRUN pip install {package}\n", matrix)
    assert (UNBOUNDED in found or WITH_NUMPY_2 in found) is unbounded


def test_a_bound_that_is_written_out_is_one_of_the_metadata(matrix: Matrix) -> None:
    """Whatever issue the row cites for something else."""
    for build in (build for name in ("tensorflow", "mxnet") for build in matrix.builds(name) if build.numpy):
        last = (build.numpy or "").rpartition("<")[2]
        if last.lstrip("=").count(".") == 2:
            verdict = numpy_meets(build, None, None, ["an issue (#1)"])
            assert verdict is None, build.named


@pytest.mark.parametrize(
    ("python", "package", "because"),
    [
        ("3.8", "tensorflow==2.15.0", "has no wheel for Python 3.8, only for"),
        ("3.12", "tensorflow[and-cuda]==2.15.0", "has no wheel for Python 3.12, only for"),
        ("3.12", "tensorflow[and-cuda]==2.14.1", "has no wheel for Python 3.12, only for"),
        ("3.11", "tensorflow[and-cuda]==2.14.1", "its extra and-cuda requires tensorrt 8.5.3.1"),
        ("3.11", "tensorflow[and-cuda]==2.15.0", "its extra and-cuda requires tensorrt-libs 8.6.1"),
    ],
)
def test_an_extra_is_the_reason_only_where_the_release_has_a_wheel(
    python: str, package: str, because: str, matrix: Matrix
) -> None:
    titles = [one.title for one in _faults(f"FROM python:{python}\nRUN pip install '{package}'\n", matrix)]
    assert any(because in title for title in titles), titles
    assert because.startswith("its extra") or not any("its extra" in title for title in titles)


@pytest.mark.parametrize(("python", "package"), [("3.11", "tensorflow==2.15.0"), ("3.11", "tensorflow==2.14.1")])
def test_an_extra_that_is_not_asked_for_is_no_reason(python: str, package: str, matrix: Matrix) -> None:
    found = _faults(f"FROM python:{python}\nRUN pip install {package}\n", matrix)
    assert not any("its extra" in one.title for one in found)


@pytest.mark.parametrize(
    ("python", "package", "gpu"),
    [
        ("3.7", "torch==1.1.0", "12.0"),
        ("3.7", "torch==1.1.0", "8.0"),
        ("3.6", "torch==1.4.0", "12.0"),
        ("3.6", "torch==1.4.0", "8.6"),
    ],
)
def test_ptx_does_not_help_cuda_libraries_older_than_the_gpu(
    python: str, package: str, gpu: str, matrix: Matrix
) -> None:
    (found,) = _faults(f"FROM python:{python}\nRUN pip install {package}\n", matrix, gpu)
    assert found.id == "image.gpu-unknown-to-cuda" and found.subject == f"line 2: {package}"


@pytest.mark.parametrize(
    ("python", "package", "gpu"),
    [
        ("3.7", "torch==1.1.0", "7.0"),
        ("3.7", "torch==1.4.0", "7.5"),
        ("3.9", "torch==1.10.2+cu113 -f https://download.pytorch.org/whl/cu113/torch_stable.html", "8.6"),
        ("3.12", "torch==2.7.1 --index-url https://download.pytorch.org/whl/cu128", "12.0"),
        ("3.12", "torch==2.4.1", "8.9"),
    ],
)
def test_cuda_libraries_of_the_gpus_time_serve_it(python: str, package: str, gpu: str, matrix: Matrix) -> None:
    assert not {"image.gpu-unknown-to-cuda", "image.gpu-without-code"} & {
        one.id for one in _faults(f"FROM python:{python}\nRUN pip install {package}\n", matrix, gpu)
    }


@pytest.mark.parametrize(
    "text",
    [
        OLD_PIP + "RUN pip3 install tensorflow==2.3.0\n",
        OLD_PIP + "RUN pip3 install 'tensorflow-gpu>=2,<2.5' opencv-python\n",
        OLD_PIP + "RUN python3 -m pip install tensorflow-cpu==2.4.1\n",
        OLD_PIP.replace("ubuntu:18.04", "debian:10") + "RUN pip3 install tensorflow==2.4.0\n",
    ],
)
def test_an_old_pip_takes_no_newer_kind_of_wheel(text: str, matrix: Matrix) -> None:
    found = [one for one in _faults(text, matrix) if one.id == "image.package-refuses"]
    assert [one.impact for one in found] == [NO_FILE] and "manylinux2010" in found[0].title


@pytest.mark.parametrize(
    "text",
    [
        OLD_PIP + "RUN pip3 install tensorflow==1.14.0\n",  # manylinux1
        OLD_PIP + "RUN pip3 install tensorflow\n",  # the newest that this pip takes, 1.14
        OLD_PIP + "RUN pip3 install 'tensorflow>=1.12,<2.4'\n",
        OLD_PIP + "RUN pip3 install --upgrade pip\nRUN pip3 install tensorflow==2.3.0\n",
        OLD_PIP + "RUN pip3 install pip==21.3.1\nRUN pip3 install tensorflow==2.3.0\n",
        OLD_PIP + "RUN pip3 install --extra-index-url https://mirror.example/simple tensorflow==2.3.0\n",
        OLD_PIP + "RUN python3 -m venv /env && /env/bin/pip install tensorflow==2.3.0\n",
        OLD_PIP + "RUN pip3 install tensorflow==2.8.0\n",  # not for Python 3.6 at all, which is another finding
        OLD_PIP.replace("18.04", "20.04") + "RUN pip3 install tensorflow==2.10.0\n",  # pip 20.0.2 takes manylinux2014
        "FROM python:3.6\nRUN pip install tensorflow==2.3.0\n",
    ],
)
def test_a_pip_that_takes_the_wheel_is_not_too_old(text: str, matrix: Matrix) -> None:
    assert "image.package-refuses" not in failures(text, matrix)


@pytest.mark.parametrize(
    ("commands", "missing"),
    [
        (["tensorflow[and-cuda]==2.15.1 tensorflow==2.15.*", "tensorflow==2.15.1"], False),
        (["jax[cuda12]==0.6.1", "jax[cuda12-local]==0.6.1"], False),
        (["jax[cuda12-local]==0.6.1"], True),
        (["tensorflow[and-cuda]==2.15.1", "tensorflow==2.16.1"], True),
        (["tensorflow==2.15.1"], True),
    ],
)
def test_what_an_earlier_command_has_installed_with_cuda_stays(
    commands: list[str], missing: bool, matrix: Matrix
) -> None:
    runs = "".join(f"RUN pip3 install {command}\n" for command in commands)
    base = "FROM nvidia/cuda:12.2.2-base-ubuntu22.04\nRUN apt-get update && apt-get install -y python3-pip\n"
    assert ("image.cuda-missing" in failures(base + runs, matrix)) is missing
