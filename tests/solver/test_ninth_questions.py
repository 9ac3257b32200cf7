"""What a ninth look at questions taught: drivers that exist, cuDNN that pip chooses, code that is known."""

from __future__ import annotations

import pytest

from envkit.base.versions import Version
from tests.solver.asking import ask, matrix, offers, plan_of, refusal_of


@pytest.mark.parametrize(
    ("framework", "gpu", "driver"),
    [("pytorch", "GeForce RTX 5090", "550"), ("pytorch", "GeForce RTX 5090", "470"), ("jax", "B200", "550")],
)
def test_a_driver_that_is_offered_was_published(framework: str, gpu: str, driver: str) -> None:
    drivers = offers(refusal_of(ask(framework, gpus=(gpu,), driver=driver)), "driver")
    firsts = {row.branch: row.first_version for row in matrix().driver_branches}
    assert drivers
    for offered in map(Version.parse, drivers):
        first = firsts[offered.major]
        assert first is None or offered >= first


@pytest.mark.parametrize(
    ("asked", "cudnn", "pin"),
    [
        ("jax==0.4.38", "9.5", "nvidia-cudnn-cu12==9.5.*"),
        ("jax==0.4.38", "9.1", "nvidia-cudnn-cu12==9.1.*"),
        ("jax==0.4.38", "9", ""),
        ("jax==0.4.26", "8.9", "nvidia-cudnn-cu12==8.9.2.26"),
    ],
)
def test_a_cudnn_that_a_package_leaves_to_pip_can_be_chosen(asked: str, cudnn: str, pin: str) -> None:
    assert plan_of(ask(asked, cudnn=cudnn)).choice.pins == ((pin,) if pin else ())


@pytest.mark.parametrize(
    ("asked", "cudnn", "said"),
    [
        ("jax==0.4.38", "9.0", "needs cuDNN 9.1 or a later 9.x, not 9.0"),
        ("jax==0.4.38", "8.9", "needs cuDNN 9.1 or a later 9.x, not 8.9"),
        ("tensorflow==0.12.0", "5.0", "needs cuDNN 5.1, not 5.0"),
        ("pytorch==2.5.1", "9.5", "not 9.5"),
    ],
)
def test_another_cudnn_is_refused_with_the_one_that_it_needs(asked: str, cudnn: str, said: str) -> None:
    assert said in refusal_of(ask(asked, cudnn=cudnn)).conflicts[0].detail


@pytest.mark.parametrize(("release", "cuda"), [("2.9.0", "13.0"), ("2.9.1", "12.8"), ("2.10.0", "13.0")])
def test_code_for_the_gpu_of_a_dgx_spark_is_known(release: str, cuda: str) -> None:
    plan = plan_of(ask(f"pytorch=={release}", cuda=cuda, gpus=("NVIDIA GB10",), architecture="aarch64"))
    assert {one.status for one in plan.verdicts if one.relation == "gpu-runs-build"} == {"ok"}
