"""What a project asks of NumPy in one range, and which torch what is tied to it gets."""

from __future__ import annotations

from pathlib import Path

import pytest

from envkit.base.versions import narrowest
from tests.cli.run import envkit


@pytest.mark.parametrize(
    ("bounds", "told"),
    [
        (["<2,>=1.23.5", "<2.0.0,>=1.22"], ">=1.23.5,<2"),
        (["<2"], "<2"),
        ([">=1.26", ">=1.23,<2.1", "!=1.26.1"], ">=1.26,<2.1,!=1.26.1"),
    ],
)
def test_bounds_become_one_range(bounds: list[str], told: str) -> None:
    assert narrowest(bounds) == told


@pytest.mark.parametrize(
    ("vllm", "torch", "installed"),
    [
        ("vllm==0.6.3", "torch>=2.4,<2.6", ("torch==2.4.0", "vllm==0.6.3")),
        ("vllm", "torch<2.6", ("torch==2.5.1", "vllm==0.7")),
        ("vllm", "pandas", ("torch==", "vllm==")),
    ],
)
def test_what_is_tied_to_torch_is_installed_with_its_torch(
    vllm: str, torch: str, installed: tuple[str, ...], tmp_path: Path
) -> None:
    text = f'[project]\nname = "demo"\nversion = "0.1"\ndependencies = ["{torch}", "{vllm}", "torchvision"]\n'
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    done = envkit("dockerfile", "--project", str(tmp_path), "--target", "any", "--gpu", "GeForce RTX 4090")
    assert done.returncode == 0 and "torchvision" in done.stdout
    for line in installed:
        assert f'"{line}' in done.stdout, line
