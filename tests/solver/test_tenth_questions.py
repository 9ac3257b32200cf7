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
    assert ("since 1.19 the default index has them" in _told("--framework", "onnxruntime", "--cuda", cuda)) is told


@pytest.mark.parametrize(("driver", "told"), [("470.57.02", True), ("550.54.15", False)])
def test_the_wheels_of_vllm_for_an_old_driver(driver: str, told: bool) -> None:
    assert ("0.2.2 to 0.7.3" in _told("--framework", "vllm", "--gpu", "Tesla V100", "--driver", driver)) is told


@pytest.mark.parametrize(
    ("framework", "board", "page", "package"),
    [
        ("tensorflow", "Jetson Nano", "install-tf-jetson-platform", "tensorflow==2.7.0+nv22.1"),
        ("pytorch", "Jetson Nano", "install-pytorch-jetson-platform", "(with torchvision 0.11.1)"),
        ("pytorch", "Jetson AGX Orin", "install-pytorch-jetson-platform", "2.1.0 (with torchvision 0.16.0)"),
    ],
)
def test_a_jetson_is_sent_to_the_page_of_its_framework(framework: str, board: str, page: str, package: str) -> None:
    told = _told("--framework", framework, "--gpu", board)
    assert page in told and package in told
    assert ("install-tf" in told) is (framework == "tensorflow")


def test_a_framework_without_a_page_for_jetson_is_sent_to_none() -> None:
    assert "-jetson-platform" not in _told("--framework", "jax", "--gpu", "Jetson Nano")
