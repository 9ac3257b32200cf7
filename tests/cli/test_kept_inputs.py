"""No report takes the place of a file that the command reads, and a changed file keeps what was not changed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.run import envkit

DOCKERFILE = (
    b"FROM nvidia/cuda:12.1.1-runtime-ubuntu22.04\r\n"
    b"RUN apt-get update && apt-get install -y python3-pip\r\n"
    b'ENV X="caf\xe9"\r\n'
    b"RUN pip install torch==2.3.1 packaging\r\n"
    b"RUN pip install flash-attn --no-build-isolation"
)


@pytest.mark.parametrize(
    ("words", "file"),
    [
        ("dockerfile --check Dockerfile -o Dockerfile", "Dockerfile"),
        ("dockerfile --check Dockerfile --json -o ./link", "Dockerfile"),
        ("dockerfile --project . -o requirements.txt", "requirements.txt"),
        ("dockerfile --framework pytorch --requirements requirements.txt -o requirements.txt", "requirements.txt"),
        ("check requirements.txt -o requirements.txt --target any", "requirements.txt"),
        ("doctor --from Dockerfile -o Dockerfile", "Dockerfile"),
    ],
)
def test_an_input_is_never_replaced_by_a_report(words: str, file: str, tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_bytes(DOCKERFILE)
    (tmp_path / "link").symlink_to("Dockerfile")
    (tmp_path / "requirements.txt").write_text("torch==2.3.1\n")
    before = (tmp_path / file).read_bytes()
    done = envkit(*words.split(), cwd=str(tmp_path))
    assert done.returncode == 1 and "is a file that this command reads, so it is kept." in done.stderr, done
    assert (tmp_path / file).read_bytes() == before


def test_a_fix_keeps_the_other_lines_to_the_byte(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_bytes(DOCKERFILE)
    words = ("dockerfile", "--check", "Dockerfile", "--fix")
    diff = envkit(*words, cwd=str(tmp_path)).stdout
    assert envkit(*words, "-o", "Dockerfile", cwd=str(tmp_path)).returncode == 0
    wanted = DOCKERFILE.replace(b"-runtime-", b"-devel-")
    assert (tmp_path / "Dockerfile").read_bytes() == wanted
    assert "+FROM nvidia/cuda:12.1.1-devel-ubuntu22.04" in diff


def test_the_diff_of_a_file_has_its_line_ends(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_bytes(DOCKERFILE)
    words = (sys.executable, "-m", "envkit", "dockerfile", "--check", "Dockerfile", "--fix")
    diff = subprocess.run(words, capture_output=True, check=True, cwd=tmp_path).stdout
    lines = [line for line in diff.split(b"\n") if line[:3] not in (b"---", b"+++", b"@@ ", b"")]
    assert lines and all(line.endswith(b"\r") for line in lines), diff
