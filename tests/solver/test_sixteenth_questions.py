"""What a thirteenth set of questions taught (questions-13), with what must not be caught next to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.solver.printed import checked, resolved

_STABLE = "-f https://download.pytorch.org/whl/torch_stable.html\n"


@pytest.mark.parametrize(
    ("release", "cuda", "address"),
    [
        ("1.2", "10.0", "cu100/torch-1.2.0-cp37-cp37m-win_amd64.whl"),
        ("1.7.1", "10.2", "cu102/torch-1.7.1-cp39-cp39-win_amd64.whl"),
        ("1.10.1", "10.2", "torch==1.10.1+cu102"),
        ("1.13.1", "11.7", "torch==1.13.1+cu117"),
    ],
)
def test_wheels_for_windows_of_the_cuda_that_the_index_has_for_linux(release: str, cuda: str, address: str) -> None:
    assert address in resolved("--framework", f"pytorch=={release}", "--cuda", cuda, "--os", "windows")


@pytest.mark.parametrize(("system", "there"), [("windows", False), ("ubuntu18.04", True)])
def test_cuda_9_2_ended_earlier_on_windows(system: str, there: bool) -> None:
    found = resolved("--framework", "pytorch==1.6", "--cuda", "9.2", "--os", system)
    assert ("torch==1.6.0+cu92" in found) is there


@pytest.mark.parametrize(
    ("line", "words", "taken"),
    [
        ("torch==1.7.1", (), "pip takes one for AMD GPUs (+rocm)"),
        ("torch==1.7.1+cu110", (), ""),
        ("torch==1.7.1", ("--os", "windows"), ""),
        ("torch==1.4.0", ("--gpu", "Tesla T4"), "cuDNN 7.6.3.30 for CUDA 9.2"),
        ("torch==1.4.0+cu101", ("--gpu", "Tesla T4"), ""),
    ],
)
def test_of_several_suffixes_pip_takes_the_highest(
    line: str, words: tuple[str, ...], taken: str, tmp_path: Path
) -> None:
    found = checked(f"{_STABLE}{line}\n", tmp_path, "--python", "3.7", *words)
    assert taken in found if taken else "No errors found." in found


def test_what_is_true_of_old_releases_is_not_told_of_the_newest() -> None:
    assert "torch.utils.ffi" not in resolved("--framework", "pytorch", "--gpu", "Tesla K80")
    assert "torch.utils.ffi" in resolved("--framework", "pytorch==0.4.1")


def test_the_last_vllm_for_cuda_11() -> None:
    newer = resolved("--framework", "vllm==0.11.0", "--cuda", "11.8")
    assert "0.10.1.1 is the last release of vLLM with a wheel for CUDA 11.8" in newer and "Pascal" not in newer
    older = resolved("--framework", "vllm==0.9.1", "--cuda", "11.8")
    assert "0.10.1.1 is the last that has one" in older and "newer ones need CUDA 12" not in older


def _conda(*lines: str, channels: tuple[str, ...] = ("pytorch", "nvidia")) -> str:
    listed = "".join(f"  - {channel}\n" for channel in channels)
    return f"channels:\n{listed}dependencies:\n" + "".join(f"  - {line}\n" for line in lines)


@pytest.mark.parametrize(
    ("cuda", "channels", "fails"),
    [
        ("12.1", ("pytorch", "nvidia"), True),
        ("11.8", ("pytorch", "nvidia"), False),
        ("12.1", ("pytorch", "nvidia", "conda-forge"), False),
    ],
)
def test_a_cuda_of_pytorch_cuda_that_a_release_lacks(
    cuda: str, channels: tuple[str, ...], fails: bool, tmp_path: Path
) -> None:
    text = _conda("python=3.10", "pytorch=2.0.1", f"pytorch-cuda={cuda}", channels=channels)
    found = checked(text, tmp_path, name="environment.yml")
    assert ("The channel pytorch has pytorch 2.0.1 for CUDA 11.7 and 11.8, not for 12.1" in found) is fails
    assert ("Use pytorch-cuda=11.7 or 11.8, or pytorch=2.1.0 or newer." in found) is fails


def test_for_which_cuda_there_are_wheels_where_it_is_not_known_of_conda(tmp_path: Path) -> None:
    text = _conda("pytorch=1.3.1", "cudatoolkit=10.0", channels=("pytorch", "conda-forge"))
    found = checked(text, tmp_path, "--os", "windows", name="environment.yml")
    assert "Check with conda search: its wheels are for CUDA 9.2 and 10.1." in found


@pytest.mark.parametrize(
    ("release", "page", "told"),
    [
        ("2.2.0", "data.pyg.org/whl/torch-2.2.0+121.html", "end with +cu121.html"),
        ("2.2.0", "data.pyg.org/whl/torch-2.2.0+cu12.1.html", "end with +cu121.html"),
        ("2.2.0", "data.pyg.org/whl/torch-2.2.0+cu121.html", ""),
        ("2.2.0", "data.pyg.org/whl/torch-2.2.0+cpu.html", ""),
        ("1.7.1", "pytorch-geometric.com/whl/torch-1.4.0+cu101.html", "is for PyTorch 1.4 with CUDA 10.1"),
    ],
)
def test_lists_of_wheels_by_their_addresses(release: str, page: str, told: str, tmp_path: Path) -> None:
    text = f"torch=={release}\n-f https://{page}\ntorch-scatter\n"
    found = checked(text, tmp_path, "--python", "3.8")
    assert told in found if told else "ERROR" not in found
