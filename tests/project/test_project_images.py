"""`envkit dockerfile --project`: what an image installs of a project's files, its Python, its CUDA, its versions.

The projects are made for the tests; each shape was met in a public repository.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import Result

from envkit.project.conda_packages import pip_spec_of
from envkit.project.suited_pythons import Asked, suited_pythons
from envkit.tables import Matrix
from tests.project.test_wishes import run

CONDA = "channels: [conda-forge]\ndependencies:\n"


def image(folder: Path, files: Mapping[str, str], *words: str) -> Result:
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    done = run("dockerfile", "--project", folder, *words)
    assert done.exception is None, done.exception
    return done


def of_conda(folder: Path, *lines: str) -> Result:
    return image(folder, {"environment.yml": CONDA + "".join(f"  - {line}\n" for line in lines)})


def listed(folder: Path, *lines: str) -> Result:
    return image(folder, {"requirements.txt": "".join(f"{line}\n" for line in lines)})


def head(done: Result) -> str:
    """The comment at the head of the Dockerfile."""
    return done.stdout[: done.stdout.index("\n\n")]


# ---- conda's packages


@pytest.mark.parametrize(
    ("spec", "of_pip"),
    [
        ("", ""),
        ("*", ""),
        ("=1.23", "==1.23.*"),
        ("=1.23.1", "==1.23.1.*"),
        ("=1.23.*", "==1.23.*"),
        ("=1.23.1=py310_0", "==1.23.1.*"),
        ("==1.7", "==1.7"),
        (">=1.2,<2", ">=1.2,<2"),
        ("=9e", None),
        ("=1.0|=1.1", None),
    ],
)
def test_a_release_of_conda_in_the_words_of_pip(spec: str, of_pip: str | None) -> None:
    assert pip_spec_of(spec) == of_pip


def test_packages_of_conda_are_installed_with_pip_and_apt(tmp_path: Path) -> None:
    done = of_conda(
        tmp_path,
        "python=3.10",
        "pytorch=1.13.1",
        "torchvision=0.14.1",
        "numpy=1.23.5",
        "matplotlib-base",
        "ffmpeg",
        "openssl=3.0.5",
        "opencv=4.6.0",
    )
    for line in ('"numpy==1.23.5.*"', '"matplotlib"', "        ffmpeg", '"opencv-python==4.6.0.*"', "        libgl1"):
        assert line in done.stdout, line
    assert "openssl" not in done.stdout and "NOT INSTALLED" not in done.stdout


def test_what_has_no_name_outside_conda_stands_at_the_head(tmp_path: Path) -> None:
    done = of_conda(tmp_path, "python=3.10", "pytorch=1.13.1", "made-up-solver=2.1", "openmm=7.7", "cudatoolkit-dev")
    assert "NOT INSTALLED" in head(done) and "made-up-solver=2.1, openmm=7.7" in head(done)
    assert "--devel adds (cudatoolkit-dev)" in head(done)
    assert "made-up-solver=2.1" in done.stderr
    assert "openmm" not in done.stdout.removeprefix(head(done))


def test_the_cuda_that_conda_pins_is_planned(tmp_path: Path) -> None:
    done = of_conda(tmp_path, "python=3.8", "pytorch=1.12.1", "cudatoolkit=11.3")
    assert "torch==1.12.1+cu113" in done.stdout


def test_a_cuda_that_no_build_has_is_given_up(tmp_path: Path) -> None:
    done = of_conda(tmp_path, "python=3.10", "pytorch=2.1.0", "cudatoolkit=10.0")
    assert "another one was chosen" in done.stderr and "torch==2.1.0" in done.stdout


def test_a_release_without_a_wheel_becomes_its_line(tmp_path: Path) -> None:
    done = of_conda(tmp_path, "python=3.9", "pytorch=1.11.0", "numpy=1.19.2")
    assert '"numpy==1.19.*"' in done.stdout


def test_a_line_of_conda_with_a_star_is_a_line(tmp_path: Path) -> None:
    assert "torch==1.12.1" in of_conda(tmp_path, "python=3.9", "pytorch::pytorch=1.12.*").stdout


def test_the_features_of_the_default_environment_of_pixi_count(tmp_path: Path) -> None:
    text = (
        '[workspace]\nname = "x"\nchannels = ["conda-forge"]\nplatforms = ["linux-64"]\n'
        '[dependencies]\npython = "3.11.*"\n[feature.gpu.dependencies]\npytorch-gpu = "2.6.*"\nscipy = "*"\n'
        '[feature.doc.dependencies]\nsphinx = "*"\n[environments]\ndefault = ["gpu"]\n'
    )
    done = image(tmp_path, {"pixi.toml": text})
    assert "torch==2.6.0" in done.stdout and '"scipy"' in done.stdout and "sphinx" not in done.stdout


# ---- Python


def planned(folder: Path, *lines: str) -> dict[str, str]:
    (folder / "requirements.txt").write_text("".join(f"{line}\n" for line in lines))
    done = run("resolve", "--json", "--project", folder)
    assert done.exception is None, done.exception
    found: dict[str, str] = json.loads(done.stdout)["choice"]
    return found


@pytest.mark.parametrize(
    ("lines", "newest"),
    [
        (("torch", "numpy==1.23.5"), "3.11"),
        (("torch==2.6.0", "numpy<2"), "3.12"),
        (("tensorflow>=2.12", "scikit-learn==1.2.2"), "3.11"),
        (("torch==2.0.1", "llvmlite==0.38.1"), "3.10"),
        (("torch", "pyyaml==5.4.1"), "3.9"),
    ],
)
def test_the_python_suits_every_pin(lines: tuple[str, ...], newest: str, tmp_path: Path) -> None:
    found = planned(tmp_path, *lines)["python"]
    assert tuple(map(int, found.split("."))) <= tuple(map(int, newest.split(".")))


def test_a_pin_with_a_wheel_for_each_python_limits_none(tmp_path: Path) -> None:
    assert "Python is limited" not in listed(tmp_path, "torch", "requests==2.32.3", "numpy").stderr


def test_a_line_for_some_pythons_counts_for_them_alone() -> None:
    candidates = sorted({python for build in Matrix.load().builds("pytorch") for python in build.pythons})[-6:]
    asked = [Asked("numpy", "==1.22.0", 'python_version<="3.10"'), Asked("numpy", "==2.3.0", 'python_version>"3.10"')]
    found = suited_pythons(asked, "", candidates, "x86_64")
    assert found is None or str(found.pythons[-1]) > "3.10"


def test_where_no_python_suits_all_the_plan_stands_and_says_so(tmp_path: Path) -> None:
    text = '[project]\nname = "demo"\nrequires-python = ">=3.11"\ndependencies = ["torch==2.6.0", "numpy==1.19.2"]\n'
    done = image(tmp_path, {"pyproject.toml": text})
    assert "no Python that the project allows has wheels of numpy==1.19.2" in done.stderr


# ---- versions


@pytest.mark.parametrize(
    ("lines", "torch"),
    [
        (("torch", "xformers==0.0.20"), "torch==2.0.1"),
        (("torch", "basicsr==1.4.2"), "torch==2.1.2"),
        (("torch>=1.13", "torchvision==0.20.1"), "torch==2.5.1"),
    ],
)
def test_the_framework_suits_what_stands_next_to_it(lines: tuple[str, ...], torch: str, tmp_path: Path) -> None:
    assert torch in listed(tmp_path, *lines).stdout


def test_a_cuda_that_a_package_has_no_library_for_is_not_planned(tmp_path: Path) -> None:
    found = planned(tmp_path, "torch==2.7.1", "bitsandbytes==0.41.0")
    assert str(found["cuda"] or found["frameworks"][0]["cuda"]).startswith("11.8")  # type: ignore[index]


def test_the_packages_of_cupy_name_their_cuda(tmp_path: Path) -> None:
    assert "cupy-cuda11x==12.2.0" in listed(tmp_path, "cupy-cuda11x==12.2.0").stdout


def test_an_older_package_gets_the_bound_that_it_needs(tmp_path: Path) -> None:
    assert '"altair<5.0"' in listed(tmp_path, "torch==2.1.0", "streamlit==1.12.0").stdout
    assert "altair<5.0" not in listed(tmp_path, "torch==2.1.0", "streamlit==1.12.0", "altair==4.2.2").stdout


def test_a_lock_pins_the_packages_next_to_the_framework(tmp_path: Path) -> None:
    lock = 'version = 1\nrequires-python = ">=3.10"\n' + "".join(
        f'[[package]]\nname = "{name}"\nversion = "{version}"\nsource = {{ registry = "https://x.example/simple" }}\n'
        for name, version in (("torch", "2.5.1"), ("tqdm", "4.66.1"), ("other", "1.0"))
    )
    project = '[project]\nname = "demo"\ndependencies = ["torch>=2", "tqdm"]\n'
    done = image(tmp_path, {"pyproject.toml": project, "uv.lock": lock})
    assert '"tqdm==4.66.1"' in done.stdout and "other" not in done.stdout


# ---- builds for the CPU


@pytest.mark.parametrize(
    ("line", "installed"),
    [
        ("onnxruntime==1.19.2", "onnxruntime-gpu"),
        ("paddlepaddle==2.6.0", "paddlepaddle-gpu==2.6.0"),
        ("tensorflow-cpu==2.15.1", "tensorflow"),
        ("tensorflow==1.14.0", "tensorflow-gpu==1.14.0"),
    ],
)
def test_a_build_for_the_cpu_alone_is_replaced_and_that_is_said(line: str, installed: str, tmp_path: Path) -> None:
    done = listed(tmp_path, line, "scipy")
    name = line.partition("==")[0]
    assert f"the project asks for {line}, which is for the CPU" in done.stderr
    assert f'"{installed}' in done.stdout
    assert f"sed -E \\\n        -e '/^[[:space:]]*{name.replace('-', '[-_.]')}[[:space:]]" in done.stdout


def test_a_build_for_the_cpu_beside_another_framework_stays(tmp_path: Path) -> None:
    done = listed(tmp_path, "torch==2.6.0", "onnxruntime==1.19.2")
    assert "onnxruntime==1.19.2 is for the CPU, and stays so" in done.stderr
    assert "onnxruntime-gpu" not in done.stdout and "sed -E" not in done.stdout


def test_a_line_for_another_system_names_no_framework(tmp_path: Path) -> None:
    done = listed(tmp_path, "torch==2.6.0", 'onnxruntime==1.19.2; sys_platform == "darwin"')
    assert "onnxruntime" not in done.stderr


# ---- frameworks that are not named


@pytest.mark.parametrize(
    ("line", "framework"),
    [
        ("ultralytics==8.3.0", "torch"),
        ("transformers==4.48.0", "torch"),
        ("accelerate", "torch"),
        ("flax", "jax"),
        ("tensorflow-hub", "tensorflow"),
    ],
)
def test_a_package_that_uses_a_framework_brings_it(line: str, framework: str, tmp_path: Path) -> None:
    done = listed(tmp_path, line)
    assert f'"{framework}' in done.stdout and "the project names no framework" in done.stderr


def test_a_list_of_other_packages_brings_none(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("pandas\nrequests\nscikit-learn\n")
    assert "names no framework" in str(run("dockerfile", "--project", tmp_path).exception)


# ---- lists with more than packages


def test_a_list_with_the_projects_own_code_is_installed_without_it(tmp_path: Path) -> None:
    done = listed(tmp_path, "torch==2.6.0", "tqdm", "-e .", "./extensions/knn")
    assert r"(\.\/)?\.[[:space:]]*(#|;|$)" in done.stdout and r"extensions\/knn" in done.stdout
    assert "the project's own code (., ./extensions/knn)" in head(done)


def test_the_files_that_a_list_reads_are_in_the_context(tmp_path: Path) -> None:
    files = {"requirements.txt": "-r parts/base.txt\ntorch==2.6.0\n", "parts/base.txt": "tqdm\n"}
    done = image(tmp_path, files)
    assert "source=parts/base.txt,target=/tmp/requirements/parts/base.txt" in done.stdout
    assert "source=requirements.txt,target=/tmp/requirements/requirements.txt" in done.stdout
    assert "!parts/base.txt" in image(tmp_path, files, "--dockerignore").stdout


def test_a_repository_needs_git_and_cuda_code_a_stage(tmp_path: Path) -> None:
    done = listed(tmp_path, "torch==2.6.0", "git+https://github.com/made/up.git")
    assert "        git \\\n" in done.stdout and "AS extensions" not in done.stdout
    line = "git+https://github.com/Dao-AILab/flash-attention.git@v2.7.4"
    done = listed(tmp_path, "torch==2.6.0", line)
    stage = done.stdout[done.stdout.index("AS extensions") : done.stdout.index("AS runtime")]
    assert f"flash-attn @ {line}" in stage and "--no-build-isolation" in stage and '"ninja"' in stage


def test_a_package_without_wheels_gets_a_compiler(tmp_path: Path) -> None:
    assert "build-essential" in listed(tmp_path, "torch==2.6.0", "dlib").stdout
    assert "build-essential" not in listed(tmp_path, "torch==2.6.0", "tqdm").stdout


# ---- frameworks that need another one


def test_keras_without_a_backend_for_the_python_is_refused_as_by_resolve() -> None:
    words = ("--framework", "keras==2.2.4", "--python", "3.12")
    assert run("dockerfile", *words).return_value == run("resolve", *words).return_value == 1


@pytest.mark.parametrize("form", ["dockerfile", "compose", "apptainer", "requirements", "conda"])
def test_every_format_names_what_is_missing(form: str, tmp_path: Path) -> None:
    lines = ("python=3.10", "pytorch=2.1.0", "made-up-solver=2.1")
    files = {"environment.yml": CONDA + "".join(f"  - {line}\n" for line in lines)}
    assert "made-up-solver=2.1" in image(tmp_path, files, "--format", form).stdout


def test_the_framework_is_named_again_next_to_the_projects_packages(tmp_path: Path) -> None:
    """In a command of their own they would replace what the framework requires in certain releases."""
    text = '[project]\nname = "demo"\ndependencies = ["tensorflow==2.12.1", "typer"]\n'
    done = image(tmp_path, {"pyproject.toml": text})
    own = done.stdout[done.stdout.index("# Your own packages") :]
    assert '"tensorflow==2.12.1"' in own.partition('"typer"')[0]


FILE = "FROM nvidia/cuda:12.5.1-base-ubuntu24.04\nRUN apt-get update && apt-get install -y python3-pip\n{}\n"


@pytest.mark.parametrize(
    ("lines", "reported"),
    [
        (("tensorflow[and-cuda]==2.21.0", "'tensorflow>=1.11'"), False),
        (("tensorflow[and-cuda]==2.21.0", "tensorflow==2.20.0"), True),
        (("tensorflow>=1.11", "tensorflow[and-cuda]==2.21.0"), True),
    ],
)
def test_a_requirement_that_is_met_already_installs_nothing(
    lines: tuple[str, ...], reported: bool, tmp_path: Path
) -> None:
    runs = "\n".join(f"RUN python3 -m pip install --break-system-packages {line}" for line in lines)
    (tmp_path / "Dockerfile").write_text(FILE.format(runs))
    done = run("dockerfile", "--check", tmp_path / "Dockerfile")
    assert ("image.cuda-missing" in done.stdout or "image.cpu-build" in done.stdout) is reported, done.stdout


_SOURCES = """[tool.uv.sources]
made = { git = "https://github.com/made/up.git", tag = "v1" }
own = { path = "libraries/own" }
other = { workspace = true }
"""
_POETRY = """[tool.poetry]
name = "demo"
[tool.poetry.dependencies]
torch = "2.6.0"
made = { git = "https://github.com/made/up.git", tag = "v1" }
own = { path = "libraries/own" }
"""


@pytest.mark.parametrize(
    "text",
    ['[project]\nname = "demo"\ndependencies = ["torch==2.6.0", "made", "own", "other"]\n' + _SOURCES, _POETRY],
    ids=("uv", "poetry"),
)
def test_a_package_of_a_repository_or_folder_is_not_taken_from_the_index(text: str, tmp_path: Path) -> None:
    done = image(tmp_path, {"pyproject.toml": text})
    assert '"made @ git+https://github.com/made/up.git@v1"' in done.stdout and '"made"' not in done.stdout
    assert "./libraries/own" in head(done) and '"own"' not in done.stdout and '"other"' not in done.stdout


def test_a_list_with_hashes_loses_whole_entries(tmp_path: Path) -> None:
    text = "onnxruntime==1.20.1 \\\n    --hash=sha256:aa\nnumpy==1.26.4 \\\n    --hash=sha256:bb\n"
    done = image(tmp_path, {"requirements.txt": text})
    step = done.stdout[done.stdout.index("sed -E") : done.stdout.index("# Containers run")]
    command = step.partition("> /tmp")[0].replace(
        "/tmp/requirements/requirements.txt", str(tmp_path / "requirements.txt")
    )
    left = subprocess.run(["sh", "-c", command.replace("\\\n", " ")], capture_output=True, text=True, check=True).stdout
    assert left.split() == ["numpy==1.26.4", "--hash=sha256:bb"]
    assert "onnxruntime-gpu" not in step.partition("pip install")[2]


def test_a_list_loses_only_the_lines_of_the_packages_it_is_without(tmp_path: Path) -> None:
    lines = ("onnxruntime >=1.19  # the engine", "onnxruntime-extensions", "-e .", "-e ./onnx", ".[dev]", "numpy")
    done = listed(tmp_path, *lines)
    step = done.stdout[done.stdout.index("sed -E") : done.stdout.index("> /tmp/requirements/of-image")]
    command = step.replace("/tmp/requirements/requirements.txt", str(tmp_path / "requirements.txt"))
    left = subprocess.run(["sh", "-c", command.replace("\\\n", " ")], capture_output=True, text=True, check=True).stdout
    assert left.splitlines() == ["onnxruntime-extensions", "numpy"]


@pytest.mark.parametrize(
    ("line", "bounded"),
    [("openai-whisper==20230314", True), ("git+https://github.com/openai/CLIP.git", True), ("openai-whisper", True)]
    + [("tqdm", False), ("git+https://github.com/made/clip.git", False)],
)
def test_a_setup_that_imports_what_setuptools_dropped_gets_an_older_one(
    line: str, bounded: bool, tmp_path: Path
) -> None:
    done = listed(tmp_path, "torch==2.6.0", line)
    assert ("PIP_BUILD_CONSTRAINT=" in done.stdout and "setuptools<82" in done.stdout) is bounded


@pytest.mark.parametrize(
    ("line", "older"), [("omegaconf==2.0.6", True), ("omegaconf==2.3.0", False), ("omegaconf", False)]
)
def test_a_release_that_newer_pips_leave_out_gets_an_older_pip(line: str, older: bool, tmp_path: Path) -> None:
    assert ('"pip<24.1"' in listed(tmp_path, "torch==2.1.0", line).stdout) is older


def test_a_file_name_is_no_shell(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("torch==2.6.0\n-r a&&touch.txt\n")
    (tmp_path / "a&&touch.txt").write_text("tqdm\n")
    assert "'a&&touch.txt' is not a file name" in str(run("dockerfile", "--project", tmp_path).exception)


def test_names_of_a_project_are_no_shell(tmp_path: Path) -> None:
    lines = ("torch==2.6.0", "-e ./it's", "-e ./$(id)", "https://x.example/$(id).whl", "git+https://x.example/`id`")
    done = listed(tmp_path, *lines)
    assert "$(id)" not in done.stdout and "`id`" not in done.stdout and "it's" not in done.stdout
    folder = tmp_path / "conda"
    folder.mkdir()
    done = of_conda(folder, "pytorch=2.1.0", '"a;touch x"', "b$(id)", "numpy=1.23;id")
    assert "$(id)" not in done.stdout and ";touch" not in done.stdout and ";id" not in done.stdout
