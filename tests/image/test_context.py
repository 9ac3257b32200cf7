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
