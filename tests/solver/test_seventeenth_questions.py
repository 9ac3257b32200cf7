"""What a fourteenth set of questions taught (questions-14), with what must not be caught next to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.solver.printed import checked, printed, resolved

_TWO_INDEXES = (
    "--extra-index-url https://download.pytorch.org/whl/cu130\n"
    "--extra-index-url https://download.pytorch.org/whl/cu126\n"
    "--extra-index-url https://download.pytorch.org/whl/cu128\n"
)


@pytest.mark.parametrize(
    ("lines", "stops"),
    [
        ("torch==2.9.0+cu130\ntorchvision==0.24.0+cu126\n", "torchvision==0.24.0+cu126 is built for another CUDA"),
        ("torch==2.9.0+cu128\ntorchaudio==2.9.0+cu126\n", "torchaudio==2.9.0+cu126 is built for another CUDA"),
        ("torch==2.9.0+cu128\ntorchvision==0.24.0+cu126\n", ""),  # torchvision compares major versions since 0.16
        ("torch==2.9.0+cu128\ntorchvision==0.24.0+cu128\n", ""),
    ],
)
def test_a_companion_for_another_cuda_than_torchs(lines: str, stops: str, tmp_path: Path) -> None:
    found = checked(_TWO_INDEXES + lines, tmp_path)
    assert stops in found if stops else "No errors found." in found


def test_another_release_of_a_companion_takes_torchs_suffix(tmp_path: Path) -> None:
    found = checked(f"{_TWO_INDEXES}torch==2.9.0+cu130\ntorchvision==0.23.0+cu128\n", tmp_path)
    assert "torchvision==0.24.0+cu130" in found


def test_old_wheels_for_windows_have_no_suffix(tmp_path: Path) -> None:
    found = checked("torch==1.0\n", tmp_path, "--os", "windows")
    assert "https://download.pytorch.org/whl/cu100/torch_stable.html" in found and "torch==1.0.0+" not in found


@pytest.mark.parametrize(("words", "clashes"), [(("--os", "windows"), False), ((), True)])
def test_torch_requires_triton_on_linux_alone(words: tuple[str, ...], clashes: bool, tmp_path: Path) -> None:
    found = checked("torch==2.1.2\ntriton==2.0.0\n", tmp_path, *words)
    assert ("requires triton==2.1.0" in found) is clashes


@pytest.mark.parametrize(
    ("lines", "words", "breaks"),
    [
        ("mmcv-full==1.4.8\nmmdet==2.14.0\n", (), "accepts mmcv only up to 1.4.0"),
        ("mmcv-full==1.3.1\nmmdet==2.14.0\n", (), "accepts mmcv only from 1.3.8 on"),
        ("mmcv-full==1.3.18\nmmdet==2.14.0\n", (), ""),
        ("mmcv-full==1.7.1\nmmsegmentation==0.29.1\n", (), ""),
        ("cuml-cu12==24.4.*\n", ("--python", "3.12"), "24.10 is the first release for Python 3.12"),
        ("cuml-cu12==24.10.*\n", ("--python", "3.12"), ""),
        ("torch==1.12.0+cu116\ntorch-tensorrt==1.1.0\n", (), "it is for PyTorch 1.11 and CUDA 11.3"),
        ("torch==1.11.0+cu113\ntorch-tensorrt==1.1.0\n", (), ""),
    ],
)
def test_releases_that_break_next_to_others(lines: str, words: tuple[str, ...], breaks: str, tmp_path: Path) -> None:
    found = checked(lines, tmp_path, *words)
    assert breaks in found if breaks else "does not work with" not in found


@pytest.mark.parametrize(
    ("release", "cuda", "package"),
    [
        ("0.3.13", "11.3", "cuda11_cudnn805"),
        ("0.3.13", "11.4", "cuda11_cudnn82"),
        ("0.3.0", "11.3", "cuda11_cudnn82"),
    ],
)
def test_the_cuda_that_jaxs_builds_for_cudnn_8_2_need(release: str, cuda: str, package: str) -> None:
    assert f"jax[{package}]=={release}" in resolved("--framework", f"jax=={release}", "--cuda", cuda)


def test_onnx_runtimes_own_index_for_cuda_11() -> None:
    assert "onnxruntime-cuda-11" in resolved("--framework", "onnxruntime==1.20", "--cuda", "11.8")
    assert "onnxruntime-cuda-11" not in resolved("--framework", "onnxruntime==1.18", "--cuda", "11.8")


@pytest.mark.parametrize(("python", "fails"), [("3.12", True), ("3.10", False)])
def test_a_post_release_has_the_pythons_of_its_release(python: str, fails: bool, tmp_path: Path) -> None:
    found = checked("paddlepaddle-gpu==2.5.1.post120\n", tmp_path, "--os", "windows", "--python", python)
    assert ("no wheel for Python 3.12" in found) is fails


def test_a_setup_that_fetches_its_projects_wheel(tmp_path: Path) -> None:
    assert "its setup downloads" in checked("torch==2.4.1\nflash-attn==2.6.3\n", tmp_path)
    assert "its setup downloads" not in checked("torch==2.0.0\nflash-attn==1.0.9\n", tmp_path)


def test_a_fix_for_conda_is_in_condas_words(tmp_path: Path) -> None:
    text = "channels: [pytorch]\ndependencies:\n  - pytorch=1.11.0\n  - cudatoolkit=10.2\n"
    found = checked(text, tmp_path, "--gpu", "GeForce RTX 3090", name="environment.yml")
    assert "pytorch=1.11.0" in found and "cudatoolkit=11.3 from the channel pytorch" in found and "+cu" not in found


@pytest.mark.parametrize(("driver", "too_old"), [("435.21", True), ("470.82.01", False)])
def test_a_base_image_in_place_of_another_starts_on_the_driver(driver: str, too_old: bool, tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM nvidia/cuda:8.0-cudnn6-devel\n", encoding="utf-8")
    words = ("--gpu", "GeForce RTX 2080 Ti", "--driver", driver)
    found = printed("dockerfile", "--check", str(tmp_path / "Dockerfile"), *words)
    assert "whose CUDA version supports the GPU" in found and (f"{driver} is too old for it" in found) is too_old
