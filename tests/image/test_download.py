"""The commands that fetch a file during a build, run by a shell with a curl that copies."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import pytest

from envkit.image.download import CACHE, fetch

COPYING_CURL = 'curl() { while [ $# -gt 1 ]; do [ "$1" = -o ] && out=$2; shift; done; cp "${1#file://}" "$out"; }\n'


def run(folder: Path, content: bytes, sha256: str | None) -> subprocess.CompletedProcess[str]:
    """Fetches a file of that content into `folder`."""
    origin = folder / "origin"
    origin.write_bytes(content)
    script = COPYING_CURL + " && ".join(fetch(f"file://{origin}", "kept", sha256, None).commands)
    script = script.replace(CACHE, str(folder)).replace("/tmp/checksum", str(folder / "checksum"))
    return subprocess.run(["sh", "-ec", script], capture_output=True, text=True, check=False)


def sha256_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize("kept", [None, b"right", b"outdated"])
def test_what_the_cache_holds_decides_whether_it_is_fetched(tmp_path: Path, kept: bytes | None) -> None:
    if kept is not None:
        (tmp_path / "kept").write_bytes(kept)
    done = run(tmp_path, b"right", sha256_of(b"right"))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "kept").read_bytes() == b"right"


def test_a_whole_file_is_not_fetched_again(tmp_path: Path) -> None:
    (tmp_path / "kept").write_bytes(b"right")
    assert run(tmp_path, b"another by now", sha256_of(b"right")).returncode == 0


def test_a_wrong_file_stops_the_build_and_does_not_stay(tmp_path: Path) -> None:
    done = run(tmp_path, b"wrong", sha256_of(b"right"))
    assert done.returncode != 0
    assert "did NOT match" in done.stderr
    assert not (tmp_path / "kept").exists()


def test_without_a_checksum_the_kept_file_is_taken(tmp_path: Path) -> None:
    assert run(tmp_path, b"first", None).returncode == 0
    assert run(tmp_path, b"second", None).returncode == 0
    assert (tmp_path / "kept").read_bytes() == b"first"
