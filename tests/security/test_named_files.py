"""A file that is named, and what it names: links lead nowhere they should not, and reading ends."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from envkit.base.errors import SourceError
from envkit.cli.boundary import exit_code
from envkit.host import user_file
from envkit.host.user_file import read_beside, read_user_file
from envkit.ingest.sources import read_file
from tests.processor_time import seconds

NOBODY = 65534
DEPTH = 3000
MARKER = "(" * DEPTH + "python_version>'3'" + ")" * DEPTH
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a link to somebody else")
NESTED = {
    "requirements.txt": f"torch==2.6.0; {MARKER}\n-r requirements.txt ; {MARKER}\n",
    "environment.yml": f'dependencies:\n  - pip:\n    - "torch==2.6.0; {MARKER}"\n',
    "pyproject.toml": f'[project]\nname = "x"\ndependencies = ["torch; {MARKER}"]\n',
    "setup.py": f'setup(install_requires=["torch; {MARKER}"])\n',
    "setup.cfg": f"[options]\ninstall_requires =\n  torch; {MARKER}\n",
    "Dockerfile": f'FROM ubuntu:22.04\nRUN pip install "torch==2.6.0; {MARKER}"\n',
}
CIRCLES = {
    "requirements.txt": "-r circle\n-c there\ntorch==2.6.0\n",
    "environment.yml": "dependencies:\n  - pip:\n    - -r circle\n",
    "setup.cfg": "[options]\ninstall_requires = file: circle\n",
    "Dockerfile": "FROM ubuntu:22.04\nCOPY circle there /x/\nRUN pip install -r circle -r /x/there\n",
}


def _checked(path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    code = exit_code(["check", str(path), "--target", "any"])
    told = capsys.readouterr()
    assert code in (0, 1), told.err
    return told.out + told.err


@pytest.mark.parametrize("name", NESTED)
def test_a_marker_of_any_depth_is_told_as_unread(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / name).write_text(NESTED[name])
    _checked(tmp_path / name, capsys)


@pytest.mark.parametrize("name", CIRCLES)
def test_links_in_a_circle_are_no_files(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "circle").symlink_to("there")
    (tmp_path / "there").symlink_to("circle")
    (tmp_path / name).write_text(CIRCLES[name])
    _checked(tmp_path / name, capsys)
    assert exit_code(["check", str(tmp_path / "circle")]) == 1


def test_a_file_next_to_is_one_below_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    (folder / "inner").mkdir(parents=True)
    (tmp_path / "outside.txt").write_text("secret")
    (folder / "outside.txt").write_text("not meant")
    (folder / "inner" / "own.txt").write_text("own")
    (folder / "link.txt").symlink_to("inner/own.txt")
    (folder / "out.txt").symlink_to(tmp_path / "outside.txt")
    named = str(folder / "requirements.txt")
    assert read_beside(named, "inner/own.txt") == read_beside(named, "link.txt") == "own"
    assert read_beside(named, "inner/../inner/own.txt") == "own"
    assert [read_beside(named, name) for name in ("../outside.txt", "out.txt", "..", "", "inner")] == [None] * 5
    assert read_beside(named, str(tmp_path / "outside.txt")) is None
    assert read_beside(named, "a\0b") is None


@as_root
@pytest.mark.parametrize("linked", ["file", "folder"])
def test_root_follows_no_link_of_a_user_to_a_file_of_somebody_else(linked: str, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir(mode=0o700)
    (kept / "requirements.txt").write_text("root:secret\n")
    link = tmp_path / "link"
    link.symlink_to(kept / "requirements.txt" if linked == "file" else kept)
    named = str(link if linked == "file" else link / "requirements.txt")
    assert read_user_file("check", named) == "root:secret\n", "a link of root"
    os.chown(link, NOBODY, NOBODY, follow_symlinks=False)
    with pytest.raises(SourceError, match="belongs to a user"):
        read_user_file("check", named)
    with pytest.raises(SourceError, match="belongs to a user"):
        read_file(named, "--from")
    os.chown(kept / "requirements.txt", NOBODY, NOBODY)
    assert read_user_file("check", named) == "root:secret\n", "a link of a user to a file of his own"


def test_a_file_of_the_kernel_without_an_end_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As /proc/kmsg: a regular file by its looks, that gives a few lines and then waits for more."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.write(writer, b"[ 1.0] NVRM: Xid (PCI:0000:65:00): 79, GPU has fallen off the bus.\n")
    like = tmp_path / "kmsg"
    like.touch()
    monkeypatch.setattr(user_file, "_without_waiting", lambda path, flags: os.dup(reader))
    monkeypatch.setattr(stat, "S_ISREG", lambda mode: True)
    monkeypatch.setattr(user_file, "leads_to", lambda path, status: True)
    assert "fallen off" in read_file(str(like), "--from")
    assert read_file(str(like), "--from") == ""
    assert read_user_file("check", str(like)) == ""
    os.close(writer)
    os.close(reader)


@as_root
def test_the_kernels_own_log_ends() -> None:
    assert seconds(lambda: read_file("/proc/kmsg", "--from")) < 5


@pytest.mark.parametrize("shell", ["{0} <(cat {1})", "cat {1} | {0} -", "cat {1} | {0} /dev/stdin"])
def test_what_a_shell_hands_over_is_waited_for(shell: str) -> None:
    text = Path(__file__).parents[2] / "docs" / "examples" / "bug-report.txt"
    words = shell.format(f"{sys.executable} -m envkit doctor --from", f"<(sleep 0.2; cat {text})")
    done = subprocess.run(["bash", "-c", words], capture_output=True, text=True, check=False, timeout=60)
    assert "is too old for the NVIDIA GeForce RTX 5090" in done.stdout
