"""The `distro` package, which reads a folder, is the witness for our reader of release files, which opens nothing."""

from __future__ import annotations

import json
from pathlib import Path

import distro
import pytest

from envkit.probe.release_files import described

MACHINES = Path(__file__).resolve().parents[1] / "machines"
_RELEASE = ("/etc/os-release", "/usr/lib/os-release", "/etc/debian_version")


def recorded() -> dict[str, dict[str, str]]:
    """The release files of every recorded machine that has some, each distinct set once, by a machine's name."""
    sets: dict[str, tuple[str, dict[str, str]]] = {}
    for path in sorted(MACHINES.glob("*/files.json")):
        texts = json.loads(path.read_text("utf-8"))
        files = {
            name: text
            for name, text in texts.items()
            if isinstance(text, str) and (name in _RELEASE or (name.startswith("/etc/") and name.endswith("-release")))
        }
        if files:
            sets.setdefault(json.dumps(files, sort_keys=True), (path.parent.name, files))
    return dict(sets.values())


RECORDED = recorded()


def test_there_are_release_files_to_compare() -> None:
    assert len(RECORDED) >= 5


@pytest.mark.parametrize("machine", sorted(RECORDED))
def test_the_witness_says_the_same(machine: str, tmp_path: Path) -> None:
    files = RECORDED[machine]
    for name, text in files.items():
        target = tmp_path / name.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    witness = distro.LinuxDistribution(
        include_lsb=False, include_uname=False, include_oslevel=False, root_dir=str(tmp_path)
    )
    ours = described(files)
    assert ours is not None
    assert (ours.id, ours.version_id) == (witness.id(), witness.version(best=True))
