"""`--project`: a plan for what a project's files ask for, and an image with the rest of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from envkit.cli.main import envkit

Written = Callable[[Mapping[str, str]], Path]
PYPROJECT = '[project]\nname = "demo"\nrequires-python = ">=3.9,<3.12"\ndependencies = [{}]\n'
LOCK = """version = 1
requires-python = ">=3.10"
[[package]]
name = "torch"
version = "2.5.1"
source = {{ registry = "https://{host}/simple" }}
[[package]]
name = "tqdm"
version = "4.66.1"
source = {{ registry = "https://{host}/simple" }}
"""


@pytest.fixture
def written(tmp_path: Path) -> Written:
    def write(files: Mapping[str, str]) -> Path:
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        return tmp_path

    return write


def run(*words: object) -> Result:
    return CliRunner().invoke(envkit, [*map(str, words), "--target", "any"], standalone_mode=False)


def choice(*words: object) -> dict[str, Any]:
    done = run("resolve", "--json", *words)
    assert done.exception is None, done.exception
    found: dict[str, Any] = json.loads(done.stdout)["choice"]
    return found


def of(*words: object) -> tuple[str, str, str]:
    found = choice(*words)
    [framework] = found["frameworks"]
    return f"{framework['name']} {framework['version']}", found["cuda"] or framework["cuda"], found["python"]


def test_a_list_with_a_suffix_chooses_the_cuda(written: Written) -> None:
    folder = written(
        {"requirements.txt": "pandas\ntorch==2.6.0+cu118\n--extra-index-url https://x.example/whl/cu118\n"}
    )
    assert of("--project", folder)[:2] == ("pytorch 2.6.0", "11.8")
    assert of("--project", folder / "requirements.txt")[:2] == ("pytorch 2.6.0", "11.8")


def test_a_project_bounds_versions_and_python(written: Written) -> None:
    folder = written({"pyproject.toml": PYPROJECT.format('"tensorflow~=2.15.0", "pandas>=2"')})
    framework, _, python = of("--project", folder)
    assert framework == "tensorflow 2.15.1" and python in ("3.9", "3.10", "3.11")


def test_a_lock_pins_what_the_project_leaves_open(written: Written) -> None:
    folder = written({"pyproject.toml": PYPROJECT.format('"torch>=2"'), "uv.lock": LOCK.format(host="mirror.example")})
    assert of("--project", folder)[0] == "pytorch 2.5.1"


def test_an_environment_of_conda_provides_its_python(written: Written) -> None:
    text = "dependencies:\n  - python=3.9\n  - pytorch=1.13\n  - pip:\n    - tqdm==4.66.1\n"
    folder = written({"environment.yml": text})
    assert (of("--project", folder)[0], of("--project", folder)[2]) == ("pytorch 1.13.1", "3.9")


def test_options_outweigh_the_project(written: Written) -> None:
    folder = written({"requirements.txt": "torch==2.6.0+cu118\n"})
    assert of("--project", folder, "--framework", "pytorch==2.5.1", "--python", "3.12")[::2] == (
        "pytorch 2.5.1",
        "3.12",
    )
    assert of("--project", folder, "--cuda", "12.4")[1].startswith("12.4")


def test_a_companion_alone_asks_for_its_torch(written: Written) -> None:
    assert of("--project", written({"requirements.txt": "torchvision==0.20.1\n"}))[0] == "pytorch 2.5.1"


def test_the_image_installs_the_projects_list(written: Written) -> None:
    folder = written({"requirements.txt": "torch==2.6.0\npandas>=2\n"})
    done = run("dockerfile", "--project", folder)
    assert "requirements.txt" in done.stdout and "torch==2.6.0" in done.stdout
    assert "Note: The image installs requirements.txt; keep it next to the Dockerfile" in done.stderr


def test_the_image_installs_what_a_project_without_a_list_names(written: Written) -> None:
    names = (
        '"torch==2.6.0", "pandas>=2,<3", "requests[socks]", "demo-x @ https://x.example/x.whl", "tqdm; os_name==\'nt\'"'
    )
    done = run("dockerfile", "--project", written({"pyproject.toml": PYPROJECT.format(names)}))
    assert '"pandas>=2,<3"' in done.stdout and '"requests[socks]"' in done.stdout
    assert '"demo-x @ https://x.example/x.whl"' in done.stdout and "tqdm" not in done.stdout


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "has no project file."),
        ({"requirements.txt": "pandas\n"}, "names no framework that envkit knows."),
        (
            {"requirements.txt": "torch==99.1\n"},
            "line 1 asks for torch==99.1, which is not a version that envkit knows.",
        ),
        ({"pyproject.toml": "[project\n"}, "it is not TOML"),
        ({"requirements.txt": "torch\0\n"}, "is not text."),
    ],
)
def test_what_cannot_be_planned_is_reported_in_a_line(files: dict[str, str], said: str, written: Written) -> None:
    for command in ("resolve", "install", "dockerfile"):
        assert said in str(run(command, "--project", written(files)).exception)


def test_a_word_of_a_project_is_no_shell(written: Written) -> None:
    hostile = '"torch==2.6.0", "pandas$(touch x)", "a;b", "x`id`"'
    done = run("dockerfile", "--project", written({"pyproject.toml": PYPROJECT.format(hostile)}))
    assert "$(touch" not in done.stdout and "`id`" not in done.stdout and "a;b" not in done.stdout


def test_a_python_that_only_pyproject_requires_counts_beside_a_list(written: Written) -> None:
    folder = written(
        {
            "requirements.txt": "torch==2.6.0\n",
            "pyproject.toml": '[project]\nname = "demo"\nrequires-python = ">=3.12"\ndependencies = ["numpy"]\n',
        }
    )
    done = run("resolve", "--json", "--project", folder)
    assert json.loads(done.stdout)["choice"]["python"] == "3.12" and "pyproject.toml" in done.stderr
    (folder / "requirements.txt").write_text("torch==2.1.0\n")  # has no package for that
    assert json.loads(run("resolve", "--json", "--project", folder).stdout)["status"] != "ok"


@pytest.mark.parametrize(("more", "installs"), [((), False), (("--cuda", "11.8"), True), (("--toolkit",), True)])
def test_the_cuda_in_a_suffix_is_the_packages_own(more: tuple[str, ...], installs: bool, written: Written) -> None:
    folder = written({"requirements.txt": "torch==2.6.0+cu118\n"})
    done = run("install", "--os", "ubuntu22.04", "--project", folder, *more)
    assert ("TOOLKIT_DIR=" in done.stdout) is installs and "torch==2.6.0" in done.stdout
