"""What a seventh set of sixty questions taught (questions-7); tests/project has what their files taught."""

from __future__ import annotations

import pytest

from tests.cli.run import envkit


def _told(*words: str) -> str:
    return " ".join(envkit("resolve", *words, "--target", "any").stdout.split())


def test_packages_that_the_data_does_not_hold_as_builds_are_named() -> None:
    told = _told("--framework", "mxnet", "--cuda", "11.4")
    assert "mxnet-cu114==1.9.1" in told and "no release of Apache MXNet" not in told
    assert "mxnet-cu114" not in _told("--framework", "mxnet", "--cuda", "11.2")


def test_what_is_missing_is_not_known_rather_than_not_there() -> None:
    assert "no release of TensorFlow is known to be built for CUDA 9.1" in _told(
        "--framework", "tensorflow", "--cuda", "9.1"
    )


@pytest.mark.parametrize(("cuda", "told"), [("12.1", True), ("11.8", False)])
def test_which_index_has_onnxruntime_for_a_cuda(cuda: str, told: bool) -> None:
    assert ("since 1.19, the default index has them" in _told("--framework", "onnxruntime", "--cuda", cuda)) is told


@pytest.mark.parametrize(("driver", "told"), [("470.57.02", True), ("550.54.15", False)])
def test_the_wheels_of_vllm_for_an_old_driver(driver: str, told: bool) -> None:
    assert ("0.2.2 to 0.10.1.1" in _told("--framework", "vllm", "--gpu", "Tesla V100", "--driver", driver)) is told


@pytest.mark.parametrize(
    ("framework", "board", "page", "package"),
    [
        ("tensorflow", "Jetson Nano", "install-tf-jetson-platform", "tensorflow==2.7.0+nv22.1"),
        ("pytorch", "Jetson Nano", "install-pytorch-jetson-platform", "does not run on Python 3.6: compile 0.11.3)"),
        ("pytorch", "Jetson AGX Orin", "install-pytorch-jetson-platform", "(torchvision 0.16.0 goes with it)"),
    ],
)
def test_a_jetson_is_sent_to_the_page_of_its_framework(framework: str, board: str, page: str, package: str) -> None:
    told = _told("--framework", framework, "--gpu", board)
    assert page in told and package in told
    assert ("install-tf" in told) is (framework == "tensorflow")


def test_a_framework_without_a_page_for_jetson_is_sent_to_none() -> None:
    assert "-jetson-platform" not in _told("--framework", "jax", "--gpu", "Jetson Nano")


@pytest.mark.parametrize(
    ("words", "own"),
    [
        (("--cuda", "13.1", "--gpu", "NVIDIA GB10", "--driver", "580.159.03"), "13.0"),
        (("--cuda", "10.1", "--gpu", "Tesla P40", "--driver", "396.37"), "9.2"),
        (("--cuda", "13.0", "--gpu", "NVIDIA GB10", "--driver", "580.159.03"), ""),
        (
            ("--cuda", "12.8", "--gpu", "GeForce RTX 5090", "--driver", "550.54.15"),
            "",
        ),  # its 12.4 is too old for the GPU
    ],
)
def test_the_cuda_that_a_driver_was_made_for(words: tuple[str, ...], own: str) -> None:
    told = _told(*words)
    assert f"images and packages for CUDA {own} run on it" in told if own else "images and packages for" not in told


def test_a_gpu_above_all_that_pytorch_has_code_for_is_warned_of_in_vain() -> None:
    told = _told("--framework", "pytorch==2.9.1", "--gpu", "NVIDIA GB10", "--driver", "580.95.05")
    assert "https://download.pytorch.org/whl/cu130" in told
    assert "code for 12.0 runs on 12.1, so its builds for CUDA 12.8, 12.9, and 13.0 do" in told
    assert "warns that" not in _told("--framework", "pytorch==2.9.1", "--gpu", "GeForce RTX 5090")
