"""A pinned framework that the newest release of another package replaces, and what leaves it alone."""

from __future__ import annotations

import pytest

from envkit.dockerfile.check import check_dockerfile
from envkit.solver.request import Request
from envkit.tables import Matrix

_BASE = "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y python3-pip\n"
_PIN = f"{_BASE}RUN pip install torch==2.1.0 'numpy<2'\n"
_LATER = "RUN pip install whisperx\n"


def _clashes(text: str, matrix: Matrix) -> list[str]:
    found = check_dockerfile(text, Request(container=True), matrix)
    return [
        f"{one.status.value} {one.subject.partition(':')[0]}" for one in found if one.id == "image.requirements-clash"
    ]


def test_the_newest_release_replaces_what_an_earlier_command_pins(matrix: Matrix) -> None:
    assert _clashes(_PIN + _LATER, matrix) == ["warn line 4"]


@pytest.mark.parametrize(
    "text",
    [
        f"{_BASE}RUN pip install torch==2.1.0 'numpy<2' whisperx\n",  # pip goes back to an older release
        f"{_BASE}{_LATER}RUN pip install torch==2.8.0\n",
        f"{_BASE}RUN pip install torch==2.8.0\n{_LATER}",
        f"{_PIN}RUN pip install whisperx==3.1.1\n",
        f"{_PIN}RUN pip install --no-deps whisperx\n",
        f"{_PIN}RUN /opt/other/bin/pip install whisperx\n",
        f"{_PIN}{_LATER}RUN pip install torch==2.1.0\n",
        f"{_PIN}COPY requirements.txt .\nRUN pip install -r requirements.txt\n{_LATER}",  # it may hold whisperx
    ],
)
def test_other_installations_are_left_alone(text: str, matrix: Matrix) -> None:
    assert _clashes(text, matrix) == []
