"""A project whose list has packages that are compiled, and extras that can no longer be installed."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from envkit.cli.main import envkit

_GONE = "tensorrt-libs 8.6.1"


def _run(*words: object) -> str:
    return CliRunner().invoke(envkit, [*map(str, words)], standalone_mode=False).output


@pytest.mark.parametrize(
    ("lines", "compiled"),
    [
        ("torch==2.5.1\nflash-attn==2.7.4.post1\n", True),
        ("torch==2.5.1\nflash-attn\nnumpy<2\n", True),
        ("torch==2.4.1\ndeepspeed==0.15.4\n", True),
        ("torch==2.5.1\nnumpy<2\n", False),
        ("--find-links https://wheels.example/whl\ntorch==2.5.1\nflash-attn==2.7.4.post1\n", False),
    ],
)
def test_the_image_of_a_list_passes_its_own_check(lines: str, compiled: bool, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text(lines)
    file = tmp_path / "Dockerfile"
    _run("dockerfile", "--project", tmp_path, "--os", "ubuntu22.04", "--target", "any", "-o", file)
    assert ("--no-build-isolation" in file.read_text()) is compiled
    assert "FAIL" not in _run("dockerfile", "--check", file)


@pytest.mark.parametrize(
    ("later", "fails"),
    [("", False), ("==2.7.4.post1", False), ("==2.6.3", True), (" --upgrade", True)],
)
def test_what_an_earlier_command_installed_is_not_compiled_again(later: str, fails: bool, tmp_path: Path) -> None:
    file = tmp_path / "Dockerfile"
    file.write_text(
        "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\nRUN apt-get update && apt-get install -y python3-pip\n"
        "RUN pip install torch==2.5.1\nRUN pip install -f https://wheels.example/whl flash-attn==2.7.4.post1\n"
        f"RUN pip install --no-build-isolation flash-attn{later}\n"
    )
    assert ("[image.compiler-missing]" in _run("dockerfile", "--check", file)) is fails


@pytest.mark.parametrize(
    ("line", "gone"),
    [
        ("tensorflow[and-cuda]==2.15.0", True),
        ("tensorflow[and-cuda]==2.15.0.post1", False),
        ("tensorflow[and-cuda]==2.15.1", False),
        ("tensorflow==2.15.0", False),
        ("--extra-index-url https://pypi.nvidia.com tensorflow[and-cuda]==2.15.0", False),
    ],
)
def test_an_extra_that_the_index_no_longer_completes(line: str, gone: bool, tmp_path: Path) -> None:
    file = tmp_path / "Dockerfile"
    file.write_text(f"FROM python:3.11\nRUN pip install {line}\n")
    assert (_GONE in " ".join(_run("dockerfile", "--check", file).split())) is gone
    plain = tmp_path / "requirements.txt"
    plain.write_text(line.replace(" tensorflow", "\ntensorflow") + "\n")
    assert (_GONE in " ".join(_run("check", plain, "--target", "any").split())) is gone


def test_the_offered_extra_can_be_installed(tmp_path: Path) -> None:
    file = tmp_path / "Dockerfile"
    file.write_text("FROM python:3.11\nRUN pip install tensorflow==2.15.0\n")
    assert "tensorflow[and-cuda]==2.15.0.post1" in _run("dockerfile", "--check", file)


def test_a_release_of_two_numbers_is_to_pip_the_first_of_its_line(tmp_path: Path) -> None:
    file = tmp_path / "Dockerfile"
    file.write_text("FROM python:3.11\nRUN pip install 'tensorflow[and-cuda]==2.15'\n")
    assert _GONE in " ".join(_run("dockerfile", "--check", file).split())
