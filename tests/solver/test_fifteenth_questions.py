"""What a twelfth set of sixty questions taught (questions-12), with what must not be caught next to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.solver.printed import only_file, printed, resolved

_FILES = Path(__file__).parent / "questions-12"


def _checked(name: str, tmp_path: Path, *words: str, old: str = "", new: str = "") -> str:
    """What is told of a file of the set, with other words in it where some are given."""
    text = only_file(_FILES / name).read_text(encoding="utf-8")
    assert old in text
    place = tmp_path / only_file(_FILES / name).name
    place.write_text(text.replace(old, new) if old else text, encoding="utf-8")
    return printed("check", str(place), *words, "--target", "any")


@pytest.mark.parametrize(
    ("cuda", "told"),
    [("11.3", "There is no pytorch-cuda 11.3: it exists for CUDA 11.6, 11.7, 11.8, 12.1, and 12.4"), ("11.7", "")],
)
def test_pytorch_cuda_exists_for_certain_releases(cuda: str, told: str, tmp_path: Path) -> None:
    found = _checked("w-37", tmp_path, "--os", "windows", old="11.3", new=cuda)
    assert told in found and ("pytorch=1.12.1 with cudatoolkit=11.3" in found) is bool(told)


@pytest.mark.parametrize(("system", "cuda", "fails"), [("windows", "10.2", True), ("windows", "11.3", False)])
def test_a_cuda_that_conda_has_no_pytorch_of_for_windows(system: str, cuda: str, fails: bool, tmp_path: Path) -> None:
    found = _checked("w-36", tmp_path, "--os", system, old="10.2", new=cuda)
    assert ("conda takes one for the CPU" in found and "cudatoolkit=11.3 or 11.6" in found) is fails


@pytest.mark.parametrize(("old", "new", "open_"), [("", "", True), ("- nvidia", "- conda-forge", False)])
def test_a_cudatoolkit_that_only_another_channel_is_named_for(old: str, new: str, open_: bool, tmp_path: Path) -> None:
    found = _checked("w-35", tmp_path, old=old, new=new)
    assert ("installs pytorch for the CPU" in found and "pytorch=1.9.0=*cuda11.1*" in found) is open_


def test_a_toolkit_of_conda_without_a_version(tmp_path: Path) -> None:
    found = _checked("w-38", tmp_path)
    assert "cuda has no version" in found and "2.7.1" not in found
    assert "has no version" not in _checked("w-38", tmp_path, old='cuda = "*"', new='cuda = "11.8.*"')


def test_people_write_pixi_toml() -> None:
    assert "generated" not in printed("check", str(only_file(_FILES / "w-38")), "--fix", "--target", "any")


def test_which_builds_the_channel_pytorch_has(tmp_path: Path) -> None:
    found = _checked("w-39", tmp_path)
    assert "for CUDA 11.8, 12.1, and 12.4, and for the CPU" in found and "do not ask for a driver" in found
    other = _checked("w-39", tmp_path, old='version = "2.4.0", channel = "pytorch"', new='version = "2.4.0"')
    assert "do not ask for a driver" not in other


@pytest.mark.parametrize(("bound", "fails"), [(">=3.12", True), (">=3.10", False)])
def test_a_cpu_build_has_the_pythons_of_its_release(bound: str, fails: bool, tmp_path: Path) -> None:
    found = _checked("w-40", tmp_path, "--os", "windows", old=">=3.12", new=bound)
    assert ("wheels only for Python 3.8, 3.9, 3.10, 3.11" in found) is fails
    assert ("installs a CPU build" in found) is not fails


def test_which_pythons_a_build_of_another_index_is_for(tmp_path: Path) -> None:
    assert "its wheels are for Python 3.8 to 3.11 alone" in _checked("w-41", tmp_path)
    assert "its wheels are for" not in _checked("w-41", tmp_path, "--python", "3.10")


def test_the_companion_of_an_exact_pytorch(tmp_path: Path) -> None:
    assert "Change the file to use xformers==0.0.24." in _checked("w-21", tmp_path)
    assert "ERROR" not in _checked("w-21", tmp_path, old="0.0.27", new="0.0.24")


def test_vllm_loads_the_cuda_that_it_was_compiled_for(tmp_path: Path) -> None:
    found = _checked("w-25", tmp_path, "--driver", "520.61.05")
    assert "driver 525.60.13 or newer" in found and "vllm==0.2.5" not in found and "+cu118" in found
    older = _checked("w-25", tmp_path, old="vllm==0.2.6", new="vllm==0.2.5")
    assert "libcudart.so.12" in older
    assert "libcudart.so.12" not in _checked("w-25", tmp_path, old="cu118", new="cu121")


@pytest.mark.parametrize(
    ("name", "old", "new", "fails"),
    [
        ("w-19", "", "", True),
        ("w-19", "mmcv==2.1.0", "mmcv==2.2.0", False),
        ("w-20", "", "", False),
        ("w-20", "mmcv==2.1.0", "mmcv==1.7.2", False),
    ],
)
def test_what_the_lists_of_mmcv_have(name: str, old: str, new: str, fails: bool, tmp_path: Path) -> None:
    found = _checked(name, tmp_path, old=old, new=new)
    assert ("has no mmcv==2.1.0, only 2.2.0" in found and "Use PyTorch 2.1 with CUDA 11.8 or 12.1" in found) is fails


def test_a_set_from_a_complete_list_is_fine(tmp_path: Path) -> None:
    assert "No errors found." in _checked("w-20", tmp_path)


def test_a_folder_of_wheels_names_its_pytorch(tmp_path: Path) -> None:
    assert "No errors found." in _checked("w-33", tmp_path)
    other = _checked("w-33", tmp_path, old="py310_cu118_pyt210", new="py38_cu113_pyt1121")
    assert "is for PyTorch 1.12.1 with CUDA 11.3" in other and "1 error" in other


def test_torch_sparse_for_an_older_pytorch(tmp_path: Path) -> None:
    found = _checked("w-27", tmp_path)
    assert "its project has wheels of torch-sparse 0.6.12" in found and "torch-1.9.1+cu111.html" in found
    other = _checked("w-27", tmp_path, old="torch-sparse==0.6.14", new="torch-sparse==0.6.12")
    assert "has wheels of torch-sparse" not in other


@pytest.mark.parametrize(("python", "fails"), [("3.7", True), ("3.9", False)])
def test_rapids_ended_for_python_3_7(python: str, fails: bool, tmp_path: Path) -> None:
    found = _checked("w-10", tmp_path, old="python=3.7", new=f"python={python}")
    assert ("22.02 is the last release for Python 3.7" in found and "conda finds no solution" in found) is fails


@pytest.mark.parametrize(("cuda", "there"), [("10.2", True), ("11.0", False)])
def test_which_faiss_conda_has(cuda: str, there: bool, tmp_path: Path) -> None:
    assert ("No errors found." in _checked("w-30", tmp_path, old="10.2", new=cuda)) is there


def test_no_release_of_spconv_is_for_a_jetson(tmp_path: Path) -> None:
    found = _checked("w-26", tmp_path, "--gpu", "Jetson AGX Orin")
    assert "1 error" in found and "CUMM_CUDA_ARCH_LIST" in found
    assert "1 error" not in _checked("w-26", tmp_path, "--gpu", "RTX 3090")


@pytest.mark.parametrize(("system", "fails"), [("windows", True), ("ubuntu24.04", False)])
def test_tensorrt_llm_left_windows(system: str, fails: bool, tmp_path: Path) -> None:
    assert ("is built for Linux, not for Windows" in _checked("w-60", tmp_path, "--os", system)) is fails


def test_code_for_another_major_version_has_to_be_ported(tmp_path: Path) -> None:
    found = _checked("w-05", tmp_path, "--gpu", "GeForce RTX 3090")
    assert "has to be ported to TensorFlow 2" in found and "TensorFlow 1.15 for newer GPUs" in found
    assert "Install CUDA 9.0" not in found and "Install CUDA 9.0" in _checked("w-05", tmp_path)


def test_minkowski_engine_is_compiled(tmp_path: Path) -> None:
    assert "does not compile with CUDA 12 as it is" in _checked("w-31", tmp_path, "--gpu", "GeForce RTX 5090")


@pytest.mark.parametrize(("release", "gpu", "known"), [("7.1.3", "RTX 3080", False), ("7.1.3", "RTX 2080 Ti", True)])
def test_gpus_that_came_after_a_tensorrt(release: str, gpu: str, known: bool) -> None:
    told = resolved("--framework", f"tensorrt=={release}", "--gpu", gpu, "--os", "windows")
    assert ("TensorRT 7.2 is the first release that does" in told) is not known


def test_tensorrt_knows_blackwell_and_cuda_10_2() -> None:
    told = resolved("--framework", "tensorrt", "--cuda", "13.0", "--gpu", "GeForce RTX 5070 Ti")
    assert "as it does the RTX 50 series since 10.8" in told and "architecture list is not known" not in told
    assert "TensorRT releases for CUDA 10.2: 7.0.0" in resolved("--framework", "tensorrt", "--cuda", "10.2")


@pytest.mark.parametrize(("cuda", "noted"), [("10.0", True), ("12.5", False)])
def test_the_last_rapids_for_an_old_cuda(cuda: str, noted: bool) -> None:
    assert ("0.14 is the last release for CUDA 10.0" in resolved("--framework", "rapids", "--cuda", cuda)) is noted


@pytest.mark.parametrize(("driver", "fails"), [("535.154.05", True), ("550.54.14", False)])
def test_the_compat_of_an_image_is_not_for_geforce(driver: str, fails: bool) -> None:
    words = ("--check", str(only_file(_FILES / "w-47")), "--driver", driver)
    assert ("error 804" in printed("dockerfile", *words, "--gpu", "GeForce RTX 2080 Ti")) is fails
    assert "error 804" not in printed("dockerfile", *words, "--gpu", "A100-SXM4-80GB")


@pytest.mark.parametrize(("cuda", "refused"), [("11.4", True), ("10.2", False)])
def test_a_cuda_that_no_jetpack_of_a_board_has(cuda: str, refused: bool) -> None:
    told = resolved("--cuda", cuda, "--gpu", "Jetson Nano")
    assert ("No solution" in told) is refused and "the last CUDA for" not in told


@pytest.mark.parametrize(("cuda", "warned"), [("10.1", True), ("9.2", False)])
def test_extensions_need_the_nvcc_of_the_build(cuda: str, warned: bool) -> None:
    told = resolved("--framework", "pytorch==0.4.1", "--cuda", cuda)
    assert ("compiled with the nvcc of CUDA 9.2 (and GCC 7 or older)" in told) is warned and "torch.utils.ffi" in told


def test_the_gcc_of_fedora_37() -> None:
    words = ("--cuda", "11.8", "--components", "nvcc", "--os", "fedora37", "--target", "any")
    assert "nvcc 11.8 supports GCC up to 11, not 12.2.1" in printed("install", *words)
