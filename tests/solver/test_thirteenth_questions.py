"""What a tenth set of sixty questions taught (questions-10), with what must not be caught next to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.solver.printed import checked, only_file, printed, resolved

_FILES = Path(__file__).parent / "questions-10"


def _text(name: str) -> str:
    return only_file(_FILES / name).read_text(encoding="utf-8")


def test_which_cuda_the_default_packages_of_paddle_are_for() -> None:
    told = resolved("--framework", "paddlepaddle==1.8", "--cuda", "10.2")
    assert "2.0 to 2.4 are for CUDA 10.2, 2.5.0 for CUDA 11.2, and 2.5.1 to 2.6 for CUDA 11.8" in told
    assert told.count("2.0 is the first PaddlePaddle") == 1


@pytest.mark.parametrize(("release", "plan"), [("2.6.1", True), ("2.4.0", False)])
def test_paddle_for_cuda_12_on_windows(release: str, plan: bool) -> None:
    told = resolved("--framework", f"paddlepaddle=={release}", "--cuda", "12.0", "--os", "windows")
    assert ("paddlepaddle-gpu==2.6.1.post120" in told and "cuDNN 8.9" in told) is plan


@pytest.mark.parametrize(
    ("system", "line", "warned"),
    [("windows", "torch>=2.7.1", True), ("ubuntu22.04", "torch>=2.7.1", False), ("windows", "torch==2.7.1+cpu", False)],
)
def test_a_build_is_for_the_cpu_only_on_windows(system: str, line: str, warned: bool, tmp_path: Path) -> None:
    assert ("installs a CPU build" in checked(f"{line}\n", tmp_path, "--os", system)) is warned


@pytest.mark.parametrize(("system", "fails"), [("windows", True), ("ubuntu22.04", False)])
def test_the_index_of_pytorch_has_no_triton_for_windows(system: str, fails: bool, tmp_path: Path) -> None:
    index = "--extra-index-url https://download.pytorch.org/whl/cu124\n"
    told = checked(index + _text("x-55").replace("torch==2.4.1", "torch==2.4.1+cu124"), tmp_path, "--os", system)
    assert (
        "Use triton-windows==3.1.0.post17, or use WSL, or leave it out on Windows (triton==3.0.0; sys_platform" in told
    ) is fails


@pytest.mark.parametrize(
    ("gpu", "driver", "first"), [("NVIDIA A10G", "450.142.00", "470"), ("RTX 3090", "450.142.00", "455")]
)
def test_the_first_driver_of_a_board(gpu: str, driver: str, first: str) -> None:
    told = resolved("--framework", "pytorch", "--gpu", gpu, "--driver", driver)
    assert f"yet: it needs {first} or newer" in told


@pytest.mark.parametrize(("gpu", "release", "runs"), [("RTX 2080 Ti", "0.4.0", False), ("RTX 4090", "1.13.1", True)])
def test_a_build_that_its_cudnn_rules_out_is_not_said_to_run(gpu: str, release: str, runs: bool) -> None:
    assert ("warns that it supports" in resolved("--framework", f"pytorch=={release}", "--gpu", gpu)) is runs


@pytest.mark.parametrize(
    ("columns", "row"), [("version,visual_studio", "11.2.0 2017-19"), ("version,visual_studio", "11.8.0 2017-22 17.9")]
)
def test_the_table_of_toolkits_knows_visual_studio(columns: str, row: str) -> None:
    assert row in printed("matrix", "toolkits", "--columns", columns)


@pytest.mark.parametrize(("branch", "words"), [("470", "Kepler"), ("515", "Turing and newer")])
def test_the_table_of_branches_knows_open_modules(branch: str, words: str) -> None:
    told = printed("matrix", "driver_branches", branch, "--columns", "branch,families,open_modules")
    assert words in told and ("Turing and newer" in told) is (branch == "515")


@pytest.mark.parametrize(("torch", "fails"), [("1.12.1+cu113", True), ("1.11.0+cu115", False)])
def test_a_list_of_pyg_names_its_pytorch(torch: str, fails: bool, tmp_path: Path) -> None:
    told = checked(_text("x-56").replace("1.12.1+cu113", torch), tmp_path)
    assert ("torch-scatter==2.0.9 that the file takes are for PyTorch 1.11 with CUDA 11.5" in told) is fails
    assert "pytorch-geometric.readthedocs.io" in told


def test_a_list_for_another_patch_of_pytorch_fits(tmp_path: Path) -> None:
    told = checked(_text("x-22"), tmp_path)
    assert "which fits PyTorch 1.7.1 for CUDA 10.1" in told and "ERROR" not in told


@pytest.mark.parametrize(("torch", "fails"), [("2.3.0+cu121", True), ("2.2.1+cu121", False)])
def test_dgl_has_libraries_for_certain_releases_of_pytorch(torch: str, fails: bool, tmp_path: Path) -> None:
    told = checked(_text("x-57").replace("2.3.0+cu121", torch), tmp_path)
    assert ("libgraphbolt_pytorch" in told) is fails


def test_what_is_made_for_the_same_line_of_pytorch(tmp_path: Path) -> None:
    assert "For torch 1.13, use xformers==0.0.16 with torch==1.13.1." in checked(_text("x-25"), tmp_path)
    assert "No wheel of detectron2==0.6 is on record for PyTorch 1.11" in checked(_text("x-23"), tmp_path)


def test_a_companion_without_a_suffix_keeps_none(tmp_path: Path) -> None:
    told = checked(_text("x-30"), tmp_path, "--gpu", "GeForce RTX 3090", "--fix")
    assert "+torch==1.7.1+cu110" in told and "torchaudio==0.7.2+" not in told and told.count("--find-links") == 1


@pytest.mark.parametrize(
    ("words", "note", "other"),
    [
        (("mxnet", "--cuda", "11.8"), "there is no mxnet-cu118", ("mxnet", "--cuda", "11.2")),
        (("jax", "--os", "windows"), "no JAX release has packages that use the GPU on Windows itself", ("jax",)),
        (("tensorflow==2.12", "--os", "windows"), "the package tensorflow-gpu has ended", ("tensorflow==2.12",)),
        (("rapids", "--gpu", "Tesla K80"), "No release of RAPIDS runs on this GPU", ("rapids", "--gpu", "Tesla V100")),
        (("rapids", "--cuda", "12.0"), "25.10 is the last release for CUDA 12.0", ("rapids", "--cuda", "12.5")),
        (("vllm", "--gpu", "Tesla P100-PCIE-16GB"), "llama.cpp", ("vllm", "--gpu", "Tesla T4")),
    ],
)
def test_what_is_to_know_of_packages(words: tuple[str, ...], note: str, other: tuple[str, ...]) -> None:
    assert note in resolved("--framework", *words)
    assert note not in resolved("--framework", *other)


@pytest.mark.parametrize(("cuda", "refused"), [("11.8", True), ("12.4", False)])
def test_no_plan_for_a_cuda_that_no_release_works_with(cuda: str, refused: bool) -> None:
    told = resolved("--framework", "tensorrt-llm", "--cuda", cuda)
    assert ("no release is for CUDA 11" in told and "Plan" not in told) is refused


@pytest.mark.parametrize(
    ("board", "cuda", "note"),
    [
        ("Jetson Nano", "10.0", "CUDA 10.0 is that of JetPack 4.2.2"),
        ("Jetson AGX Orin", "12.2", "cuda-compat-12-2 for Jetson"),
        ("Jetson Nano", "11.4", "CUDA 11.4 does not run there"),
    ],
)
def test_which_jetpack_has_a_cuda(board: str, cuda: str, note: str) -> None:
    assert note in resolved("--framework", "pytorch", "--gpu", board, "--cuda", cuda)
    assert "cuda-compat" not in resolved("--framework", "pytorch", "--gpu", board)


def test_the_jetson_zoo_has_onnxruntime_for_jetpack_4() -> None:
    told = resolved("--framework", "onnxruntime", "--gpu", "Jetson AGX Xavier", "--cuda", "10.2")
    assert "ONNX Runtime 1.11.0 for L4T 32" in told


@pytest.mark.parametrize(("gpu", "helps"), [("GeForce RTX 2080 Ti", False), ("Tesla T4", True)])
def test_an_image_for_a_newer_driver_names_an_older_tag(gpu: str, helps: bool) -> None:
    file = str(_FILES / "x-45" / "Dockerfile")
    told = printed("dockerfile", "--check", file, "--gpu", gpu, "--driver", "560.35.03")
    assert "nvcr.io/nvidia/pytorch:24.12-py3 has (CUDA 12.6.3.004)" in told
    assert ("cuda-compat) does not help" not in told) is helps


def test_parts_of_a_toolkit_by_their_packages_and_folder() -> None:
    told = printed("install", "--cuda", "11.7", "--components", "nvcc", "--os", "ubuntu20.04", "--target", "any")
    assert "cuda-cudart-dev-11-7" in told and "CUDA_HOME=/usr/local/cuda-11.7" in told


def test_what_is_left_to_one_process_with_mig() -> None:
    assert "use a larger instance, or whole GPUs with MIG off" in printed("explain", "mig-one-instance-visible")
