"""Windows does not look for DLLs in the folders of wheels: what puts them on PATH."""

from __future__ import annotations

from envkit.base.versions import Version
from envkit.checks.engine.command import PATH, PYTHON, Command, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import named, seen
from envkit.model import Environment

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


_TOOLKITS = r"C:\Program Files\NVIDIA GPU Computing Toolkit\CUDA"


def unpacked_dlls(environment: Environment) -> Remedy | None:
    """The remedy where the text shows cuDNN's DLL in a folder that is not searched; otherwise None."""
    folder = named(seen(environment, "cudnn-missing", "detail-dll"), "folder")
    if folder is None or "\\CUDA\\v" in folder:
        return None
    place = folder.rstrip("\\")
    words = (
        f"cuDNN is only unpacked in {place}, where Windows does not look. Either add that directory to PATH (Settings "
        "> Edit the system environment variables > Environment Variables > Path > New), or copy its DLLs next to those "
        "of CUDA"
    )
    toolkits = environment.cuda_toolkits.get() if environment.cuda_toolkits.known else ()
    told = Version.find(named(seen(environment, "cudnn-missing", "detail-runtime"), "cuda") or "")
    releases = {toolkit.version.release(2) for toolkit in toolkits} or (
        {told.release(2)} if told is not None else set()
    )
    if len(releases) != 1:
        return Remedy(f"{words} (its bin directory). Then start the program in a new window.")
    return Remedy(
        f"{words}, which the command does (as administrator). Then start the program in a new window.",
        (run("xcopy", "/y", PATH(f"{place}\\*.dll"), PATH(f"{_TOOLKITS}\\v{releases.pop()}\\bin")),),
    )
