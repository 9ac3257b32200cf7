"""What the third sixty questions and the next forty taught (questions-3, questions-4)."""

from __future__ import annotations

from envkit.solver.having import resolve_having
from envkit.solver.model import NoPlan
from tests.solver.asking import ask, matrix, offers, plan_of, refusal_of, status_of


def test_a_toolkit_that_the_systems_last_guide_ends_before_is_not_supported() -> None:
    """CUDA 12.4's installation guide has a chapter for RHEL 7 and CentOS 7, that of 12.6 has none."""
    refused = refusal_of(ask(cuda="12.6", os_id="centos7"))
    (conflict,) = refused.conflicts
    assert "where CUDA 12.4 is the last" in conflict.detail and "CUDA 12.4.0 on CentOS 7" in conflict.detail
    assert offers(refused, "cuda")[0] == "12.4" and conflict.sources
    assert status_of(plan_of(ask(cuda="12.4.0", os_id="centos7")), "runfile-on-os") == {"ok"}
    focal = refusal_of(ask(cuda="13.0", os_id="ubuntu20.04"))
    assert "CUDA 12.9.2 on Ubuntu 20.04" in focal.conflicts[0].detail
    assert (offers(focal, "cuda")[0], offers(focal, "os")) == ("12.9", ["ubuntu22.04"])
    # what a framework brings is not what the system's packages are: the wheels run there
    assert plan_of(ask("pytorch", cuda="13.0", os_id="ubuntu20.04")).choice.builds
    chosen = plan_of(ask(os_id="ubuntu20.04", gpus=("GeForce RTX 4090",))).choice.toolkit
    assert chosen is not None and str(chosen.release) == "12.9"


def test_tensorflow_and_pytorch_that_require_two_typing_extensions() -> None:
    refused = refusal_of(ask("tensorflow==2.13.1", "pytorch==2.4.1", python="3.10"))
    assert any("typing-extensions" in conflict.detail for conflict in refused.conflicts)
    assert plan_of(ask("tensorflow==2.12.0", "pytorch==2.4.1", python="3.10")).choice.builds


def test_a_build_for_a_whole_line_of_cuda_needs_a_release_that_knows_the_gpu() -> None:
    """TensorRT's packages for CUDA 12 run with 12.1, but 12.8 is the first for Blackwell (NVIDIA/TensorRT#4525)."""
    refused = refusal_of(ask("tensorrt==10.12", cuda="12.1", gpus=("GeForce RTX 5060 Ti",)))
    assert "needs CUDA 12.8 or newer" in refused.conflicts[0].detail and offers(refused, "cuda")[0] == "12.8"
    assert plan_of(ask("tensorrt==10.12", cuda="12.8", gpus=("GeForce RTX 5060 Ti",))).choice.builds
    assert plan_of(ask("tensorrt==10.12", cuda="12.1", gpus=("GeForce RTX 3090",))).choice.builds


def test_a_build_gets_a_cudnn_of_its_own_major() -> None:
    choice = plan_of(ask("paddlepaddle==2.4.1", gpus=("GeForce RTX 3090",))).choice
    assert choice.cudnn is not None and choice.cudnn.version.major == 8


def test_a_board_is_told_of_nvidias_wheels_for_it() -> None:
    asked = ask("pytorch==2.1", gpus=("Jetson Orin Nano",), architecture="aarch64", platform="jetson")
    told = " ".join(resolve_having(asked, matrix()).warnings)
    assert "L4T 36 (from 36.2.0 on) and Python 3.10" in told and "cp38" in told and "2.5.0" not in told


def test_windows_is_told_of_nvidias_tensorflow_inside_wsl() -> None:
    refused = refusal_of(ask("tensorflow==1.15", gpus=("GeForce RTX 4060",), platform="windows"))
    assert any(way.startswith("in WSL, NVIDIA's build of TensorFlow 1.15") for way in refused.warnings)


def test_what_is_supported_is_offered_beside_a_toolkit_that_is_not() -> None:
    noble = plan_of(ask(cuda="12.1", os_id="ubuntu24.04"))
    assert (offers(noble, "cuda"), offers(noble, "os")) == (["12.5"], ["ubuntu22.04"])
    assert offers(plan_of(ask(cuda="10.1", os_id="ubuntu20.04")), "os") == ["ubuntu18.04"]  # 18.10 ended long before
    assert not plan_of(ask(cuda="12.9", os_id="ubuntu20.04")).alternatives
    assert not plan_of(ask(cuda="12.6")).alternatives
    jammy = plan_of(ask("tensorflow==2.9.1", os_id="ubuntu22.04", python="3.10"))  # CUDA 11.2 has no packages there
    assert (str(jammy.choice.cuda)[:4], offers(jammy, "cuda"), offers(jammy, "os")) == ("11.2", ["11.7"], [])


def test_a_compiler_that_does_not_know_the_gpu_is_refused_where_nothing_else_was_asked_for() -> None:
    refused = refusal_of(ask(cuda="11.3", gpus=("GeForce RTX 4090",)))
    assert "nvcc 11.3 does not compile for" in refused.conflicts[0].detail
    assert offers(refused, "cuda")[0] == "11.8"
    assert plan_of(ask(cuda="11.8", gpus=("GeForce RTX 4090",))).choice.toolkit is not None
    assert plan_of(ask("pytorch", cuda="11.3", gpus=("GeForce RTX 4090",))).choice.builds  # the wheels need no compiler


def test_a_cudnn_beside_the_machines_cuda_is_the_machines_own() -> None:
    """tensorflow/tensorflow#78531: CUDA 12.6 and cuDNN 9.5 are installed, and no package is for those two."""
    plan = resolve_having(ask("tensorflow", cuda="12.6", cudnn="9.5", gpus=("GeForce RTX 4060",)), matrix())
    assert not isinstance(plan, NoPlan) and str(plan.choice.builds[0].package).startswith("tensorflow[and-cuda]")
    assert any("cuDNN 9.5 as the machine's own" in line for line in plan.warnings)
    loading = resolve_having(ask("tensorflow==1.3", cuda="8.0", cudnn="5.1"), matrix())
    assert isinstance(loading, NoPlan)  # it loads the system's cuDNN
