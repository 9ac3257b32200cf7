"""What a framework computes with, or is compiled with: the plan names what its release takes, as the image does."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import pytest

from tests.cli.run import envkit


def _told(*words: str) -> str:
    return " ".join(envkit("resolve", *words, "--target", "any").stdout.split())


def _framework(text: str, package: str) -> str:
    """The release of a package that a plan or a Dockerfile names."""
    found = [word for word in shlex.split(text, comments=False) if word.startswith(f"{package}==")]
    return found[0].partition("==")[2] if found else ""


@pytest.mark.parametrize(
    ("keras", "tensorflow"),
    [("keras==2.2.0", "1."), ("keras==2.2.4", "1."), ("keras==2.3.1", "1."), ("keras>=2.4,<3", "2."), ("keras", "2.")],
)
def test_keras_gets_the_tensorflow_of_its_release(keras: str, tensorflow: str) -> None:
    told = _told("--framework", keras)
    plan = told.partition("CUDA ")[0]
    assert f"=={tensorflow}" in plan.partition("TensorFlow ")[2], plan


def test_keras_before_3_knows_neither_pytorch_nor_jax() -> None:
    assert "chooses a different one" not in _told("--framework", "keras==2.2.4")
    assert "--framework pytorch or --framework jax chooses a different one" in _told("--framework", "keras")
    refused = _told("--framework", "keras==2.2.4", "--python", "3.12")
    assert refused.startswith("No solution") and "tensorflow<2 was added" in refused


def test_the_plan_and_the_dockerfile_take_the_same_tensorflow() -> None:
    made = envkit("dockerfile", "--framework", "keras==2.2.0", "--target", "any").stdout
    planned = _told("--framework", "keras==2.2.0")
    release = planned.partition("tensorflow-gpu==")[2].split()[0]
    assert f"tensorflow-gpu=={release}" in made


def test_a_backend_without_another_is_told_in_a_whole_sentence() -> None:
    told = _told("--framework", "chainer")
    assert "CuPy was chosen - " in told and "chooses a different" not in told
    assert "numpy<1.24" in told  # Chainer calls numpy.float


def _command(words: Sequence[str]) -> list[str]:
    told = _told(*words)
    found = [part for part in told.split("envkit dockerfile ")[1:] if part]
    return shlex.split(found[-1].partition(" -o ")[0].replace("\\ ", "")) if found else []


@pytest.mark.parametrize("framework", ["caffe", "caffe2", "torch7", "caffe==1.0"])
def test_the_command_for_a_source_build_is_one_that_is_not_refused(framework: str) -> None:
    words = _command(("--framework", framework))
    done = envkit("dockerfile", *words)
    assert words and done.returncode == 0 and done.stdout.startswith("# syntax"), done.stderr


def test_what_nothing_here_builds_gets_no_command() -> None:
    assert "envkit dockerfile" not in _told("--framework", "caffe2", "--cuda", "9.0")


def test_the_cuda_that_only_the_system_has_is_planned() -> None:
    told = _told("--framework", "theano", "--cuda", "9.0")
    assert "CUDA 9.0.176 (system toolkit)" in told and "include CUDA" not in told
    assert "include CUDA" not in _told("--framework", "theano")
    assert "the packages include CUDA" in _told("--framework", "pytorch")


@pytest.mark.parametrize(
    ("driver", "cuda", "planned"),
    [("375.26", "9", False), ("550.54.15", "12.4", True), ("550.54.15", "12.2", True)],
)
def test_a_cuda_beyond_the_driver_is_not_what_nvidia_smi_shows(driver: str, cuda: str, planned: bool) -> None:
    told = _told("--framework", "pytorch==2.3" if planned else "pytorch", "--cuda", cuda, "--driver", driver)
    assert told.startswith("Plan") is planned


def test_why_the_cuda_that_was_asked_for_does_not_do() -> None:
    told = _told("--framework", "pytorch==1.1.0", "--cuda", "9.0", "--gpu", "GeForce RTX 2080 Ti")
    assert told.startswith("No solution") and "convolutions fail with cuDNN 7.4.2.24 for CUDA 9.0" in told
    assert _told("--framework", "pytorch", "--cuda", "9.0", "--gpu", "GeForce RTX 2080 Ti").startswith("No solution")
    assert _told("--framework", "pytorch", "--cuda", "9.0", "--gpu", "Tesla V100").startswith("Plan")


@pytest.mark.parametrize(("release", "bound"), [("1.12", True), ("1.15", True), ("2.0", True), ("2.4", False)])
def test_h5py_3_is_kept_from_the_first_tensorflows(release: str, bound: bool) -> None:
    words = ("--framework", f"tensorflow=={release}", "--target", "any")
    assert ("h5py<3" in envkit("dockerfile", *words).stdout) is bound


@pytest.mark.parametrize(("vllm", "bound"), [("vllm==0.4.2", "transformers<5.1"), ("vllm", "")])
def test_transformers_is_held_where_a_newer_one_disables_the_torch(vllm: str, bound: str) -> None:
    told = _told("--framework", vllm)
    assert bound in told if bound else "transformers" not in told
