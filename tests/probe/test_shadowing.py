"""Which files hide a standard module: what the probe says is what Python does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from envkit.probe.shadowing import shadowing_modules
from tests.fakes.memory_host import MemoryHost

NAMES = ("sys", "builtins", "io", "codecs", "abc", "site", "stat", "zipimport", "encodings", "runpy", "random", "queue")


def python_takes(folder: Path, name: str, on_path: bool) -> bool:
    """Whether Python imports the file `name`.py of the folder; one that cannot even start because of it does."""
    (folder / f"{name}.py").write_text("HIDDEN = True\n")
    script = folder / "start_here.py"
    script.write_text(f"import {name}; print(hasattr({name}, 'HIDDEN'))\n")
    variables = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    command = [sys.executable, "-c", script.read_text()] if on_path else [sys.executable, str(script)]
    variables |= {"PYTHONPATH": str(folder)} if on_path else {}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=variables, cwd="/")
    return done.returncode != 0 or done.stdout.strip() == "True"


@pytest.mark.parametrize("on_path", [False, True], ids=["working folder", "PYTHONPATH"])
@pytest.mark.parametrize("name", NAMES)
def test_a_file_hides_a_module_where_python_takes_it(name: str, on_path: bool, tmp_path: Path) -> None:
    place = "/home/user/work"
    host = MemoryHost(
        {f"{place}/{name}.py": ""},
        variables={"PYTHONPATH": place} if on_path else {},
        identity={} if on_path else {"cwd": place},
    )
    expected = (f"{place}/{name}.py",) if python_takes(tmp_path, name, on_path) else ()
    assert shadowing_modules(host) == expected
