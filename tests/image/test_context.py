"""`--check FILE --context DIR`: lists come from the build context, and from nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from envkit.cli.boundary import exit_code

DOCKERFILE = (
    "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y python3-pip\n"
    "COPY needs /app\nRUN pip3 install -r /app/base.txt\n"
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in ("docker", "needs"):
        (tmp_path / name).mkdir()
    (tmp_path / "docker" / "Dockerfile").write_text(DOCKERFILE)
    (tmp_path / "needs" / "base.txt").write_text("-r more.txt\n")
    (tmp_path / "needs" / "more.txt").write_text("torch==2.0.0+cu118\n")
    return tmp_path


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    exit_code(["dockerfile", *words])
    return capsys.readouterr().out


def test_lists_are_read_from_the_context(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(project / "docker" / "Dockerfile")
    assert "image.list-unread" in answer(capsys, "--check", file)
    told = answer(capsys, "--check", file, "--context", str(project))
    assert "The default index has no torch with +cu118" in told and "list-unread" not in told


def test_nothing_outside_the_context_is_read(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = project / "docker" / "Dockerfile"
    context = project / "context"
    (context / "needs").mkdir(parents=True)
    (context / "needs" / "base.txt").symlink_to(project / "needs" / "more.txt")
    assert "image.list-unread" in answer(capsys, "--check", str(file), "--context", str(context))
    file.write_text(DOCKERFILE.replace("needs ", "../needs "))
    assert "image.list-unread" in answer(capsys, "--check", str(file), "--context", str(context))


ENVIRONMENT = """name: it
channels: [conda-forge]
dependencies:
  - python={python}
  - pip
  - pip:
      - torch==2.6.0
"""


@pytest.mark.parametrize(
    ("python", "told"), [("3.8", "has no wheel for Python 3.8"), ("3.11", "has a wheel for Python 3.11")]
)
def test_an_environment_of_conda_is_read(
    python: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "Dockerfile"
    file.write_text("FROM condaforge/miniforge3\nCOPY environment.yml .\nRUN conda env create -f environment.yml\n")
    assert "image.list-unread" in answer(capsys, "--check", str(file), "--context", str(tmp_path))
    (tmp_path / "environment.yml").write_text(ENVIRONMENT.format(python=python))
    answered = answer(capsys, "--check", str(file), "--context", str(tmp_path), "--json")
    assert told in answered and "image.list-unread" not in answered


@pytest.mark.parametrize(
    "text", ["dependencies: torch\n", ENVIRONMENT.format(python="3.8").replace("python=3.8", "six")]
)
def test_an_environment_that_says_too_little_is_not_read(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Which Python its pip is for, only conda decides."""
    file = tmp_path / "Dockerfile"
    file.write_text("FROM condaforge/miniforge3\nCOPY environment.yml .\nRUN conda env create -f environment.yml\n")
    (tmp_path / "environment.yml").write_text(text)
    assert "image.list-unread" in answer(capsys, "--check", str(file), "--context", str(tmp_path))


COPIED = {
    "a file": "COPY gone.txt /app/",
    "one of several": "COPY here.txt gone.txt /app/",
    "a folder": "ADD folder/gone/ /app/",
    "an array": 'COPY ["gone.txt", "/app/"]',
    "above the context": "COPY ../gone.txt /app/",
    "from the root": "COPY --chown=1000 /gone.txt /app/",
    "of a stage that is needed": "COPY --from=made / /x\nFROM plain\nCOPY gone.txt /app/",
}
NOT_MISSED = {
    "a file": "COPY here.txt /here.txt ./folder/inner.txt ../here.txt /app/",
    "a folder": "COPY folder /app/folder\nCOPY . /app",
    "an array": 'COPY ["a name.txt", "/app/"]',
    "a wildcard": "COPY gone*.txt gone[1].txt /app/",
    "a variable": "ARG NAME=gone.txt\nCOPY $NAME ${NAME} /app/",
    "another stage": "COPY --from=made gone.txt /app/",
    "an address": "ADD https://a.example/gone.txt git@github.com:a/b.git /app/",
    "a heredoc": "COPY <<gone.txt /app/\ntext\ngone.txt",
    "when another image is built": "ONBUILD COPY gone.txt /app/",
    "a link": "COPY link.txt linked/gone.txt /app/",
}
IGNORES = [
    ("here.txt", True),
    ("*.txt\n", True),
    ("*", True),
    ("**/here.*", True),
    ("# here.txt\n/folder", False),
    ("*\n!here.txt", False),
    ("!here.txt\n*", True),
    ("folder/*.txt", False),
    ("her[e].txt", False),
]


@pytest.fixture
def context(tmp_path: Path) -> Path:
    folder = tmp_path / "context"
    (folder / "folder").mkdir(parents=True)
    for name in ("here.txt", "a name.txt", "folder/inner.txt"):
        (folder / name).write_text("")
    (folder / "link.txt").symlink_to("nowhere")
    (folder / "linked").symlink_to(tmp_path)
    return folder


def missing(context: Path, steps: str, capsys: pytest.CaptureFixture[str], *, named: bool = True) -> bool:
    file = context / "Dockerfile"
    file.write_text(f"FROM ubuntu:24.04 AS plain\nFROM ubuntu:24.04 AS made\nFROM ubuntu:24.04\n{steps}\n")
    return "[image.list-missing]" in answer(capsys, "--check", str(file), *(["--context", str(context)] * named))


@pytest.mark.parametrize("name", COPIED)
def test_what_the_context_lacks_is_told(name: str, context: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert missing(context, COPIED[name], capsys)
    assert not missing(context, COPIED[name], capsys, named=False), "another context may have it"


@pytest.mark.parametrize("name", NOT_MISSED)
def test_what_may_be_there_is_not_missed(name: str, context: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert not missing(context, NOT_MISSED[name], capsys)


def test_a_stage_that_is_left_out_copies_nothing(context: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert not missing(context, "COPY gone.txt /app/\nFROM ubuntu:24.04", capsys)


@pytest.mark.parametrize(("ignore", "told"), IGNORES)
def test_what_is_ignored_is_not_sent(
    ignore: str, told: bool, context: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (context / ".dockerignore").write_text(ignore)
    assert missing(context, "COPY here.txt /app/", capsys) is told


def test_a_folder_of_which_something_comes_back_is_there(context: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (context / ".dockerignore").write_text("folder\n")
    assert missing(context, "COPY folder /app/", capsys)
    (context / ".dockerignore").write_text("folder\n!folder/inner.txt\n")
    assert not missing(context, "COPY folder /app/", capsys)
    (context / ".dockerignore").write_text("folder/**\n")
    assert not missing(context, "COPY folder /app/", capsys)


def test_the_list_of_one_dockerfile_comes_first(context: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (context / ".dockerignore").write_text("here.txt\n")
    (context / "Dockerfile.dockerignore").write_text("folder\n")
    assert not missing(context, "COPY here.txt /app/", capsys)
    assert missing(context, "COPY folder/inner.txt /app/", capsys)


@pytest.mark.parametrize(
    ("words", "told", "status"),
    [
        (["--check", "{file}", "--context", "{file}"], "is not a folder", 1),
        (
            ["--framework", "pytorch", "--context", "."],
            "--context requires --check",
            2,
        ),
    ],
)
def test_a_wrong_context_is_one_line(
    words: list[str], told: str, status: int, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(project / "docker" / "Dockerfile")
    assert exit_code(["dockerfile", *(word.replace("{file}", file) for word in words)]) == status
    assert told in capsys.readouterr().err
