"""Where no driver is loaded for certain, and where that cannot be told."""

from __future__ import annotations

from pathlib import Path

import pytest

from envkit.host import driver_loaded


@pytest.mark.parametrize(
    ("modules", "sign", "expected"),
    [
        ("snd 1 0 - Live 0x0\n", False, True),
        ("", False, True),
        ("nvidia 1 0 - Live 0x0\n", False, False),
        ("nvgpu 1 0 - Live 0x0\n", False, False),
        ("snd 1 0 - Live 0x0\n", True, False),
        (None, False, False),
    ],
    ids=["other-modules", "no-module", "loaded", "jetson", "built-in-or-wsl", "no-list-of-modules"],
)
def test_only_a_list_of_modules_without_ours_is_proof(
    modules: str | None, sign: bool, expected: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if modules is not None:
        (tmp_path / "modules").write_text(modules)
    monkeypatch.setattr(driver_loaded, "_MODULES", str(tmp_path / "modules"))
    monkeypatch.setattr(driver_loaded, "SIGNS", (str(tmp_path if sign else tmp_path / "none"),))
    assert driver_loaded.surely_not_loaded() is expected
