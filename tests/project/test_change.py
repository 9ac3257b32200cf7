"""The change of a file is small, complete, and leaves nothing that fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from envkit.api.project import project_change, project_report
from envkit.base.errors import SourceError
from envkit.checks.engine.findings import Status
from envkit.tables import Matrix
from tests.cli.run import envkit
from tests.project.test_expected import HERE, request_of, rows

BLACKWELL = '--gpu "GeForce RTX 5090" --driver 575.57.08 --python 3.12 --os ubuntu24.04'
AMPERE = '--gpu "GeForce RTX 3090" --driver 535.183.01 --python 3.10 --os ubuntu22.04'
CU128 = "--extra-index-url https://download.pytorch.org/whl/cu128"
CHANGES = {
    ("torch-2.6/requirements.txt", BLACKWELL): (CU128, "torch==2.7.0+cu128", "torchvision==0.22.0+cu128"),
    ("other-torchvision/requirements.txt", AMPERE): ("torchvision==0.16.0+cu118",),
    ("uv-cu124/pyproject.toml", BLACKWELL): ('"pytorch-cu128"', "whl/cu128"),
    ("vllm-other-torch/requirements.txt", AMPERE): ("vllm==0.7.0",),  # 0.7.1 requires transformers 4.48
    ("vllm-alone/requirements.txt", BLACKWELL.replace("3.12", "3.11")): (CU128, "vllm==0.9.2"),
    ("llava/pyproject.toml", AMPERE): ('"torch==2.4.1", "torchvision"',),  # its bitsandbytes ends with CUDA 12.1
    ("setup-constant/setup.py", AMPERE): ('"torch==2.10.0"',),
    ("setup-old/setup.py", AMPERE): ("torch==1.13.0",),
    ("cupy-of-another-cuda/environment.yml", '--gpu "GeForce RTX 3090"'): ("cupy-cuda113==9.6.0",),
}


def added(text: str, changed: str) -> list[str]:
    before = set(text.splitlines())
    return [line for line in changed.splitlines() if line not in before]


@pytest.mark.parametrize(("file", "target"), CHANGES, ids=lambda value: value.split("/")[0])
def test_the_change_is_what_an_expert_would_write(file: str, target: str) -> None:
    matrix = Matrix.load()
    text, change, _ = project_change(str(HERE / "files" / file), request_of(target, matrix), matrix)
    assert change is not None
    lines = added(text, change.text)
    assert all(any(wanted in line for line in lines) for wanted in CHANGES[file, target]), lines
    assert len(lines) <= 4


@pytest.mark.parametrize(
    "row",
    [row for row in rows() if row["file"].endswith(("requirements.txt", "pyproject.toml"))],
    ids=lambda row: f"{row['file']} {row['target'][:30]}",
)
def test_nothing_fails_in_a_changed_file(row: dict[str, str], tmp_path: Path) -> None:
    matrix = Matrix.load()
    request = request_of(row["target"], matrix)
    _, change, _ = project_change(str(HERE / "files" / row["file"]), request, matrix)
    if change is None:
        return
    changed = tmp_path / Path(row["file"]).name
    changed.write_text(change.text, encoding="utf-8")
    assert all(one.status is not Status.FAIL for one in project_report(str(changed), request, matrix).findings)


NUMPY_LINES = {
    "requirements.txt": "torch==2.1.0\nnumpy>=2\n",
    "pyproject.toml": '[project]\nname = "a"\ndependencies = [\n  "torch==2.1.0",\n  "numpy>=2",\n]\n',
    "poetry/pyproject.toml": '[tool.poetry.dependencies]\ntorch = "2.1.0"\nnumpy = "^2.0"\n',
}


@pytest.mark.parametrize("name", NUMPY_LINES)
def test_a_numpy_that_is_too_new_is_bounded(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(NUMPY_LINES[name], encoding="utf-8")
    matrix = Matrix.load()
    text, change, _ = project_change(str(file), request_of(AMPERE, matrix), matrix)
    assert change is not None and [line.count("<2") for line in added(text, change.text)] == [1]


def test_an_index_is_added_next_to_the_default_one(tmp_path: Path) -> None:
    """The index of PyTorch has no transformers."""
    matrix = Matrix.load()
    (tmp_path / "requirements.txt").write_text("torch==2.1+cu118\nnumpy>=2\ntransformers\n", encoding="utf-8")
    text, change, _ = project_change(str(tmp_path / "requirements.txt"), request_of(AMPERE, matrix), matrix)
    index = "--extra-index-url https://download.pytorch.org/whl/cu118"
    assert change is not None and added(text, change.text) == [index, "torch==2.1.0+cu118", "numpy<2"]


@pytest.mark.parametrize("companion", ["torchvision==0.15.1+cu118", "torchaudio==2.0.1+cu118"])
def test_a_companion_alone_never_gets_the_frameworks_version(companion: str, tmp_path: Path) -> None:
    """torchvision 2.7 never was: what is next to torch 2.7.0 is 0.22.0."""
    matrix = Matrix.load()
    (tmp_path / "requirements.txt").write_text(f"{companion}\n")
    file = str(tmp_path / "requirements.txt")
    text, change, _ = project_change(file, request_of(BLACKWELL, matrix), matrix)
    wanted = {"torchvision": "torchvision==0.22.0+cu128", "torchaudio": "torchaudio==2.7.0+cu128"}
    assert change is not None and wanted[companion.partition("=")[0]] in added(text, change.text)


def test_a_lock_is_left_to_its_tool() -> None:
    matrix = Matrix.load()
    with pytest.raises(SourceError, match="lock again"):
        project_change(str(HERE / "files/uv-lock-cpu/uv.lock"), request_of(AMPERE, matrix), matrix)


@pytest.mark.thorough
def test_the_command_prints_a_diff_or_writes_the_file(tmp_path: Path) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text("numpy\ntorch==2.6.0  # the model needs it\n", encoding="utf-8")
    target = ("--gpu", "12.0", "--driver", "575.57.08", "--python", "3.12", "--os", "ubuntu24.04")
    done = envkit("check", str(file), *target, "--fix")
    assert done.returncode == 0, done.stderr
    assert "+torch==2.7.0+cu128  # the model needs it" in done.stdout.splitlines()
    written = tmp_path / "changed.txt"
    done = envkit("check", str(file), *target, "--fix", "-o", str(written))
    assert done.returncode == 0 and written.read_text().splitlines()[1] == "numpy"
    assert envkit("check", str(written), *target).returncode == 0
    assert "Nothing needs to change." in envkit("check", str(written), *target, "--fix").stderr
