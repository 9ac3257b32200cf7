"""What a blind set of questions with files taught (tests/solver/questions-7): companions, lists of wheels, conda."""

from __future__ import annotations

from pathlib import Path

import pytest

from envkit.checks.engine.findings import Finding, Status
from tests.cli.run import envkit
from tests.project.test_judge import findings_on

_PYG = "--find-links https://data.pyg.org/whl/torch-1.8.1+cu102.html\n"
_MMCV = "--find-links https://download.openmmlab.com/mmcv/dist/cu121/torch2.3/index.html\n"
_DETECTRON = "--find-links https://dl.fbaipublicfiles.com/detectron2/wheels/cu113/torch1.10/index.html\n"


def _failing(found: tuple[Finding, ...] | list[Finding]) -> list[str]:
    return [one.title for one in found if one.status is Status.FAIL]


def _told(folder: Path, name: str, text: str, *words: str) -> str:
    """What `envkit check` prints of a file, on one line."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return " ".join(envkit("check", str(path), "--target", "any", *words).stdout.split())


@pytest.mark.parametrize(
    ("text", "target", "fails"),
    [
        ("torch==2.9.0\ntorchaudio\n", "", "for a newer torch than the pinned one"),
        ("torch==2.11.0\ntorchaudio\n", "", ""),
        ("torch==2.9.0\ntorchaudio==2.9.0\n", "", ""),
        ("torch==1.13.1\ntorchaudio\n", "--python 3.9", ""),  # whose Python the newest release does not take
        ("torch==1.1.0\ntorchvision==0.4.0\n", "", "torchvision 0.4.0 requires torch==1.2.0"),
        ("torch==1.2.0\ntorchvision==0.4.0\n", "", ""),
        ("torch==1.2.0\ntorchaudio==0.3.1\n", "", "torchaudio 0.3.1 requires torch==1.3.0"),
        ("mmdet==3.3.0\nmmcv==2.2.0\n", "", "only before 2.2"),
        ("mmdet==3.3.0\nmmcv==2.1.0\n", "", ""),
        ("mmsegmentation==1.1.2\nmmcv==2.1.0\n", "", "only before 2.1"),
        ("mmpose==1.3.2\nmmcv==2.2.0\n", "", ""),
        ("torch==2.3.1+cu118\ntransformer-engine[pytorch]==1.13.0\n", "", "transformer-engine==1.13.0 does not work"),
        ("torch==2.3.1\ntransformer-engine[pytorch]==1.13.0\n", "", ""),
        ("torch==1.13.0\nflash-attn==0.2.2\n", "--gpu 7.0", "7.5 or higher"),
        ("torch==1.13.0\nflash-attn==0.2.2\n", "--gpu 7.5", ""),
        ("flash-attn\n", "--gpu 7.5", "8.0 or higher"),  # pip takes the newest
        ("sglang==0.5.10\n", "--gpu 7.5", "8.0 or higher"),
        ("sglang==0.5.10\n", "--gpu 8.6", ""),
        ("bitsandbytes>=0.43.3\n", "--os centos7", "need glibc 2.24 or newer, and CentOS 7 has 2.17"),
        ("torch==2.0.1\nbitsandbytes\n", "--os centos7", ""),  # pip takes an older one
        ("bitsandbytes>=0.43.3\n", "--os ubuntu22.04", ""),
        ("cudf-polars-cu11==25.8.*\n", "", "there is no cudf-polars-cu11==25.8.*"),
        ("cudf-polars-cu11==25.6.*\n", "", ""),
        ("cudf-polars-cu12==25.8.*\n", "", ""),
    ],
)
def test_what_fails_and_what_does_not(text: str, target: str, fails: str, tmp_path: Path) -> None:
    index = "--extra-index-url https://download.pytorch.org/whl/cu118\n" if "+cu118" in text else ""
    titles = _failing(findings_on(index + text, target, tmp_path))
    assert any(fails in title for title in titles) if fails else not titles


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("torch==2.9.0\ntorchaudio\n", "torchaudio==2.9.0."),
        ("torch==2.1.2\ntriton==2.2.0\n", "triton==2.1.0."),
        ("torch==2.1.2\ntorchvision==0.16.2\ntorchtext==0.17.0\n", "torchtext==0.16.2."),
        (
            "--extra-index-url https://download.pytorch.org/whl/cu121\ntorch==2.4.0\nxformers==0.0.28\n",
            "xformers==0.0.27.post2.",
        ),
        ("vllm==0.7.2\nxformers==0.0.29.post2\n", "xformers==0.0.28.post3."),  # which this vLLM requires
        ("torch==1.12.0\nvllm==0.4.0\n", "torch==2.1.2."),  # no vLLM is made for 1.12
    ],
)
def test_the_companion_changes_and_the_framework_stays(text: str, change: str, tmp_path: Path) -> None:
    assert f"Change the file to use {change}" in _told(tmp_path, "requirements.txt", text, "--gpu", "A100")


def test_a_release_without_a_wheel_is_not_offered(tmp_path: Path) -> None:
    index = "--extra-index-url https://download.pytorch.org/whl/cu113\n"
    told = _told(
        tmp_path, "requirements.txt", f"{index}torch==1.12.1+cu113\ntorchvision==0.13.1+cu113\nxformers==0.0.23\n"
    )
    assert "xformers==0.0.16" in told and "0.0.13" not in told


def test_a_package_for_another_torch_says_nothing_of_the_cuda_of_this_one(tmp_path: Path) -> None:
    told = _told(tmp_path, "requirements.txt", "torch==1.12.0\nvllm==0.4.0\n", "--gpu", "A100")
    assert "a different torch does not help" not in told


@pytest.mark.parametrize(
    ("text", "fails"),
    [
        (f"{_DETECTRON}torch==2.0.1\ndetectron2==0.6\n", "are for PyTorch 1.10 with CUDA 11.3, but it installs"),
        (
            f"--extra-index-url https://download.pytorch.org/whl/cu113\n{_DETECTRON}torch==1.10.1+cu113\ndetectron2==0.6\n",
            "",
        ),
        (f"{_MMCV}torch==2.1.0\nmmcv==2.2.0\n", "are for PyTorch 2.3 with CUDA 12.1, but it installs"),
        (f"{_MMCV}torch==2.3.0\nmmcv==2.2.0\n", ""),
    ],
)
def test_a_list_of_wheels_is_for_one_torch(text: str, fails: str, tmp_path: Path) -> None:
    found = findings_on(text, "", tmp_path)
    titles = _failing(found)
    assert any(fails in title for title in titles) if fails else not titles
    assert not any("no data" in one.title or "which build of torch" in one.title for one in found)


def test_a_release_that_its_list_does_not_have_is_compiled_and_the_one_that_it_has_is_named(tmp_path: Path) -> None:
    text = f"--extra-index-url https://download.pytorch.org/whl/cu102\n{_PYG}torch==1.8.1\ntorch-scatter=="
    told = _told(tmp_path, "requirements.txt", f"{text}2.0.9\n")
    assert "compiles it from source" in told and "has wheels of torch-scatter 2.0.8" in told
    assert "Not checked" not in _told(tmp_path, "requirements.txt", f"{text}2.0.8\n")


@pytest.mark.parametrize(
    ("specs", "fails"),
    [
        (("cudatoolkit=8.0=3", "pytorch=0.4.0=py35_cuda9.0.176_cudnn7.1.2_1"), "is a build for CUDA 9.0, but"),
        (("cudatoolkit=9.0", "pytorch=0.4.0=py35_cuda9.0.176_cudnn7.1.2_1"), ""),
        (("cudatoolkit=11.8", "pytorch=2.0.0=cuda112py310he33e0d6_200"), ""),  # conda-forge's take any CUDA 11
        (("pytorch=0.3.1", "torchvision=0.2.1"), "require PyTorch 0.4 or newer"),
        (("pytorch=0.4.0", "torchvision=0.2.1"), ""),
        (("pytorch=1.13.1", "torchvision=0.13.1"), "is for pytorch==1.12.1, but pytorch=1.13.1 is requested"),
        (("pytorch=1.13.1", "torchvision=0.14.1"), ""),
        (("pytorch=1.13", "torchvision=0.14.1"), ""),
    ],
)
def test_packages_of_conda_that_no_solution_has_together(specs: tuple[str, ...], fails: str, tmp_path: Path) -> None:
    listed = "".join(f"  - {one}\n" for one in specs)
    told = _told(tmp_path, "environment.yml", f"channels:\n  - pytorch\n  - defaults\ndependencies:\n{listed}")
    assert fails in told if fails else "FAIL" not in told


@pytest.mark.parametrize(
    ("more", "fails"),
    [
        ("", True),
        ('[system-requirements]\ncuda = "12"\n', False),
    ],
)
def test_pixi_takes_a_build_for_cuda_where_the_manifest_declares_it(more: str, fails: bool, tmp_path: Path) -> None:
    head = '[project]\nname = "demo"\nchannels = ["conda-forge"]\nplatforms = ["linux-64"]\n'
    text = f'{head}{more}[dependencies]\njaxlib = {{ version = "*", build = "*cuda*" }}\n'
    assert ("declares no CUDA" in _told(tmp_path, "pixi.toml", text)) is fails
    plain = text.replace('{ version = "*", build = "*cuda*" }', '"*"')
    assert "declares no CUDA" not in _told(tmp_path, "pixi.toml", plain)


def test_poetry_takes_a_caret_for_a_range(tmp_path: Path) -> None:
    head = '[tool.poetry]\nname = "demo"\nversion = "0.1.0"\n[tool.poetry.dependencies]\npython = "^3.6"\n'
    told = _told(tmp_path, "pyproject.toml", f'{head}torch = "1.1.0"\ntorchvision = "^0.4.0"\n')
    assert "but torch==1.1.0 is also requested" in told and "torchvision==0.3.0" in told
    assert "FAIL" not in _told(tmp_path, "pyproject.toml", f'{head}torch = "1.2.0"\ntorchvision = "^0.4.0"\n')
