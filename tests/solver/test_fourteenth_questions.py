"""What an eleventh set of eighty questions taught (questions-11), with what must not be caught next to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.solver.printed import checked, only_file, resolved

_FILES = Path(__file__).parent / "questions-11"


def _text(name: str) -> str:
    return only_file(_FILES / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "pin", "other", "needed"),
    [
        ("y-49", "9.5.1.17", "9.10.2.21", "nvidia-cudnn-cu12>=9.8,<10"),
        ("y-50", "8.5.0.96", "8.6.0.163", "nvidia-cudnn-cu11>=8.6,<9"),
    ],
)
def test_a_cudnn_older_than_the_one_that_a_framework_was_compiled_with(
    name: str, pin: str, other: str, needed: str, tmp_path: Path
) -> None:
    text = _text(name)
    assert f"Use {needed}." in checked(text, tmp_path)
    assert "was compiled with cuDNN" not in checked(text.replace(pin, other), tmp_path)


def test_a_page_with_the_files_of_one_framework_is_no_place_of_another(tmp_path: Path) -> None:
    told = checked(_text("y-47"), tmp_path, "--python", "3.10")
    assert (
        "requires nvidia-cublas-cu12==12.2.5.6, but PyTorch 2.1.1" in told and "It is not known which build" not in told
    )
    other = _text("y-47").replace("storage.googleapis.com/jax-releases/jax_cuda_releases", "example.org/cuda")
    assert "It is not known which build of torch==2.1.1" in checked(other, tmp_path, "--python", "3.10")


@pytest.mark.parametrize(
    ("line", "absent"),
    [
        ("faiss-gpu==1.7.4", True),
        ("faiss-gpu>=1.7.3,<1.8", True),
        ("numpy==1.19.6", True),
        ("faiss-gpu>=1.7.2,<1.8", False),
        ("numpy==1.19.*", False),
        ("numpy==1.21.0rc1", False),
        ("numpy==99.0", False),
    ],
)
def test_a_release_between_two_of_the_index_is_not_there(line: str, absent: bool, tmp_path: Path) -> None:
    assert ("The default index has no" in checked(f"{line}\ntorch==2.1.0\n", tmp_path)) is absent


def test_what_is_on_another_index_is_not_missed(tmp_path: Path) -> None:
    text = "--extra-index-url https://example.org/simple\nfaiss-gpu==1.7.4\n"
    assert "The default index has no" not in checked(text, tmp_path)


@pytest.mark.parametrize(("torch", "told"), [("2.5.1", True), ("2.3.1", False)])
def test_an_ended_package_without_a_bound(torch: str, told: bool, tmp_path: Path) -> None:
    found = checked(f"torch=={torch}\ntorchtext\n", tmp_path)
    assert ("0.18.0 (April 2024) is the last release of torchtext" in found) is told


@pytest.mark.parametrize(("line", "ended"), [("mmcv-full==2.0.0", True), ("mmcv-full==1.7.1", False)])
def test_a_release_after_the_last_one(line: str, ended: bool, tmp_path: Path) -> None:
    assert ("mmcv-full ended with 1.7.2" in checked(f"{line}\n", tmp_path)) is ended


@pytest.mark.parametrize(("torch", "ended"), [("2.0", True), ("1.10", False)])
def test_a_list_of_wheels_after_the_last_ones(torch: str, ended: bool, tmp_path: Path) -> None:
    text = _text("y-39")
    if not ended:
        text = text.replace("2.0.0+cu118", "1.10.0+cu113").replace("cu118", "cu113").replace("torch2.0", "torch1.10")
    assert ("its wheels ended with PyTorch 1.10" in checked(text, tmp_path)) is ended


@pytest.mark.parametrize(
    ("name", "words", "bound", "right"),
    [
        ("y-15", (), "torch>=2.0.0,<=2.7.1", "torch==2.7.1+cu128, torchvision==0.22.1+cu128"),
        ("y-16", (), "torch>=2.0.0,<=2.2.2", ""),
        ("y-69", (), "autoawq 0.1.6 requires torch>=2.1.0", "torch==2.1.0+cu118"),
        ("y-58", (), "its compiled libraries are for PyTorch before 2.2", "Use PyTorch 2.1"),
        ("y-60", ("--os", "windows"), "does not find graphbolt_pytorch", "torch==2.3.1+cu121"),
        ("y-19", ("--os", "windows"), "compiled with PyTorch 2.3", "torch==2.3.0+cu121"),
    ],
)
def test_what_packages_next_to_pytorch_take(
    name: str, words: tuple[str, ...], bound: str, right: str, tmp_path: Path
) -> None:
    told = checked(_text(name), tmp_path, *words)
    assert bound in told and right in told


@pytest.mark.parametrize(
    ("text", "words", "against"),
    [
        ("torch==2.7.1\nlmdeploy==0.9.2.post1\n", (), "lmdeploy 0.9.2.post1 requires"),
        ("torch==2.1.2\ndgl==2.0.0\n", (), "compiled libraries"),
        ("torch==2.2.1\ndeepspeed==0.15.0\n", (), "compiled with PyTorch 2.3"),
    ],
)
def test_what_goes_together_is_left_alone(text: str, words: tuple[str, ...], against: str, tmp_path: Path) -> None:
    assert against not in checked(text, tmp_path, *words)


def test_which_releases_have_a_wheel_where_the_one_asked_for_has_none(tmp_path: Path) -> None:
    windows = checked(_text("y-52"), tmp_path, "--os", "windows", "--python", "3.11")
    assert "in these releases: 0.14.5 to 0.15.0, 0.16.3 to 0.16.5" in windows
    assert "in these releases" not in checked(_text("y-52"), tmp_path, "--python", "3.11")


@pytest.mark.parametrize(("release", "early"), [("10.6.0", True), ("11.6.0", False)])
def test_the_first_release_under_a_name(release: str, early: bool, tmp_path: Path) -> None:
    told = checked(f"cupy-cuda11x=={release}\n", tmp_path)
    assert ("those of cupy-cuda11x begin with 11.0.0" in told and "Use cupy-cuda117==10.6.0" in told) is early


@pytest.mark.parametrize(("cuda", "told"), [("11.1", True), ("11.0", False)])
def test_chainer_goes_with_newer_cupy_in_its_last_releases_alone(cuda: str, told: bool) -> None:
    found = resolved("--framework", "chainer", "--cuda", cuda)
    assert ("Chainer 7.8 is the first release that works with CuPy 8" in found) is told
    assert "Chainer 7.1.0 and CuPy" not in found


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ("tensorflow", "--cuda", "8.0", "--gpu", "GeForce GTX 1080 Ti", "--os", "windows"),
            "came out in 2017, after CUDA 8.0",
        ),
        (("tensorflow", "--cuda", "8.0", "--gpu", "GeForce GTX 1080", "--os", "windows"), ""),
        (("pytorch", "--driver", "525.60.13", "--gpu", "NVIDIA H200"), "than driver branch 525 (2022)"),
        (("pytorch", "--driver", "525.60.13", "--gpu", "NVIDIA H100 PCIe"), ""),
    ],
)
def test_a_card_that_came_after_others_with_its_chip(words: tuple[str, ...], told: str) -> None:
    found = resolved("--framework", *words)
    assert told in found if told else "came out in" not in found


@pytest.mark.parametrize(("gpu", "refuses"), [("GeForce RTX 3060", True), ("Tesla T4", False)])
def test_an_image_refuses_a_driver_that_runs_its_cuda(gpu: str, refuses: bool) -> None:
    told = resolved("--cuda", "12.6", "--driver", "535.104.05", "--gpu", gpu)
    assert ("an image for CUDA 12.6 refuses it when a container starts" in told) is refuses


def test_where_lmdeploy_for_cuda_11_is() -> None:
    assert "for CUDA 12 since 0.3.0, and for CUDA 11.8 before" in resolved("--framework", "lmdeploy", "--cuda", "11.8")


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        ("transformers>=4.40,<4.45\ntokenizers==0.21.0\n", "tokenizers>=0.19,<0.20"),
        ("transformers~=4.41.0\ntokenizers==0.21.0\n", "tokenizers>=0.19,<0.20"),
        ("transformers==4.41.*\ntokenizers>=0.20\n", "tokenizers>=0.19,<0.20"),
        ("transformers>=4.40,<5\ntokenizers==0.13.3\n", "tokenizers>=0.22.0,<=0.23.0"),
        ("lmdeploy>=0.9,<0.10\ntorch==2.8.0\n", "torch>=2.0.0,<=2.7.1"),
        ("transformers>=4.40,<4.46\ntokenizers==0.20.0\n", ""),  # 4.45 does
        ("transformers>=4.40\ntokenizers==0.13.3\n", ""),  # what comes next is not known
        ("lmdeploy>=0.4,<0.6\ntorch==2.3.0\n", ""),  # 0.5.3 does
    ],
)
def test_what_every_release_of_a_range_requires(text: str, needed: str, tmp_path: Path) -> None:
    told = checked(text, tmp_path)
    assert f"requires {needed}, but" in told if needed else "requires" not in told


@pytest.mark.parametrize(
    ("name", "told"), [("facebookresearch/detectron2.git", True), ("huggingface/transformers", False)]
)
def test_what_a_repository_is_compiled_with(name: str, told: bool, tmp_path: Path) -> None:
    text = _text("y-42").replace("facebookresearch/detectron2.git", name)
    found = checked(text, tmp_path, name="environment.yml")
    assert ("comes from its repository" in found and "an nvcc of CUDA 11" in found) is told


@pytest.mark.parametrize(("release", "fails"), [("4.5.0", True), ("3.24.0", False)])
def test_ctranslate2_loads_the_cuda_that_it_was_made_for(release: str, fails: bool, tmp_path: Path) -> None:
    told = checked(_text("y-67").replace("4.5.0", release), tmp_path, "--python", "3.10")
    assert ("Use ctranslate2 3.24.0, the last for CUDA 11" in told) is fails
