"""`--project`: the environment of conda next to a list without a framework, and what the check says of the image."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import Result

from tests.project.test_wishes import run

ENVIRONMENT = "channels: [pytorch, defaults]\ndependencies:\n  - python=3.8\n  - pytorch=1.7.1\n  - cudatoolkit=10.2\n"
PLAIN = "channels: [defaults]\ndependencies:\n  - python=3.8\n  - pandas\n"


def _image(folder: Path, files: dict[str, str], *words: str) -> Result:
    for name, text in files.items():
        (folder / name).write_text(text)
    return run("dockerfile", "--project", folder, *words)


@pytest.mark.parametrize("name", ["environment.yml", "environment.yaml"])
@pytest.mark.parametrize("more", ["", '  - pip: ["-r requirements.txt"]\n'])
def test_a_list_without_a_framework_and_the_environment_that_names_it(name: str, more: str, tmp_path: Path) -> None:
    done = _image(tmp_path, {"requirements.txt": "einops\nnumpy==1.19.5\n", name: ENVIRONMENT + more})
    assert done.exception is None and done.return_value == 0
    assert '"torch==1.7.1"' in done.stdout and '"einops"' in done.stdout and "Python 3.8" in done.stdout
    assert f"{tmp_path / name}: pytorch==1.7.1, CUDA 10.2, Python 3.8" in done.stderr


def test_what_both_name_is_that_of_the_environment(tmp_path: Path) -> None:
    files = {"requirements.txt": "scipy==1.9.1\n", "environment.yml": f"{ENVIRONMENT}  - scipy=1.5.2\n"}
    done = _image(tmp_path, files)
    assert '"scipy==1.5.2.*"' in done.stdout and "1.9.1" not in done.stdout


def test_a_list_that_names_a_framework_is_taken_alone(tmp_path: Path) -> None:
    done = _image(tmp_path, {"requirements.txt": "torch==2.4.1\n", "environment.yml": ENVIRONMENT})
    assert done.exception is None
    assert "torch==2.4.1" in done.stdout and "environment.yml" not in done.stderr


def test_neither_names_a_framework(tmp_path: Path) -> None:
    done = _image(tmp_path, {"requirements.txt": "einops\n", "environment.yml": PLAIN})
    assert done.exception is not None and "names no framework" in str(done.exception)


@pytest.mark.parametrize(
    ("lines", "wrong"),
    [
        ("torch==2.6.0\ntorchvision==0.15.2\n", "torchvision 0.15.2 requires torch==2.0.1"),
        ("torch==1.13.1\nxformers==0.0.22\n", "xformers 0.0.22 requires torch==2.0.1"),
    ],
)
def test_an_image_that_its_own_check_rejects_is_told(lines: str, wrong: str, tmp_path: Path) -> None:
    done = _image(tmp_path, {"requirements.txt": lines})
    assert done.return_value == 1 and wrong in done.stderr
    assert done.stdout.startswith("# syntax=")
    written = tmp_path / "Dockerfile"
    assert run("dockerfile", "--project", tmp_path, "-o", written).return_value == 1 and written.is_file()
    assert run("dockerfile", "--check", written).return_value == 1


@pytest.mark.parametrize(
    "lines",
    [
        "torch==2.6.0\ntorchvision==0.21.0\n",
        "torch==2.0.1\nxformers==0.0.22\n",
        "tensorflow==2.15.1\nkeras\n",  # the image has it with its CUDA before it installs the list
        "jax[cuda12-local]==0.6.1\nnvidia-cudnn-cu12==9.5.1.17\n",
    ],
)
def test_an_image_without_a_fault_is_written_without_a_word(lines: str, tmp_path: Path) -> None:
    done = _image(tmp_path, {"requirements.txt": lines})
    assert done.return_value == 0 and "Error" not in done.stderr


def test_what_is_not_built_is_not_built(tmp_path: Path) -> None:
    """`--build` stops before the build, with the file."""
    done = _image(tmp_path, {"requirements.txt": "torch==2.6.0\ntorchvision==0.15.2\n"}, "--build")
    assert done.return_value == 1 and done.stdout.startswith("# syntax=")
