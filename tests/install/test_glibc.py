"""A glibc whose headers contradict CUDA's is reported by the plan, by the script before it fetches, and when nvcc
stops."""

from __future__ import annotations

from pathlib import Path

import pytest

from envkit.base.settings import Mirrors
from envkit.install.options import ScriptOptions
from envkit.install.steps import installation
from tests.install.plans import plan, scripted
from tests.install.shell import call

# NVIDIA/cuda-samples issue 378: CUDA 12.9 and glibc 2.41 disagree on cospi. NixOS/nixpkgs pull request 512796: from
# CUDA 13.0 on only rsqrt of glibc 2.42 is left. llvm/llvm-project pull request 185701: CUDA 13.2 fixes that.
CASES = [
    ("12.4", "ubuntu26.04", True),  # glibc 2.43
    ("12.9", "debian13", True),  # 2.41
    ("13.0", "debian13", False),
    ("13.1", "fedora43", True),  # 2.42
    ("13.2", "fedora44", False),
    ("12.4", "ubuntu24.04", False),  # 2.39
]


@pytest.mark.parametrize(("cuda", "os_id", "told"), CASES)
def test_the_plan_tells_headers_that_do_not_compile(cuda: str, os_id: str, told: bool) -> None:
    notes = installation(plan(cuda, os_id=os_id), ScriptOptions(), Mirrors()).notes
    assert any("exception specification is incompatible" in note for note in notes) is told


@pytest.mark.parametrize(
    ("cuda", "glibc", "told"),
    [
        ("12.4", "2.43", True),
        ("12.4", "2.41", True),
        ("12.4", "2.39", False),
        ("13.1", "2.41", False),
        ("12.4", "", False),
    ],
)
def test_the_script_tells_it_before_it_fetches_anything(tmp_path: Path, cuda: str, glibc: str, told: bool) -> None:
    text = scripted(plan(cuda, os_id=None), ScriptOptions(), Mirrors())
    done = call(text, f"getconf() {{ echo glibc {glibc}; }}\nwarn_of_glibc", tmp_path)
    assert done.returncode == 0 and ("do not compile with glibc" in done.stderr) is told, done
    assert "warn_of_glibc" not in scripted(plan("13.2", os_id=None), ScriptOptions(), Mirrors())


def test_nvccs_words_are_explained(tmp_path: Path) -> None:
    text = scripted(plan("12.4", os_id=None), ScriptOptions(), Mirrors())
    words = 'error: exception specification is incompatible with that of previous function "cospi"\n1 error'
    done = call(text, f"compile_words '{words}'; echo; compile_words 'first\nlast'", tmp_path)
    first, _, last = done.stdout.partition("\n")
    assert "headers conflict with this system's glibc" in first and last == "last", done
