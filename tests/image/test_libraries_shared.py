"""Frameworks in one image whose packages of CUDA libraries exclude each other, by the relation of `envkit check`."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Status
from envkit.dockerfile.check import check_dockerfile
from envkit.solver.request import Request
from envkit.tables import Matrix

BASE = (
    "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y python3-pip python3-venv\n"
)
JAX, TENSORFLOW = '"jax[cuda12]==0.4.30"', '"tensorflow[and-cuda]==2.16.1"'
NOTHING = {
    "no extra of one": f"{BASE}RUN pip install {JAX} tensorflow==2.16.1",
    "one is not pinned": f'{BASE}RUN pip install {JAX} "tensorflow[and-cuda]"',
    "releases that share cuDNN": f'{BASE}RUN pip install "jax[cuda12]==0.4.28" {TENSORFLOW}',
    "without dependencies": f"{BASE}RUN pip install {JAX}\nRUN pip install --no-deps {TENSORFLOW}",
    "a release that is replaced": f'{BASE}RUN pip install {JAX}\nRUN pip install "jax[cuda12]==0.4.28"\n'
    f"RUN pip install {TENSORFLOW}",
    "in two stages": f"{BASE.replace('.04', '.04 AS a', 1)}RUN pip install {JAX}\n{BASE}"
    f"COPY --from=a /x /x\nRUN pip install {TENSORFLOW}",
    "in two environments": f"{BASE}RUN python3 -m venv /a && /a/bin/pip install {JAX}\n"
    f"RUN python3 -m venv /b && /b/bin/pip install {TENSORFLOW}",
}


def _told(text: str, matrix: Matrix) -> list[tuple[Status, str]]:
    found = check_dockerfile(f"{text}\n", Request(container=True), matrix)
    return [(one.status, one.title) for one in found if one.id == "image.requirements-clash"]


@pytest.mark.parametrize(
    ("runs", "status"),
    [
        (f"RUN pip install {JAX} {TENSORFLOW}", Status.FAIL),
        (f"RUN pip install {JAX}\nRUN pip install {TENSORFLOW}", Status.WARN),
        (f"RUN pip install {TENSORFLOW}\nRUN pip install {JAX}", Status.WARN),
        ('RUN pip install torch==2.4.0 "jax[cuda12]==0.4.28"', Status.FAIL),
    ],
)
def test_libraries_that_exclude_each_other_are_told(runs: str, status: Status, matrix: Matrix) -> None:
    told = _told(f"{BASE}{runs}", matrix)
    assert [one[0] for one in told] == [status] and "nvidia-cudnn-cu12" in told[0][1]


@pytest.mark.parametrize("name", NOTHING)
def test_nothing_is_said_where_one_environment_need_not_hold_both(name: str, matrix: Matrix) -> None:
    assert not [title for _, title in _told(NOTHING[name], matrix) if "nvidia-" in title]
