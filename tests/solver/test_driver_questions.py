"""Drivers that people have, against the GPUs and the CUDA that they ask for, on the real tables."""

from __future__ import annotations

import pytest

from envkit.base.versions import Version
from envkit.solver.solve import resolve
from tests.solver.asking import ask, matrix, offers, plan_of, refusal_of, status_of


@pytest.mark.parametrize(
    ("gpu", "driver", "first"),
    [
        (
            "RTX 3090",
            "450.80.02",
            "455",
        ),  # R450 is of CUDA 11.0, whose nvcc knows 8.0 alone of Ampere; GA102 came later
        ("GTX 1660", "410.104", "418.43"),  # TU116: 418.43 added GTX 1660 Ti (LibreELEC/LibreELEC.tv#3327)
        ("GTX 1650", "418.56", "418.74"),  # TU117: 418.74 added GTX 1650 (smxi/sgfxi#32)
        ("RTX 4070", "520.61.05", "525"),  # of Ada, supported-gpus.json of driver 520 has RTX 4090 alone
        ("L4", "520.61.05", "525"),
        ("RTX 2080 Ti", "387.26", "410"),  # the branch lists no families; 390 has no Turing yet
        ("RTX 5090", "566.36", "570"),  # no such branch on Linux, and 565 has no Blackwell
    ],
)
def test_a_driver_older_than_the_gpu(gpu: str, driver: str, first: str) -> None:
    refused = refusal_of(ask(gpus=(gpu,), driver=driver))
    (conflict,) = refused.conflicts
    assert conflict.between[1] == f"driver {driver}" and conflict.between[0].startswith("gpu ")
    offered = [Version.parse(value) for value in offers(refused, "driver")]
    assert offered and all(value >= Version.parse(first) for value in offered)


def test_the_gpu_is_what_clashes_and_no_cuda_that_nobody_asked_for() -> None:
    (conflict,) = refusal_of(ask(gpus=("RTX 2080 Ti",), driver="381.22")).conflicts
    assert "Turing" in conflict.detail and "CUDA" not in conflict.detail


def test_a_branch_between_two_that_know_the_gpu_knows_it() -> None:
    plan = plan_of(ask(gpus=("GTX 980",), driver="361.62"))
    assert status_of(plan, "gpu-on-driver") == {"ok"}


@pytest.mark.parametrize(
    ("gpu", "driver", "cuda", "fits"),
    [
        # NVIDIA_REQUIRE_CUDA of nvidia/cuda:13.0.0-base-ubuntu22.04: 535, 550, 565, 570, 575
        ("A100", "525.147.05", "13.0", False),
        ("A100", "535.54.03", "13.0", True),
        # of 12.6.3-base-ubuntu22.04: 470, 535, 550
        ("Tesla T4", "460.106.00", "12.6", False),
        ("V100", "450.248.02", "12.6", False),
        ("Tesla T4", "470.256.02", "12.6", True),
        # of 12.0.0-base-ubuntu22.04: 450, 470, 510, 515, 520
        ("V100", "450.248.02", "12.0", True),
        ("RTX 3090", "470.256.02", "12.6", False),  # no data-center GPU
    ],
)
def test_forward_compatibility_is_that_of_nvidias_images(gpu: str, driver: str, cuda: str, fits: bool) -> None:
    request = ask(gpus=(gpu,), driver=driver, cuda=cuda)
    if fits:
        assert status_of(plan_of(request), "driver-runs-cuda") == {"forward-compatibility"}
    else:
        refusal_of(request)


def test_what_is_offered_is_known_to_run() -> None:
    """Which branches the cuda-compat of CUDA 13.3 takes is not recorded, so it is no offer for driver 525."""
    refused = refusal_of(ask(gpus=("A100",), driver="525.147.05", cuda="13.0"))
    for cuda in offers(refused, "cuda"):
        plan = resolve(ask(gpus=("A100",), driver="525.147.05", cuda=cuda), matrix())
        assert "unknown" not in status_of(plan_of(plan.request), "driver-runs-cuda")
