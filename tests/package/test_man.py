"""The man page is real roff: the system's own formatter renders it without a complaint."""

from __future__ import annotations

import subprocess

from envkit.cli.main import COMMANDS
from tests.cli.run import ROOT
from tests.programs import require


def test_man_page_renders_without_warnings() -> None:
    require("man")
    done = subprocess.run(
        ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", str(ROOT / "docs" / "envkit.1")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stderr == ""
    shown = subprocess.run(
        ["man", "-P", "cat", "-l", str(ROOT / "docs" / "envkit.1")], capture_output=True, text=True, check=True
    ).stdout
    for command in COMMANDS:
        assert f"envkit {command}" in shown
    assert "EXIT STATUS" in shown
