"""Completion, really exercised in the shells that are here; the gate installs all three."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.programs import require

BIN = str(Path(sys.executable).parent)
WORDS = [
    (["envkit", "doc"], "doctor"),
    (["envkit", "resolve", "--framework", "pyt"], "pytorch"),
    (["envkit", "resolve", "--cuda", "12."], "12.4"),
    (["envkit", "install", "--os", "ubuntu2"], "ubuntu22.04"),
    (["envkit", "explain", "no-gpu"], "no-gpu-on-pci"),
    (["envkit", "doctor", "--check", "driver-lib"], "driver-library-mismatch"),
    (["envkit", "doctor", "--form"], "--format"),
    (["envkit", "resolve", "--gpu", "B20"], "B200"),
    (["envkit", "resolve", "--cudnn", "8."], "8.9"),
    (["envkit", "resolve", "--python", "3.1"], "3.12"),
    (["envkit", "resolve", "--target", "an"], "any"),
]
# Every word is tried in one shell; the others show that what they print is read.
FEW = [*WORDS[:3], *(pytest.param(*case, marks=pytest.mark.thorough) for case in WORDS[3:])]
_BASH = """
source <(envkit completion bash)
COMP_WORDS=({words}); COMP_CWORD={index}; COMPREPLY=()
_envkit_completion envkit
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
_ZSH = """
autoload -Uz compinit && compinit -u -D
compadd() {{ print -l -- $completions; }}
_describe() {{ print -l -- $completions_with_descriptions; }}
source <(envkit completion zsh)
words=({words}); CURRENT={current}
_envkit_completion
"""
_FISH = """
envkit completion fish | source
complete -C "{line}"
"""


def _shell(program: str, script: str, home: Path) -> str:
    require(program)
    done = subprocess.run(
        [program, *(["-f"] if program == "zsh" else []), "-c", script],
        env={**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize(("words", "expected"), WORDS, ids=lambda value: str(value))
def test_bash(words: list[str], expected: str, tmp_path: Path) -> None:
    script = _BASH.format(words=" ".join(words), index=len(words) - 1)
    assert expected in _shell("bash", script, tmp_path).split()


@pytest.mark.thorough
@pytest.mark.parametrize(("words", "expected"), FEW, ids=lambda value: str(value))
def test_zsh(words: list[str], expected: str, tmp_path: Path) -> None:
    script = _ZSH.format(words=" ".join(words), current=len(words))
    said = _shell("zsh", script, tmp_path)
    assert any(line.split(":")[0] == expected for line in said.splitlines()), said


@pytest.mark.docker
@pytest.mark.parametrize(("words", "expected"), WORDS, ids=lambda value: str(value))
def test_fish(words: list[str], expected: str, tmp_path: Path) -> None:
    said = _shell("fish", _FISH.format(line=" ".join(words)), tmp_path)
    assert expected in said.split(), said
