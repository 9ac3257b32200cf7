"""What an eighth set of sixty questions taught (questions-8), with what must not be caught next to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.solver.printed import checked, printed, resolved

_FILES = Path(__file__).parent / "questions-8"


@pytest.mark.parametrize(("gpu", "refused"), [("GeForce RTX 2080 Ti", True), ("Tesla V100", False)])
def test_a_system_cudnn_without_kernels_for_the_gpu_rules_a_release_out(gpu: str, refused: bool) -> None:
    told = resolved("--framework", "tensorflow==1.8", "--gpu", gpu, "--os", "windows")
    assert ("No solution" in told) is refused
    assert ("--framework tensorflow==1.13.1" in told) is refused


@pytest.mark.parametrize(("gpu", "arm"), [("NVIDIA T4G", True), ("Tesla T4", False)])
def test_a_gpu_of_arm_machines_gets_no_other_wheel(gpu: str, arm: bool) -> None:
    told = resolved("--framework", "pytorch", "--gpu", gpu)
    assert ("TORCH_CUDA_ARCH_LIST=7.5" in told and "No solution" in told) is arm


@pytest.mark.parametrize(
    ("gpu", "old"),
    [
        ("GeForce 210", True),
        ("GeForce 9800 GT", True),
        ("Tesla C1060", True),
        ("1.3", True),
        ("GeForce RTX 3055", False),
    ],
)
def test_a_gpu_of_the_tesla_generation_is_no_typing_error(gpu: str, old: bool) -> None:
    told = resolved("--framework", "pytorch", "--gpu", gpu)
    assert ("compute capability 1.x" in told) is old and ("Did you mean" in told) is not old


def test_a_jetson_is_told_what_its_python_takes() -> None:
    told = resolved("--framework", "jax", "--gpu", "Jetson AGX Orin")
    assert "0.4.13 is the last JAX" in told and "PYTHON_VERSION=3.10" in told
    old = resolved("--framework", "pytorch==1.13", "--gpu", "Jetson Xavier NX")
    assert "PyTorch 1.13.0 for L4T 35" in old and "L4T 32: no wheel of PyTorch 1.13" in old


@pytest.mark.parametrize(
    ("words", "note"),
    [
        (("tensorflow", "--cuda", "7.5"), "with cuDNN 4"),
        (("paddlepaddle", "--gpu", "GeForce RTX 3080"), "2.0 is the first PaddlePaddle with packages for CUDA 11"),
        (("mxnet", "--gpu", "GeForce RTX 3090"), "nvidia-nccl-cu11"),
        (("numba", "--cuda", "12.1", "--driver", "525.105.17"), "no newer than the CUDA of the driver"),
    ],
)
def test_what_is_to_know_of_packages(words: tuple[str, ...], note: str) -> None:
    assert note in resolved("--framework", *words)
    assert note not in resolved("--framework", "pytorch")


@pytest.mark.parametrize(("torch", "fails"), [("1.7.1", True), ("1.8.2", False)])
def test_a_companion_of_the_long_term_release(torch: str, fails: bool, tmp_path: Path) -> None:
    told = checked(f"torch=={torch}\ntorchvision==0.9.2\n", tmp_path)
    assert ("torchvision==0.8.2" in told) is fails


@pytest.mark.parametrize(("index", "unknown"), [("https://pypi.jetson-ai-lab.io/jp6/cu126", True), ("", False)])
def test_a_jetson_index_is_asked_and_no_server_wheel_proposed(index: str, unknown: bool, tmp_path: Path) -> None:
    extra = f"--extra-index-url {index}\n" if index else ""
    told = checked(f"{extra}onnxruntime-gpu==1.23.0\n", tmp_path, "--gpu", "Jetson Orin NX")
    assert ("index versions onnxruntime-gpu" in told) is unknown
    assert ("finds no matching distribution" in told) is not unknown
    assert "use onnxruntime-gpu==" not in told


def test_the_board_that_takes_server_wheels_is_still_offered_one(tmp_path: Path) -> None:
    told = checked("onnxruntime-gpu==1.23.0\n", tmp_path, "--gpu", "Jetson T5000")
    assert "use onnxruntime-gpu==" in told


@pytest.mark.parametrize(("system", "old"), [("debian11", True), ("debian12", False)])
def test_a_prebuilt_wheel_needs_the_glibc_of_its_builder(system: str, old: bool, tmp_path: Path) -> None:
    told = checked("torch==2.7.1\nflash-attn==2.8.1\n", tmp_path, "--os", system)
    assert ("needs glibc 2.32" in told and "FORCE_BUILD" in told) is old
    assert ("releases/download" in told) is not old


@pytest.mark.parametrize(
    ("system", "channel", "doubted"),
    [("windows", "nvidia", True), ("windows", "conda-forge", False), ("ubuntu20.04", "conda-forge", False)],
)
def test_a_conda_toolkit_without_its_channel(system: str, channel: str, doubted: bool, tmp_path: Path) -> None:
    text = (_FILES / "v-41" / "environment.yml").read_text(encoding="utf-8").replace("nvidia", channel)
    told = checked(text, tmp_path, "--os", system, name="environment.yml")
    assert ("It is not known whether the channels" in told) is doubted


def test_frameworks_share_a_cudnn_that_is_new_enough(tmp_path: Path) -> None:
    told = checked("torch==2.5.1\ntorchvision==0.20.1\ntensorflow==2.15.0\n", tmp_path)
    assert "Use torch==2.3.1 with torchvision==0.18.1." in told


@pytest.mark.parametrize(("torch", "vision", "fails"), [("2.4.1", "0.19.1", True), ("2.3.1", "0.18.1", False)])
def test_the_rest_moves_with_torch(torch: str, vision: str, fails: bool, tmp_path: Path) -> None:
    told = checked(f"torch=={torch}\ntorchvision=={vision}\ntorchtext==0.18.0\n", tmp_path)
    assert ("with torchvision==0.18.1; no newer torchtext than 0.18.0 is known" in told) is fails


@pytest.mark.parametrize(("gpu", "later"), [("GeForce RTX 3090", True), ("Tesla V100", False)])
def test_a_container_with_an_early_cuda_is_judged_by_its_line(gpu: str, later: bool) -> None:
    told = printed("dockerfile", "--check", str(_FILES / "v-53" / "Dockerfile"), "--gpu", gpu)
    assert ("nvcr.io/nvidia/pytorch:20.10-py3" in told) is later and "not known" not in told


@pytest.mark.parametrize(("driver", "refused"), [("460.73.01", True), ("495.44", False)])
def test_an_image_that_refuses_a_driver_names_the_one_it_takes(driver: str, refused: bool) -> None:
    told = printed("dockerfile", "--check", str(_FILES / "v-55" / "Dockerfile"), "--driver", driver)
    assert ("495.29.05 or newer" in told and "CUDA 11.2 or older" in told) is refused


@pytest.mark.parametrize(("cuda", "compiler"), [("12.0", True), ("10.1", False)])
def test_parts_without_archives_are_packages_of_nvidia(cuda: str, compiler: bool) -> None:
    told = printed("install", "--cuda", cuda, "--components", "nvcc", "--os", "ubuntu22.04", "--target", "any")
    ending = cuda.replace(".", "-")
    assert f"cuda-toolkit-{ending}" in told and (f"cuda-nvcc-{ending}" in told) is compiler


def test_numba_without_a_gpu_is_told_which_toolkits_it_takes() -> None:
    told = printed("doctor", "--from", str(_FILES / "v-60" / "report.txt"))
    assert "CUDA 11 from 11.2 on" in told and "pip check" not in told
