"""Every command block in the README and the docs is executed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.blocks import PAGES, ROOT, Block, blocks, commands
from tests.newcomer.__main__ import COMMANDS as NEWCOMERS_COMMANDS

_ALL = commands()
# what several pages show alike, as a README and its translation do, runs once
_HERE = list({(block.text, block.expected_exit): block for block in _ALL if "make" not in block.marks}.values())
_MAKE = [block for block in _ALL if "make" in block.marks]


def _name(block: Block) -> str:
    return f"{block.page}:{block.line}"


def _run(block: Block, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "docs").mkdir()
    shutil.copytree(ROOT / "docs" / "examples", folder / "docs" / "examples")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block.text],
        cwd=folder,
        env={**os.environ, "PATH": path, "HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )


@pytest.mark.parametrize("block", _HERE, ids=_name)
def test_block_does_what_the_page_says(block: Block, tmp_path: Path) -> None:
    done = _run(block, tmp_path)
    assert done.returncode == block.expected_exit, f"{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("block", _MAKE, ids=_name)
def test_make_blocks_are_run_by_the_gate(block: Block) -> None:
    """`make test` cannot run itself: the gate runs these, in bare distributions."""
    assert block.text.strip() in NEWCOMERS_COMMANDS
    assert "python3 -m tests.newcomer" in (ROOT / ".ci" / "run").read_text()


def test_there_are_blocks_and_none_has_another_language_for_commands() -> None:
    assert len(_ALL) > 10
    unknown = {block.language for page in PAGES for block in blocks(page)} - {"sh", "text", "json", "python", "toml"}
    assert not unknown
