"""Really broken environments, of tiny wheels: found, fixed, looked at again, and undone."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from envkit.base.errors import EnvkitError
from envkit.checks.engine.findings import Finding, Remedy, Status
from envkit.checks.engine.registry import all_checks
from envkit.cli import fix
from envkit.host import repairs
from envkit.host.journal import Journal, state_folder
from envkit.host.repairs import Work
from tests.repair import machine
from tests.repair.terminal import Terminal
from tests.repair.wheels import Venv, cudnn, torch, wheel

CUDNN_PARTS = ("", "_ops", "_cnn")
CUDNN_12 = "nvidia-cudnn-cu12==9.1.0.70"


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An index of wheels: the main one, and in `other` those that another index has; HOME and the journal are here."""
    main, other, nearer = tmp_path / "index", tmp_path / "other", tmp_path / "cu129"
    torch(main, "2.6.0", "12.4", [f"{CUDNN_12}; platform_system == 'Linux'"])
    torch(main, "2.1.0", "12.1")
    torch(main, "2.9.1", "12.8")
    torch(other, "2.6.0+cpu", None)
    torch(other, "2.6.0+cu124", "12.4")
    torch(other, "2.9.1+cu130", "13.0")
    torch(nearer, "2.9.1+cu129", "12.9")
    for release, needs in (("0.21.0", "2.6.0"), ("0.15.2", "2.0.1")):
        for place in (main, other):
            wheel(place, "torchvision", release, [f"torch=={needs}"])
    for release in ("1.26.4", "2.1.3"):
        wheel(main, "numpy", release)
    cudnn(main, "12", "9.1.0.70", *CUDNN_PARTS)
    cudnn(main, "11", "9.5.1.17", "_ops")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ENVKIT_STATE_DIR", str(tmp_path / "state"))
    run = repairs.carry_out

    def at_home(work: Work, *tell: Callable[[str], None]) -> str:
        """The command, with the folder in the place of an index of the web."""
        here = {word: nearer if word.endswith("/cu129") else other for word in work.words if word.startswith("https:")}
        words = tuple(f"file://{here[word]}" if word in here else word for word in work.words)
        return run(Work(words, work.root, work.text), *tell)

    monkeypatch.setattr(repairs, "carry_out", at_home)
    indexes = dict.fromkeys(("cpu", "cu124", "cu130"), f"file://{other}") | {"cu129": f"file://{nearer}"}
    monkeypatch.setattr(fix, "_indexes", lambda: indexes)
    return main


def broken(index: Path, monkeypatch: pytest.MonkeyPatch, *packages: str) -> Venv:
    venv = Venv(index.parent / "venv", index)
    for name, value in venv.variables().items():
        monkeypatch.setenv(name, value)
    for package in packages:
        venv.install(*([package] if "+" not in package else [package, "--index-url", f"file://{index.parent}/other"]))
    return venv


BROKEN: dict[str, tuple[list[str], dict[str, str | None]]] = {
    "torchvision-mismatch": (["torch==2.6.0+cu124", "torchvision==0.15.2"], {"torchvision": "0.21.0"}),
    "cpu-only-wheel": (["torch==2.6.0+cpu", CUDNN_12], {"torch": "2.6.0"}),
    "numpy2-abi": (["torch==2.1.0", "numpy==2.1.3"], {"numpy": "1.26.4"}),
    "driver-too-old-for-runtime": (["torch==2.9.1+cu130"], {"torch": "2.9.1+cu129"}),  # of the wrong index
    "cudnn-mixed-sublibraries": (
        ["torch==2.6.0+cu124", CUDNN_12, "nvidia-cudnn-cu11==9.5.1.17"],
        {"nvidia_cudnn_cu11": None},
    ),
}


@pytest.mark.thorough
@pytest.mark.parametrize("id", BROKEN)
def test_an_environment_is_fixed_and_taken_back(
    id: str,  # noqa: A002 - as in reports
    index: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    packages, expected = BROKEN[id]
    venv = broken(index, monkeypatch, *packages)
    before = venv.packages()
    first = machine.look()
    assert first.verdict.id == id
    terminal = Terminal(monkeypatch)
    after = fix.fix_here(machine.look, all_checks(), dry_run=False, yes=False)
    assert all(finding.id != id for finding in after.findings if finding.status is Status.FAIL)
    now = venv.packages()
    assert {name: now.get(name) for name in expected} == expected
    assert terminal.asked and "Gone: " in capsys.readouterr().out
    assert fix.undo_here(dry_run=False, yes=True) == 0
    assert venv.packages() == before
    assert machine.look(id).verdict.id == id
    with pytest.raises(EnvkitError, match="no fix to undo"):
        fix.undo_here(dry_run=False, yes=True)


def test_yes_covers_what_is_replaced_and_not_what_is_removed() -> None:
    from envkit.checks.engine.command import fixed
    from envkit.repair.plan import plan_for

    def asked(*lines: str) -> list[bool]:
        remedy = Remedy("Do it.", tuple(map(fixed, lines)))
        finding = Finding("x", Status.FAIL, "x", remedy=remedy)
        return [step.asks for step in plan_for(finding, {}, "/home/user/.bashrc").steps]

    assert asked("python -m pip uninstall -y torch", "python -m pip install torch==2.6.0") == [False, False]
    assert asked("python -m pip uninstall -y jax_cuda12.plugin", "python -m pip install jax-cuda12-plugin==0.6.0") == [
        False,
        False,
    ]
    assert asked("python -m pip uninstall -y torch xformers", "python -m pip install torch==2.6.0") == [True, False]
    assert asked("python -m pip uninstall -y torch") == [True]
    assert asked("sudo systemctl restart docker", "sudo systemctl enable --now nvidia-persistenced") == [True, False]


@pytest.mark.thorough
def test_a_step_that_fails_ends_it_and_what_was_done_can_be_taken_back(
    index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    venv = broken(index, monkeypatch, "torch==2.6.0+cpu")
    before = venv.packages()
    for file in (index / "torch").glob("torch-2.6.0-*.whl"):
        file.write_text("no wheel")
    Terminal(monkeypatch)
    with pytest.raises(EnvkitError, match="Step 2") as told:
        fix.fix_here(machine.look, all_checks(), dry_run=False, yes=False)
    assert "--fix --undo" in str(told.value)
    assert "torch" not in venv.packages()
    events = [entry["event"] for entry in Journal.last().entries()]
    assert events == ["begun", "step", "done", "step", "failed"]
    assert fix.undo_here(dry_run=False, yes=True) == 0
    assert venv.packages() == before


@pytest.mark.thorough
def test_a_variable_of_a_profile_file_is_taken_out_and_put_back(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    venv = broken(index, monkeypatch, "torch==2.6.0+cu124")
    profile = index.parent / ".bashrc"
    text = "alias ll='ls -l'\nexport CUDA_VISIBLE_DEVICES=\nif true; then export CUDA_VISIBLE_DEVICES=1; fi\n"
    profile.write_text(text)
    profile.chmod(0o640)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert machine.look().verdict.id == "cuda-visible-devices-empty"
    Terminal(monkeypatch)
    after = fix.fix_here(machine.look, all_checks(), dry_run=False, yes=False)
    assert after.verdict.id == "cuda-visible-devices-empty" and venv.packages()  # this shell still has it
    assert "# envkit: export CUDA_VISIBLE_DEVICES=\n" in profile.read_text() and profile.stat().st_mode & 0o777 == 0o640
    profile_after = profile.read_text()
    profile.write_text(profile_after + "# somebody's line\n")
    assert fix.undo_here(dry_run=False, yes=True) == 1  # not over what somebody wrote since
    assert "# somebody's line" in profile.read_text()
    [folder] = state_folder().iterdir()
    assert folder.stat().st_mode & 0o077 == 0
    lines = [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]
    [state] = lines[1]["before"]["files"]
    assert Path(state["copy"]).read_text() == text


@pytest.mark.thorough
def test_nobody_to_ask_a_declined_step_and_a_dry_run_change_nothing(
    index: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    venv = broken(index, monkeypatch, "torch==2.6.0+cu124", "torchvision==0.15.2")
    before = venv.packages()
    report = machine.look()
    fix.fix_here(lambda: report, all_checks(), dry_run=True, yes=False)
    shown = capsys.readouterr().out
    assert "pip install torchvision==0.21.0" in shown and "changes Python packages" in shown
    Terminal(monkeypatch, lambda question: False)
    fix.fix_here(lambda: report, all_checks(), dry_run=False, yes=False)
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(EnvkitError, match="no terminal"):
        fix.fix_here(lambda: report, all_checks(), dry_run=False, yes=False)
    assert venv.packages() == before and not state_folder().exists()


@pytest.mark.thorough
def test_an_environment_without_pip_is_fixed_by_uv(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uv = shutil.which("uv")
    if uv is None:
        pytest.skip("no uv here")
    venv = broken(index, monkeypatch, "torch==2.1.0", "numpy==2.1.3")
    before = venv.packages()
    [link] = venv.prefix.glob("lib/python3*/site-packages/pip")
    link.unlink()
    (venv.prefix / "bin" / "uv").symlink_to(uv)
    monkeypatch.setenv("UV_INDEX_URL", f"file://{index}")
    Terminal(monkeypatch)
    after = fix.fix_here(machine.look, all_checks(), dry_run=False, yes=False)
    assert after.verdict.id != "numpy2-abi" and venv.packages()["numpy"] == "1.26.4"
    assert fix.undo_here(dry_run=False, yes=True) == 0
    assert venv.packages() == before


@pytest.mark.network
def test_a_real_numpy_is_replaced_and_comes_back(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    venv = broken(index, monkeypatch, "torch==2.1.0")
    for name in ("PIP_INDEX_URL", "PIP_CONFIG_FILE"):
        monkeypatch.delenv(name)
    repairs.carry_out(Work((venv.python, "-m", "pip", "install", "-q", "numpy>=2")))
    before = venv.packages()
    assert machine.look().verdict.id == "numpy2-abi"
    Terminal(monkeypatch)
    after = fix.fix_here(machine.look, all_checks(), dry_run=False, yes=False)
    assert after.verdict.id != "numpy2-abi" and venv.packages()["numpy"].startswith("1.")
    assert fix.undo_here(dry_run=False, yes=True) == 0
    assert venv.packages() == before
