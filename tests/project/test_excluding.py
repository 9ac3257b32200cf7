"""What of a project's file excludes itself, and what only looks as if it did."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Status
from envkit.project.judge import judge
from envkit.project.read import read_manifest
from envkit.solver.request import Request
from envkit.tables import Matrix

POETRY = '[tool.poetry]\nname = "z"\nversion = "0.1"\n[tool.poetry.dependencies]\npython = "{}"\ntorch = "{}"\n'
PEP_621 = '[project]\nname = "y"\nversion = "0.1"\nrequires-python = "{}"\ndependencies = ["torch{}"]\n'
TOLD = {
    "two builds of CuPy": (
        "requirements",
        "cupy-cuda11x==13.0.0\ncupy-cuda12x==13.0.0\n",
        "both install the module",
    ),
    "ONNX Runtime for CPU and GPU": ("requirements", "onnxruntime\nonnxruntime-gpu==1.18.0\n", "both install"),
    "two pins": ("requirements", "torch==2.0.1\ntorch==2.1.0\n", "torch==2.1.0 is requested, and torch==2.0.1"),
    "bounds apart": ("requirements", "numpy>=2.0,<1.9\n", "no version of numpy can meet >=2.0,<1.9"),
    "bounds of a framework apart": ("requirements", "torch>=2.4,<2.3\n", "no version of torch can meet >=2.4,<2.3"),
    "a Python too wide, Poetry": ("pyproject.toml", POETRY.format("^3.8", "2.6.0"), "Python 3.9 or newer"),
    "a Python too wide, PEP 621": ("pyproject.toml", PEP_621.format(">=3.8", "==2.6.0"), "allows Python 3.8"),
}
NOTHING = {
    "one CuPy": ("requirements", "cupy-cuda12x==13.0.0\n"),
    "ONNX Runtime by the system": (
        "requirements",
        "onnxruntime; sys_platform == 'darwin'\nonnxruntime-gpu==1.18.0; sys_platform == 'linux'\n",
    ),
    "bounds of one release": ("requirements", "numpy>=1.26,<=1.26\n"),
    "one of two ranges": ("pyproject.toml", POETRY.format("^3.9", ">=2.6,<2.7 || >=2.4,<2.5")),
    "the same pin twice": ("requirements", "torch==2.1.0\ntorch==2.1.0\n"),
    "pins by the Python": (
        "requirements",
        "torch==2.0.1; python_version < '3.9'\ntorch==2.6.0; python_version >= '3.9'\n",
    ),
    "a Python that the release takes": ("pyproject.toml", POETRY.format("^3.9", "2.6.0")),
    "a release that is not pinned": ("pyproject.toml", PEP_621.format(">=3.8", ">=2.0")),
    "a newer Python too": ("pyproject.toml", PEP_621.format(">=3.10", "==2.6.0")),
    "the Python in a marker": ("pyproject.toml", PEP_621.format(">=3.8", "==2.6.0; python_version >= '3.9'")),
}


def _told(kind: str, text: str) -> list[str]:
    manifest = read_manifest(kind, text, lambda name: None, "x86_64", "linux")
    found = judge(manifest, Request(), (), Matrix.load()).findings
    ids = ("project.requirements-clash", "project.python-without-package")
    return [one.title for one in found if one.id in ids and one.status in (Status.FAIL, Status.WARN)]


@pytest.mark.parametrize("name", TOLD)
def test_what_excludes_itself_is_told(name: str) -> None:
    kind, text, words = TOLD[name]
    assert [words in title for title in _told(kind, text)] == [True]


@pytest.mark.parametrize("name", NOTHING)
def test_what_goes_together_is_not(name: str) -> None:
    assert not _told(*NOTHING[name])


def test_cupy_is_said_to_need_no_cudnn() -> None:
    manifest = read_manifest(
        "requirements", "torch==2.4.0\ncupy-cuda12x==13.0.0\n", lambda name: None, "x86_64", "linux"
    )
    found = judge(manifest, Request(), (), Matrix.load()).findings
    assert not [one for one in found if one.status is Status.WARN or "cuDNN 8" in one.title]


def test_theano_is_installed_without_what_the_index_does_not_have() -> None:
    assert not [one for build in Matrix.load().builds("theano") for one in build.companions if "pygpu" in one]
