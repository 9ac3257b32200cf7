"""Pins that pip refuses by the metadata of a wheel next to them, and such that it takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from envkit.api.project import project_change, project_report
from envkit.checks.engine.findings import Status
from envkit.solver.request import Request
from envkit.tables import Matrix
from tests.project.test_expected import request_of

REFUSED = [
    # TensorFlow 2.15.0: protobuf <5, wrapt <1.15; its NumPy is in the table of builds
    ("tensorflow==2.15.0\nprotobuf==5.26.0\n", "protobuf>=3.20.3,<5.0.0"),
    ("tensorflow==2.15\nwrapt==1.15\n", "wrapt>=1.11.0,<1.15"),
    ("tensorflow==2.15\nnumpy==1.23\n", "numpy>=1.23.5"),
    # PyTorch 2.6.0 names one release of SymPy and of each library of CUDA
    ("torch==2.6.0\nsympy==1.12\n", "sympy==1.13.1"),
    ("torch==2.6\nnvidia-cudnn-cu12==8.9.2.26\n", "nvidia-cudnn-cu12==9.1.0.70"),
    ("torch==2.6.0\nnvidia-cublas-cu12==12.1.3.1\n", "nvidia-cublas-cu12==12.4.5.8"),
    (
        "--index-url https://download.pytorch.org/whl/cu118\ntorch==2.6.0\nnvidia-cudnn-cu11==8.9.2.26\n",
        "nvidia-cudnn-cu11==9.1.0.70",
    ),
    # the extra of JAX names the release of its plugin and of jaxlib
    ("jax[cuda12]==0.4.30\njaxlib==0.4.28\n", "jaxlib==0.4.30"),
    ("jax[cuda12]==0.4.30\njax-cuda12-plugin==0.4.28\n", "jax-cuda12-plugin>=0.4.30,<=0.4.30"),
    ("jax[cuda12_pip]==0.4.30\njaxlib==0.4.28\n", "jaxlib==0.4.30"),
    ("vllm==0.6.3\ntransformers==4.40\n", "transformers>=4.45.0"),
    ("transformers==4.40.0\ntokenizers==0.15.2\ntorch\n", "tokenizers>=0.19,<0.20"),
]
TAKEN = [
    "tensorflow==2.15.0\nprotobuf==4.25.3\nwrapt==1.14.1\n",
    "tensorflow==2.15\nnumpy==1.26\n",
    "torch==2.6.0\nsympy==1.13.1\nnvidia-cudnn-cu12==9.1.0.70\n",
    "--index-url https://download.pytorch.org/whl/cu118\ntorch==2.6.0\nnvidia-cudnn-cu11==9.1.0.70\n",
    "jax==0.4.30\njaxlib==0.4.28\n",  # without the extra, 0.4.27 and later do
    "jax[cuda12]==0.4.30\njaxlib==0.4.30\njax-cuda12-plugin==0.4.30\n",
    "vllm==0.6.3\ntransformers==4.45.2\n",
    "torch\nsympy==1.12\n",  # pip takes a torch that goes with it
    "torch==2.6.0\nsympy\n",
]


def _judged(text: str, tmp_path: Path, request: Request) -> list[str]:
    file = tmp_path / "requirements.txt"
    file.write_text(text, encoding="utf-8")
    findings = project_report(str(file), request, Matrix.load()).findings
    return [one.title for one in findings if one.status is Status.FAIL]


@pytest.mark.parametrize(("text", "told"), REFUSED)
@pytest.mark.parametrize("target", ["", "--python 3.11"])
def test_what_the_metadata_refuse_is_told(text: str, told: str, target: str, tmp_path: Path) -> None:
    titles = _judged(text, tmp_path, request_of(target, Matrix.load()))
    assert any(f"requires {told}" in title for title in titles), titles


@pytest.mark.parametrize("text", TAKEN)
@pytest.mark.parametrize("target", ["", "--python 3.11"])
def test_what_the_metadata_allow_is_no_fault(text: str, target: str, tmp_path: Path) -> None:
    assert _judged(text, tmp_path, request_of(target, Matrix.load())) == []


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("vllm==0.6.3\ntransformers==4.40\n", "vllm==0.6.3\ntransformers>=4.45.0\n"),
        ("torch==2.6.0\nnvidia-cudnn-cu12==8.9.2.26\n", "torch==2.6.0\nnvidia-cudnn-cu12==9.1.0.70\n"),
    ],
)
def test_the_framework_stays_and_the_pin_next_to_it_changes(text: str, changed: str, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text(text, encoding="utf-8")
    matrix = Matrix.load()
    _, change, _ = project_change(str(tmp_path / "requirements.txt"), request_of("", matrix), matrix)
    assert change is not None and change.text == changed
