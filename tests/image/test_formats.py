from __future__ import annotations

import json
import re
import shlex
import subprocess
import textwrap
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from envkit.base.errors import EnvkitError, RequestError
from envkit.image.options import ImageOptions, check_options
from envkit.render.apptainer import render_apptainer
from envkit.render.compose import render_compose
from envkit.render.conda import render_conda
from envkit.render.devcontainer import render_devcontainer
from envkit.render.dockerfile import render_dockerfile
from envkit.render.dockerignore import render_dockerignore
from envkit.render.requirements import render_requirements
from envkit.tables import Matrix
from tests.hostile.payloads import MARK, SHELL, STEERING
from tests.image.making import made, run


def test_compose_holds_the_dockerfile(matrix: Matrix) -> None:
    recipe = made(matrix, "pytorch", options=ImageOptions(jupyter=True))
    rendered = render_compose(recipe)
    inline = rendered.split("dockerfile_inline: |\n")[1].split("    tty: true")[0]
    assert textwrap.dedent(inline).replace("$$", "$") == render_dockerfile(recipe)
    assert "capabilities: [gpu]" in rendered
    assert '"127.0.0.1:8888:8888"' in rendered
    assert "    shm_size: 8gb\n" in rendered


@pytest.mark.parametrize("payload", [payload for payload in SHELL if payload.isprintable()])
def test_apptainers_shell_reads_the_words_of_the_entrypoint(payload: str, matrix: Matrix, tmp_path: Path) -> None:
    """A Dockerfile lists them, and nothing reads them there; the script of a definition file is a shell's."""
    options = ImageOptions(entrypoint=f"python -c {shlex.quote(payload)} x")
    (line,) = re.findall(r'^    exec (.*) "\$@"$', render_apptainer(made(matrix, "pytorch", options=options)), re.M)
    done = subprocess.run(["bash", "-c", f"printf '%s\\0' {line}"], cwd=tmp_path, capture_output=True, check=True)
    assert done.stdout.decode().split("\0")[:-1] == ["python", "-c", payload, "x"]
    assert not (tmp_path / MARK).exists()


@pytest.mark.parametrize("payload", STEERING)
def test_what_is_not_drawn_lands_in_no_file(payload: str) -> None:
    """It would break a line, or make it look like another."""
    for options in (ImageOptions(pip=(f"x=={payload}",)), ImageOptions(entrypoint=f"python '{payload}'")):
        with pytest.raises(RequestError) as caught:
            check_options(options)
        assert str(caught.value).isprintable()


def test_devcontainer_gives_the_gpus(matrix: Matrix) -> None:
    document = json.loads(render_devcontainer(made(matrix, "pytorch")))
    assert document["build"] == {"dockerfile": "Dockerfile"}
    assert document["runArgs"] == ["--gpus", "all", "--shm-size=8g"]
    assert "/opt/venv/bin/python" in json.dumps(document)


def test_conda_pins_python_and_packages(matrix: Matrix) -> None:
    recipe = made(matrix, "pytorch")
    rendered = render_conda(recipe)
    assert f"  - python={recipe.python}\n" in rendered
    assert re.search(r'^      - "torch==\d', rendered, re.M)


def test_requirements_are_readable_by_pip(matrix: Matrix) -> None:
    rendered = render_requirements(made(matrix, "tensorflow"))
    lines = [line for line in rendered.splitlines() if not line.startswith("#")]
    names = {Requirement(line).name for line in lines}
    assert "tensorflow" in names


def test_devcontainer_says_what_writes_its_dockerfile(tmp_path: Path) -> None:
    options = ("--framework", "pytorch", "--target", "any", "--apt", "git", "--pip", "pandas>=2", "--slim")
    folder = tmp_path / ".devcontainer"
    folder.mkdir()
    shown = run(*options, "--format", "devcontainer", "-o", str(folder / "devcontainer.json"))
    told = re.search(r"with the same options: (envkit dockerfile .*)", shown.stderr)
    assert told is not None
    again = shlex.split(told.group(1))[2:]
    assert again == [*again[:-2], "-o", str(folder / "Dockerfile")]
    assert sorted(again[:-2]) == sorted(options)
    run(*again)
    written = (folder / "Dockerfile").read_text()
    assert "        git" in written and '"pandas>=2"' in written
    assert "nvidia/cuda" not in written


@pytest.mark.parametrize("target", ["conda", "requirements"])
def test_a_mirror_of_distribution_packages_has_no_place_in_a_list(target: str) -> None:
    options = ("--framework", "pytorch", "--target", "any", "--format", target)
    with pytest.raises(RequestError, match="--mirror apt= applies only to an image"):
        run(*options, "--mirror", "apt=https://mirror.example/ubuntu")


def test_lists_of_packages_say_what_their_loader_is_not_reported(matrix: Matrix) -> None:
    for render in (render_conda, render_requirements):
        assert "# Note: a program calls onnxruntime.preload_dlls()" in render(made(matrix, "onnxruntime"))
        assert "preload" not in render(made(matrix, "pytorch"))
    shown = run("--framework", "onnxruntime", "--target", "any", "--format", "requirements")
    assert "Note: a program calls onnxruntime.preload_dlls()" in shown.stderr


def test_apptainer_copies_from_stages_that_exist(matrix: Matrix) -> None:
    rendered = render_apptainer(made(matrix, "mxnet", cuda="11.2"))
    stages = re.findall(r"^Stage: (\S+)$", rendered, re.M)
    copied = re.findall(r"^%files from (\S+)$", rendered, re.M)
    assert set(copied) <= set(stages[:-1])
    assert stages[-1] == "runtime"
    assert rendered.count("Bootstrap: docker") == len(stages)
    assert "From: ubuntu:20.04" in rendered
    assert rendered.index("%test") > rendered.index("%runscript") > rendered.index("%environment")


@pytest.mark.parametrize(
    ("render", "framework", "options", "why"),
    [
        (render_conda, "mxnet", ImageOptions(), "libraries from the system"),
        (render_requirements, "mxnet", ImageOptions(), "libraries from the system"),
        (render_conda, "pytorch", ImageOptions(apt=("git",)), "--apt"),
        (render_requirements, "pytorch", ImageOptions(workdir="/data"), "--workdir"),
        (render_requirements, "pytorch", ImageOptions(entrypoint="x"), "--entrypoint"),
        (render_conda, "pytorch", ImageOptions(user="me"), "--user"),
        (render_conda, "pytorch==2.5.1", ImageOptions(official=True), "--from official"),
        (render_requirements, "pytorch", ImageOptions(requirements="r.txt"), "--requirements"),
        (render_requirements, "pytorch", ImageOptions(base="mine:1"), "--base applies only to an image"),
        (render_conda, "pytorch", ImageOptions(slim=True), "--slim"),
        (render_conda, "pytorch", ImageOptions(digest=True), "--digest"),
        (render_requirements, "pytorch", ImageOptions(syntax=False), "--no-syntax"),
        (render_devcontainer, "pytorch", ImageOptions(entrypoint="x"), "--entrypoint"),
        (render_apptainer, "pytorch", ImageOptions(jupyter=True), "health checks"),
        (render_apptainer, "pytorch", ImageOptions(user="me"), "--user"),
    ],
)
def test_what_a_format_cannot_express_is_an_error(
    matrix: Matrix, render: object, framework: str, options: ImageOptions, why: str
) -> None:
    assert callable(render)
    with pytest.raises(EnvkitError, match=why):
        render(made(matrix, framework, options=options))


def test_indexes_that_one_file_cannot_keep_apart(matrix: Matrix) -> None:
    recipe = made(matrix, "pytorch==2.5.1", cuda="11.8", options=ImageOptions(pip=("six==1.16.0",)))
    with pytest.raises(EnvkitError, match="different indexes"):
        render_requirements(recipe)


def test_the_context_is_empty_but_for_the_requirements() -> None:
    assert render_dockerignore(()).splitlines()[1:] == ["*"]
    assert render_dockerignore(["r.txt"]).splitlines()[1:] == ["*", "!r.txt"]
