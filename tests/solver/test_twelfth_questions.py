"""What eighty questions of a learner's own taught (questions-9)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.run import envkit

_FILES = Path(__file__).parent / "questions-9"


def _told(*words: str) -> str:
    answer = envkit("resolve", *words, "--target", "any")
    return " ".join((answer.stdout + answer.stderr).split())


def _checked(name: str, *words: str) -> str:
    (file,) = (_FILES / name).iterdir()
    return " ".join(envkit("check", str(file), *words, "--target", "any").stdout.split())


@pytest.mark.parametrize(
    ("words", "torch", "wheel"),
    [
        (("flash-attn", "--gpu", "NVIDIA GB10"), "torch==2.9.1", "-cp312-cp312-linux_aarch64.whl after the commands"),
        (("mmcv",), "torch==2.4.1", "mmcv==2.2.0 --find-links"),
        (("dgl", "--framework", "pytorch==2.4", "--cuda", "12.4"), "torch==2.4.0", "dgl==2.4.0 --find-links"),
        (("detectron2", "--framework", "pytorch==1.5", "--cuda", "10.2"), "torch==1.5.1", "cu102/torch1.5/index.html"),
    ],
)
def test_a_plan_has_a_pytorch_that_the_software_has_wheels_for(words: tuple[str, ...], torch: str, wheel: str) -> None:
    told = _told("--framework", *words)
    assert torch in told and wheel in told and "This is the answer without" in told


@pytest.mark.parametrize(
    "words",
    [
        ("flash-attn", "--gpu", "Tesla V100"),  # no release runs on it
        ("mmcv", "--framework", "pytorch==2.10"),  # no wheel is for it
        ("dgl", "--os", "windows"),
        ("deepspeed", "--cuda", "11.7"),  # none is on record
    ],
)
def test_no_wheel_is_offered_where_there_is_none(words: tuple[str, ...]) -> None:
    assert "To install it, run" not in _told("--framework", *words)


def test_a_pytorch_without_wheels_is_told_from_those_that_have_some() -> None:
    told = _told("--framework", "flash-attn", "--framework", "pytorch==2.11")
    assert "No wheel of flash-attn for PyTorch 2.11.0" in told and "only for PyTorch 2.2" in told
    assert "use one of those, or compile it" in told


def test_those_that_a_gpu_does_not_run_are_not_offered() -> None:
    told = _told("--framework", "mmcv", "--gpu", "RTX5090")
    assert "which the rest of the request rules out: compile it with the nvcc" in told and "use one of" not in told


@pytest.mark.parametrize(("cuda", "told"), [("12.1", True), ("11.7", False)])
def test_the_nvcc_of_another_cuda_compiles_nothing(cuda: str, told: bool) -> None:
    answer = _told("--framework", "deepspeed", "--framework", "pytorch==2.0.1", "--cuda", cuda)
    assert (f"the nvcc of CUDA {cuda} does not compile deepspeed" in answer) is told


@pytest.mark.parametrize(
    ("package", "torch", "told"),
    [
        ("pytorch-lightning", "1.10", "pytorch-lightning==1.9.5"),
        ("accelerate", "1.8", "accelerate==0.20.3"),
        ("transformers", "2.1", "'transformers<5'"),
        ("pytorch-lightning", "2.9", ""),
    ],
)
def test_the_newest_release_for_an_older_pytorch(package: str, torch: str, told: str) -> None:
    answer = _told("--framework", package, "--framework", f"pytorch=={torch}")
    assert f"run python -m pip install {told}" in answer if told else "run python -m pip install" not in answer


def test_the_python_of_a_plan_is_one_that_the_companion_has_wheels_for() -> None:
    words = ("--framework", "pytorch==2.6.0", "--cuda", "12.6", "--os", "windows")
    assert "Python 3.13 " in _told(*words)
    assert "Python 3.12 " in _told("--framework", "xformers", *words)


@pytest.mark.parametrize(
    ("cuda", "told"),
    [("7.0", "driver 346.46"), ("6.5", "CUDA before 7.0"), ("7.5", "CUDA 7.5.18"), ("7", "CUDA 7.5.18")],
)
def test_a_cuda_before_those_of_the_tables(cuda: str, told: str) -> None:
    assert told in _told("--cuda", cuda)


@pytest.mark.parametrize(
    ("system", "told"), [("ubuntu22.04", "--os ubuntu18.04 --python 3.6"), ("ubuntu18.04", "Python 3.6 (system)")]
)
def test_a_source_build_is_refused_where_its_python_is_not(system: str, told: str) -> None:
    answer = _told("--framework", "caffe", "--os", system)
    assert told in answer and ("No solution" in answer) is (system == "ubuntu22.04")


@pytest.mark.parametrize(("words", "told"), [(("--gpu", "RTX 3090"), True), (("--cuda", "10.0"), False)])
def test_a_note_on_a_cuda_is_told_for_that_of_the_plan(words: tuple[str, ...], told: bool) -> None:
    assert ("libnccl.so.2" in _told("--framework", "mxnet", *words)) is told


def test_the_nearest_cuda_before_the_newest_release() -> None:
    assert "The closest is TensorFlow 1.4.1 for CUDA 8.0" in _told("--framework", "tensorflow", "--cuda", "7.5")


@pytest.mark.parametrize(("cuda", "told"), [("10.2", "spconv-cu102"), ("12.1", "spconv-cu121")])
def test_packages_that_are_named_after_their_cuda(cuda: str, told: str) -> None:
    assert told in _told("--framework", "spconv", "--cuda", cuda)


def test_the_wheel_of_a_jetson_and_the_torchvision_that_its_python_runs() -> None:
    told = _told("--framework", "pytorch", "--gpu", "Jetson Nano")
    assert "torch-1.11.0a0" in told and "does not run on Python 3.6: compile 0.11.3" in told
    assert "(torchvision 0.16.0 goes with it)" in _told("--framework", "pytorch", "--gpu", "Jetson AGX Orin")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("w-33", "jaxlib==0.4.30 does not work with cudnn=8.9.7"),
        ("w-49", "pytorch=*=cuda*"),
        ("w-50", "transformers==4.0.0 does not work with torch 1.2.0"),
        ("w-63", "lightning-bolts 0.7.0 requires pytorch-lightning>1.7.0,<2.0.0"),
        ("w-69", "is a build for CUDA 9.0, but cudatoolkit=8.0 is also requested"),
        ("w-75", "an nvcc of the same CUDA major version as PyTorch's, which is 11.7 here"),
        ("w-72", "No errors found."),
    ],
)
def test_files(name: str, told: str) -> None:
    assert told in _checked(name)


@pytest.mark.parametrize(("system", "told"), [("windows", True), ("ubuntu22.04", False)])
def test_what_windows_alone_has_no_wheels_for(system: str, told: bool) -> None:
    assert ("its wheels for Windows are for CUDA 12.4 alone" in _checked("w-42", "--os", system)) is told


def test_the_companions_of_a_build_for_arm_servers() -> None:
    told = _told("--framework", "pytorch==2.10", "--gpu", "NVIDIA GB10")
    assert "torchvision==0.25.0 torchaudio==2.10.0 \\ --index-url https://download.pytorch.org/whl/cu130" in told


def test_a_wheel_for_another_pytorch_than_the_image_has() -> None:
    told = envkit("dockerfile", "--check", str(_FILES / "w-11" / "Dockerfile"), "--gpu", "A100").stdout
    assert "FLASH_ATTENTION_FORCE_BUILD=TRUE pip install" in " ".join(told.split())


@pytest.mark.parametrize(
    "text",
    [
        "FROM nvcr.io/nvidia/pytorch:23.11-py3\nENV FLASH_ATTENTION_FORCE_BUILD=TRUE\n"
        "RUN pip install flash-attn==2.3.6 --no-build-isolation\n",
        "FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-devel\nRUN pip install flash-attn==2.7.4.post1\n",
    ],
)
def test_no_word_on_a_wheel_that_is_compiled_or_fits(text: str, tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text(text)
    assert "its setup downloads" not in envkit("dockerfile", "--check", str(tmp_path / "Dockerfile")).stdout
