"""Packages that pip compiles: built where nvcc and the framework are, installed in an image that has neither."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from envkit.base.errors import EnvkitError, RequestError
from envkit.image.options import ImageOptions
from envkit.image.parts import Recipe, Run
from envkit.render.apptainer import render_apptainer
from envkit.render.conda import render_conda
from envkit.render.dockerfile import render_dockerfile
from envkit.tables import Matrix
from envkit.tables.images import ExtensionBuild
from envkit.tables.loader import read
from tests.image.making import commands, hadolint, made, parsed, run

_TORCH = "pytorch==2.6"
_ADDRESSES = {
    "apex": "NVIDIA/apex@25.08",
    "detectron2": "facebookresearch/detectron2@v0.6",
    "pytorch3d": "facebookresearch/pytorch3d@v0.7.8",
}


def _requirement(row: ExtensionBuild) -> str:
    return row.package if row.index else f"{row.package} @ git+https://github.com/{_ADDRESSES[row.package]}"


def _made(matrix: Matrix, *lines: str, framework: str = _TORCH, **limits: str) -> Recipe:
    return made(matrix, framework, options=ImageOptions(pip=lines), **limits)


def _stages(text: str) -> dict[str, str]:
    """The text of each stage, by its name."""
    parts = re.split(r"^FROM \S+(?: AS (\S+))?$", text, flags=re.M)
    return {name or "": body for name, body in zip(parts[1::2], parts[2::2], strict=True)}


@pytest.mark.parametrize("row", read(ExtensionBuild), ids=lambda row: row.package)
def test_it_is_compiled_with_the_framework_and_its_wheel_taken(row: ExtensionBuild, matrix: Matrix) -> None:
    stages = _stages(render_dockerfile(_made(matrix, _requirement(row), architecture="aarch64")))
    building, image = stages["extensions"], stages["runtime"]
    torch = building.index('"torch==2.6.0')
    assert torch < building.index("pip wheel --no-cache-dir --no-build-isolation --no-deps")
    assert f'        "{_requirement(row)}"' in building
    assert "git+https" not in image and image.count(f'        "{row.package}"') == 2
    assert "--mount=type=bind,from=extensions,source=/opt/wheels,target=/opt/wheels" in image
    assert image.index('"torch==2.6.0') < image.index("pip install --no-index --no-deps")
    assert "build-essential" in building and "build-essential" not in image
    assert re.search(r"^ARG MAX_JOBS=\d+$", building, re.M) and "MAX_JOBS" not in image


@pytest.mark.parametrize(
    "limits",
    [{}, {"cuda": "11.8"}, {"os_id": "rockylinux9"}, {"python": "3.10"}, {"python": "3.13"}],
    ids=str,
)
def test_linter_parser_and_our_own_check_find_nothing(limits: dict[str, str], tmp_path: Path, matrix: Matrix) -> None:
    lines = [_requirement(row) for row in read(ExtensionBuild) if "x86_64" not in row.wheels]
    options = ImageOptions(pip=(*lines, "pandas==2.2.3"))
    place = tmp_path / "Dockerfile"
    place.write_text(render_dockerfile(made(matrix, _TORCH, options=options, **limits)))
    assert parsed(place.read_text()) and hadolint([place]) == []
    checked = run("--check", str(place))
    assert checked.return_value == 0 and not re.search(r"^(FAIL|WARN|UNKNOWN)", checked.stdout, re.M), checked.stdout


def test_a_wheel_of_the_index_is_not_compiled(matrix: Matrix) -> None:
    assert "extensions" not in _stages(render_dockerfile(_made(matrix, "xformers")))
    assert "extensions" in _stages(render_dockerfile(_made(matrix, "xformers", architecture="aarch64")))
    assert not _made(matrix, "pandas").compiled


def test_what_no_cuda_build_needs_is_left_to_pip(matrix: Matrix) -> None:
    assert not _made(matrix, "flash-attn", framework="tensorflow").compiled


@pytest.mark.parametrize(
    ("gpus", "torch", "flash"),
    [(("8.9",), "8.9", "80"), (("8.6", "9.0"), '"8.6;9.0"', '"80;90"'), (("7.5", "8.0"), '"7.5;8.0"', "80")],
)
def test_code_is_for_the_gpus_of_the_request(
    gpus: tuple[str, ...], torch: str, flash: str, tmp_path: Path, matrix: Matrix
) -> None:
    place = tmp_path / "Dockerfile"
    given = [word for gpu in gpus for word in ("--gpu", gpu)]
    run("--framework", _TORCH, "--pip", "flash-attn", *given, "--target", "any", "-o", str(place))
    arguments = commands(place.read_text(), "ARG")
    assert f"TORCH_CUDA_ARCH_LIST={torch}" in arguments and f"FLASH_ATTN_CUDA_ARCHS={flash}" in arguments


def test_without_gpus_code_is_for_those_of_the_framework(matrix: Matrix) -> None:
    recipe = _made(matrix, "flash-attn")
    (build,) = recipe.plan.choice.builds
    assert build.sass
    arguments = commands(render_dockerfile(recipe), "ARG")
    assert f'TORCH_CUDA_ARCH_LIST="{";".join(map(str, build.sass))}"' in arguments
    assert 'FLASH_ATTN_CUDA_ARCHS="80;90"' in arguments


def test_a_gpu_that_it_has_no_code_for_is_refused(matrix: Matrix) -> None:
    with pytest.raises(EnvkitError, match="flash-attn has no code for sm_75"):
        run("--framework", _TORCH, "--pip", "flash-attn", "--gpu", "7.5", "--target", "any")


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (ImageOptions(pip=("apex",)), "--pip apex: the package index does not have"),
        (ImageOptions(pip=("detectron2==0.6",)), "the package index does not have"),
        (ImageOptions(pip=("flash-attn",), lock="r.lock"), "--lock cannot be combined with --pip flash-attn"),
        (ImageOptions(pip=("Flash_Attn",), official=True), "--from official cannot be combined"),
    ],
)
def test_where_it_cannot_be_compiled_the_answer_says_so(options: ImageOptions, why: str, matrix: Matrix) -> None:
    with pytest.raises(RequestError, match=why):
        made(matrix, _TORCH, options=options)


def test_other_formats_keep_it_or_refuse(matrix: Matrix) -> None:
    recipe = _made(matrix, "flash-attn")
    rendered = render_apptainer(recipe)
    assert re.findall(r"^%files from (\S+)\n    (\S+) (\S+)$", rendered, re.M) == [
        ("extensions", "/opt/wheels", "/opt/wheels")
    ]
    assert rendered.index("Stage: extensions") < rendered.index("export MAX_JOBS=") < rendered.index("Stage: runtime")
    with pytest.raises(EnvkitError, match="flash-attn is compiled in a stage of the image"):
        render_conda(recipe)


def test_the_smoke_test_imports_it_where_a_gpu_is(matrix: Matrix) -> None:
    *_, line, last = _made(matrix, "flash-attn").smoke
    assert line.startswith("if test -e /dev/nvidiactl") and "import torch, flash_attn" in line
    assert last.startswith("echo")


@pytest.mark.thorough
def test_pip_takes_the_compiled_wheel_and_then_what_it_requires(matrix: Matrix, tmp_path: Path) -> None:
    """The commands of the image, on a wheel that this test builds: nothing named apex may come from an index."""
    (tmp_path / "six").mkdir()
    (tmp_path / "apex").mkdir()
    for name, version, needs in (("six", "9.9", []), ("apex", "0.1", ["six"])):
        setup = f"from setuptools import setup\nsetup(name={name!r}, version={version!r}, install_requires={needs!r})\n"
        (tmp_path / name / "setup.py").write_text(setup)
    (row,) = (row for row in read(ExtensionBuild) if row.package == "apex")
    (step,) = (step for step in _made(matrix, _requirement(row)).final.steps if isinstance(step, Run) and step.taken)
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    python = str(tmp_path / "venv/bin/python")
    wheels, index = tmp_path / "wheels", tmp_path / "index"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "setuptools", "wheel"], check=True)
    for name, folder in (("apex", wheels), ("six", index)):
        build = ["wheel", "--quiet", "--no-build-isolation", "--no-deps", "--wheel-dir", str(folder)]
        subprocess.run([python, "-m", "pip", *build, str(tmp_path / name)], check=True)
    shutil.copy(next(wheels.iterdir()), index / "apex-99-py3-none-any.whl")  # what an index would rather give
    environment = {"PATH": str(Path(python).parent), "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(index)}
    first, then = (part.replace("\n", " ").replace("/opt/wheels", str(wheels)) for part in step.commands)
    bare = {key: value for key, value in environment.items() if key != "PIP_FIND_LINKS"}
    subprocess.run(["/bin/sh", "-c", first], env=bare, check=True)
    subprocess.run(["/bin/sh", "-c", then], env=environment, check=True)
    listed = subprocess.run([python, "-m", "pip", "freeze"], capture_output=True, text=True, check=True).stdout
    assert {line.split(" @ ")[0] for line in listed.splitlines()} >= {"apex==0.1", "six==9.9"}
