"""What questions of an audit and of a sixth set taught: rows that were missing, and answers that were known."""

from __future__ import annotations

import pytest

from envkit.tables.loader import read
from envkit.tables.rows import PackageRequirements
from tests.solver.asking import ask, matrix, plan_of, refusal_of


def test_a_torch_for_cuda_12_9_whose_nccl_pip_refuses_beside_tensorflow() -> None:
    """pip: torch 2.10.0 requires NCCL 2.27.5, TensorFlow 2.21 one from 2.27.7 on."""
    refused = refusal_of(ask("pytorch==2.10.0", "tensorflow==2.21.0"))
    assert "requires nvidia" in refused.conflicts[0].detail
    assert refusal_of(ask("pytorch==2.10.0", "tensorflow==2.21.0", cuda="12.9"))


def test_a_row_of_torchs_libraries_names_those_that_clash_with_other_packages() -> None:
    rows = [row for row in read(PackageRequirements) if row.package.startswith("torch==2") and row.requires]
    for row in rows:
        names = {line.partition("==")[0].partition(">=")[0].rpartition("-")[0] for line in row.requires or ()}
        assert {"nvidia-cudnn", "nvidia-nccl"} <= names, row


@pytest.mark.parametrize(
    ("asked", "cuda", "package"),
    [
        ("pytorch==2.9.0", "12.9", "torch==2.9.0"),
        ("pytorch==0.1.12", "7.5", "torch==0.1.12.post2"),
        ("pytorch==0.3.0", "9.0", "torch==0.3.0.post4"),
        ("jax==0.4.10", "", "jax[cuda12_pip]==0.4.10"),
        ("jax==0.4.14", "11.8", "jax[cuda11_pip]==0.4.14"),
        ("jax==0.4.1", "11.4", "jax[cuda11_cudnn82]==0.4.1"),
        ("jax==0.2.17", "11.3", "jax[cuda111]==0.2.17"),
        ("cupy==13.4.0", "", "cupy-cuda12x==13.4.0"),
        ("cupy==14.1.0", "13", "cupy-cuda13x==14.1.0"),
    ],
)
def test_releases_that_had_no_row(asked: str, cuda: str, package: str) -> None:
    assert plan_of(ask(asked, cuda=cuda)).choice.builds[0].package == package


def test_the_last_torch_for_the_first_kepler_cards() -> None:
    plan = plan_of(ask("pytorch", gpus=("GeForce GTX 660 Ti",)))
    assert str(plan.choice.builds[0].version) == "0.3.0"
    assert "withdrawn" not in " ".join(plan.warnings)
    assert matrix().builds("pytorch")[0].version < plan.choice.builds[0].version
