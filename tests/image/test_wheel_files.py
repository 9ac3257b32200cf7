"""Builds that share a version with another build: what pip really takes, from an index and a page on loopback."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from envkit.base.settings import Mirrors
from envkit.base.versions import Version
from envkit.install.environment import framework_steps
from envkit.solver.wheel_files import requirement_lines
from envkit.tables import Matrix
from tests.image.making import made, plan, text
from tests.image.standins import serving


def wheel(folder: Path, name: str, version: str, tag: str, requires: str = "") -> None:
    """A package that holds its metadata alone."""
    folder.mkdir(parents=True, exist_ok=True)
    info = f"{name}-{version}.dist-info"
    needs = f"Requires-Dist: {requires}\n" if requires else ""
    with zipfile.ZipFile(folder / f"{name}-{version}-{tag}.whl", "w") as packed:
        packed.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}")
        packed.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: false\nTag: {tag}\n")
        packed.writestr(f"{info}/RECORD", "")


def page(folder: Path, file: str) -> None:
    """The page that links every wheel of a folder."""
    links = [f'<a href="{one.name}">{one.name}</a><br>' for one in sorted(folder.glob("*.whl"))]
    (folder / file).write_text("\n".join(links))


@pytest.mark.thorough
def test_pip_takes_the_build_of_the_page(matrix: Matrix, tmp_path: Path) -> None:
    """As with PyTorch 1.1.0: the index holds the manylinux wheel of CUDA 9.0, the page that of CUDA 10.0.

    Many a pip prefers the former to the latter, so the page's files have to be named one by one.
    """
    tag = "cp37-cp37m"
    for name, version, requires in (("torch", "1.1.0", "six"), ("torchvision", "0.3.0", "torch>=1.1.0")):
        wheel(tmp_path / "www/whl/cu100", name, version, f"{tag}-linux_x86_64", requires)
        wheel(tmp_path / f"www/simple/{name}", name, version, f"{tag}-manylinux1_x86_64", requires)
        page(tmp_path / f"www/simple/{name}", "index.html")
    wheel(tmp_path / "www/simple/six", "six", "1.16.0", "py3-none-any")
    page(tmp_path / "www/simple/six", "index.html")
    wheel(tmp_path / "www/simple/pillow", "pillow", "6.2.2", "py3-none-any")  # torchvision's companion here
    page(tmp_path / "www/simple/pillow", "index.html")
    page(tmp_path / "www/whl/cu100", "torch_stable.html")
    build = plan(matrix, "pytorch==1.1", cuda="10.0").choice.builds[0]
    with serving(tmp_path / "www") as address:
        mirrors = Mirrors(hosts={"download.pytorch.org": address})
        lines = tuple(requirement_lines(build, Version.of(3, 7), "x86_64", mirrors))
        target = tmp_path / "taken"
        pip = [sys.executable, "-m", "pip", "--isolated", "download", "--quiet", "--no-cache-dir"]
        index = ["--index-url", f"{address}/simple/", "--dest", str(target)]
        index += ["--python-version", "37", "--abi", "cp37m", "--only-binary", ":all:"]
        index += ["--platform", "linux_x86_64", "--platform", "manylinux1_x86_64"]
        own_config = {**os.environ, "PIP_CONFIG_FILE": os.devnull}  # this machine's may add another index
        subprocess.run([*pip, *index, *lines], check=True, env=own_config)
    assert {one.name for one in target.iterdir()} == {
        f"torch-1.1.0-{tag}-linux_x86_64.whl",
        f"torchvision-0.3.0-{tag}-linux_x86_64.whl",
        "six-1.16.0-py3-none-any.whl",
        "pillow-6.2.2-py3-none-any.whl",
    }


@pytest.mark.parametrize(
    ("framework", "cuda", "file"),
    [
        ("pytorch==1.1", "10.0", "cu100/torch-1.1.0-cp37-cp37m-linux_x86_64.whl"),
        ("pytorch==1.1", "10.0", "cu100/torchvision-0.3.0-cp37-cp37m-linux_x86_64.whl"),
        ("pytorch==0.4.1", "9.2", "cu92/torch-0.4.1-cp37-cp37m-linux_x86_64.whl"),
        ("pytorch==1.0.0", "8.0", "cu80/torch-1.0.0-cp37-cp37m-linux_x86_64.whl"),
    ],
)
def test_the_file_is_named(matrix: Matrix, framework: str, cuda: str, file: str) -> None:
    rendered = text(matrix, framework, cuda=cuda)
    assert f" @ https://download.pytorch.org/whl/{file}" in rendered
    assert "--find-links" not in rendered
    step = next(framework_steps(plan(matrix, framework, cuda=cuda).choice, Mirrors()))
    assert any(line.endswith(file) for line in step.requirements)
    assert "--find-links" not in step.source


def test_builds_with_a_version_of_their_own_are_found_on_their_page(matrix: Matrix) -> None:
    rendered = text(matrix, "pytorch==1.2", cuda="9.2")
    assert '--find-links "https://download.pytorch.org/whl/torch_stable.html"' in rendered
    assert '"torch==1.2.0+cu92"' in rendered


def test_a_python_whose_file_is_not_known_leaves_the_choice_to_pip(matrix: Matrix) -> None:
    build = plan(matrix, "pytorch==1.1", cuda="10.0").choice.builds[0]
    assert tuple(requirement_lines(build, None, "x86_64", Mirrors())) == (build.package, *build.companions)
    pure = replace(build, companions=("torchvision==0.2.2",))
    assert tuple(requirement_lines(pure, Version.of(3, 6), "x86_64", Mirrors()))[1] == "torchvision==0.2.2"
    assert made(matrix, "pytorch==1.1", cuda="10.0").pip[0].find_links is None
