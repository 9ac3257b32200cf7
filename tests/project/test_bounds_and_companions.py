"""What a project asks of NumPy in one range, and what of it no plan installs."""

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


def test_what_is_tied_to_torch_and_not_planned_is_named(tmp_path: Path) -> None:
    text = (
        '[project]\nname = "demo"\nversion = "0.1"\ndependencies = ["torch>=2.4,<2.6", "vllm==0.6.3", "torchvision"]\n'
    )
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    done = envkit("dockerfile", "--project", str(tmp_path), "--target", "any", "--gpu", "GeForce RTX 4090")
    assert done.returncode == 0 and "Not in the image: vllm==0.6.3." in done.stderr
    assert "vllm" not in done.stdout and "torchvision" in done.stdout
