"""Windows does not look for DLLs in the folders of wheels: what puts them on PATH."""

from __future__ import annotations

from envkit.checks.engine.command import PYTHON, Command, run

_PRINT = (
    "import glob, os, nvidia; print(';'.join(sorted({os.path.dirname(f) for f in "
    "glob.glob(list(nvidia.__path__)[0] + '/**/*.dll', recursive=True)})))"
)
ON_PATH = (
    "Windows does not look for DLLs there: add the output of the last command to PATH in the window that starts the "
    "program (Command Prompt: set PATH=OUTPUT;%PATH%; PowerShell: $env:PATH = 'OUTPUT;' + $env:PATH)."
)


def print_folders(python: str) -> Command:
    """The command that prints every folder of NVIDIA's wheels with a DLL, as PATH wants them."""
    return run(PYTHON(python or "python"), "-c", _PRINT)
