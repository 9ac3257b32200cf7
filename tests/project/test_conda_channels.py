"""What the channels of conda do not have of a framework, and what they may have."""

from __future__ import annotations

from pathlib import Path

import pytest

from envkit.api.project import project_report
from envkit.checks.engine.findings import Status
from envkit.tables import Matrix
from tests.project.test_expected import request_of


def _told(channels: str, lines: tuple[str, ...], tmp_path: Path) -> list[str]:
    file = tmp_path / "environment.yml"
    dependencies = "".join(f"  - {line}\n" for line in lines)
    file.write_text(f"name: demo\nchannels: [{channels}]\ndependencies:\n{dependencies}", encoding="utf-8")
    matrix = Matrix.load()
    findings = project_report(str(file), request_of("", matrix), matrix).findings
    return [f"{one.status.value}: {one.title}" for one in findings if one.status in (Status.FAIL, Status.WARN)]


@pytest.mark.parametrize(
    ("channels", "lines", "told"),
    [
        ("pytorch", ("python=3.12", "pytorch=1.7.1", "cudatoolkit=11.0"), "no channel has it for Python 3.12"),
        ("conda-forge", ("python=3.12", "tensorflow=2.4"), "no channel has it for Python 3.12"),
        ("pytorch, nvidia", ("python=3.7", "pytorch=2.5.1", "pytorch-cuda=12.4"), "no channel has it for Python 3.7"),
        ("conda-forge", ("pytorch-cuda=11.8", "pytorch=2.6"), "which is not among the channels"),
        ("pytorch, nvidia, conda-forge", ("pytorch=2.6", "pytorch-cuda=12.4"), "which ended with PyTorch 2.5.1"),
    ],
)
def test_what_no_channel_has(channels: str, lines: tuple[str, ...], told: str, tmp_path: Path) -> None:
    assert any(told in one for one in _told(channels, lines, tmp_path))


@pytest.mark.parametrize(
    ("channels", "lines"),
    [
        ("pytorch", ("python=3.9", "pytorch=1.7.1", "cudatoolkit=11.0")),
        ("conda-forge", ("python=3.12", "pytorch=2.1", "cuda-version=12.1")),  # the next Python: built once more
        ("conda-forge", ("python=3.12", "pytorch>=1.7")),
        ("pytorch, nvidia", ("python=3.12", "pytorch=2.5.1", "pytorch-cuda=12.4")),
        ("https://mirror.example.org/cloud/pytorch, nvidia", ("pytorch=2.5.1", "pytorch-cuda=12.4")),
        ("conda-forge", ("python=3.12", "pytorch=2.6", "cuda-version=12.6")),
    ],
)
def test_what_a_channel_may_have(channels: str, lines: tuple[str, ...], tmp_path: Path) -> None:
    assert _told(channels, lines, tmp_path) == []
