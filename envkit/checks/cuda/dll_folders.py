"""Windows does not look for DLLs in the folders of wheels: what puts them on PATH."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.base.versions import Version
from envkit.checks.engine.command import FILE, NAME, PATH, PYTHON, REQUIREMENT, Command, fixed, for_windows, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.remedies import on_windows
from envkit.checks.frameworks.installs import installs
from envkit.model import Environment
from envkit.tables.codes import limit

if TYPE_CHECKING:
    from envkit.tables import Matrix

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


TOOLKITS = r"C:\Program Files\NVIDIA GPU Computing Toolkit\CUDA"


def dll_by_hand(environment: Environment, matrix: Matrix, major: str) -> Remedy:
    """cuDNN of a release that no wheel has, on Windows: NVIDIA's archive, unpacked next to CUDA's own DLLs."""
    toolkits = {toolkit.version.release(2) for toolkit in environment.cuda_toolkits.value or ()}
    cuda = next(iter(toolkits)) if len(toolkits) == 1 else None
    rows = [row for row in matrix.cudnns if str(row.soname_major) == major and cuda in (None, row.cuda.release(2))]
    newest = max((row.version for row in rows), default=None)
    name = f"cuDNN {newest.release(3) if newest is not None and cuda is not None else major}"
    place = f"{TOOLKITS}\\v{cuda}\\bin" if cuda is not None else f"{TOOLKITS}\\vX.Y\\bin, X.Y being that CUDA"
    made = f"CUDA {cuda}" if cuda is not None else "the CUDA that the program was built for"
    return Remedy(
        f"No wheel provides cuDNN {major}. Download {name} for {made} and Windows from NVIDIA's archive "
        f"(https://developer.nvidia.com/rdp/cudnn-archive), unpack it, and copy its DLLs from cuda\\bin to {place}, as "
        "administrator. Start the program in a new window. The first command shows where Windows finds the DLL; error "
        "126 although it is found means that CUDA's own DLLs are not on PATH, which the second shows.",
        (run("where.exe", NAME(f"cudnn64_{major}.dll")), for_windows(fixed("where.exe cudart64_*.dll"))),
    )


def which_dll(environment: Environment, matrix: Matrix, major: str) -> Remedy:
    """Where no message names the DLL: the number in its name is cuDNN's major release, and decides how it comes."""
    own = f" The installed framework wants cudnn64_{major}.dll." if major else ""
    built = {
        item.framework.cuda.major
        for framework in matrix.frameworks
        for item in installs(environment, framework.name)
        if item.framework.cuda is not None
    }
    cuda = built.pop() if len(built) == 1 else limit("cuda-of-most-programs")
    return Remedy(
        f"The number in the name of the DLL that the program asks for is cuDNN's major release.{own} The first "
        "commands print which one is on PATH: another number does not help, nor does renaming the file. cuDNN 8 and 9 "
        f"come as a wheel for the program's Python (the third command; for a program built for CUDA {cuda}, with "
        "==8.* or ==9.* to match); for older ones, get the archive from NVIDIA "
        "(https://developer.nvidia.com/rdp/cudnn-archive), unpack it, and copy its DLLs to CUDA's own bin folder. "
        f"{ON_PATH}",
        (
            for_windows(fixed("where.exe cudnn64_*.dll")),
            for_windows(fixed("where.exe cudart64_*.dll")),
            for_windows(run("python", "-m", "pip", "install", REQUIREMENT(f"nvidia-cudnn-cu{cuda}=={major or 8}.*"))),
            print_folders("python"),
        ),
    )


def first_on_path(built: Version | None) -> Remedy:
    """An older DLL of the same name, which another program brought: Windows takes the first one on Path."""
    number = built.major if built is not None else None
    listed = fixed("where.exe cudnn64_*.dll") if number is None else run("where.exe", FILE(f"cudnn64_{number}.dll"))
    wanted = f" {built.release(2)} or newer," if built is not None and len(built.parts) > 1 else ""
    return Remedy(
        "Windows loads the first DLL of that name on Path, in the order in which the command prints them: the first "
        "one is the old one, even if a newer one was copied next to CUDA. Remove the old one's folder from Path, "
        "or move CUDA's bin folder above it (Settings > Edit the system environment variables > Environment "
        "Variables); do not delete the file if another program uses it. Open a new window, and run the command again. "
        f"If only one file is printed, replace it with cuDNN{wanted} of the same major release, from NVIDIA's archive "
        "(https://developer.nvidia.com/rdp/cudnn-archive), for the CUDA in whose folder it is.",
        (for_windows(listed),),
    )


def in_toolkit(environment: Environment) -> Remedy | None:
    """Where the text says that the DLL is in CUDA's own folder: this Python does not look there, or not all are."""
    told = named(seen(environment, "cudnn-missing", "detail-in-toolkit"), "cuda")
    if told is None or not on_windows(environment):
        return None
    place = f"{TOOLKITS}\\v{told}\\bin"
    return Remedy(
        f"The DLL is in {place}, so nothing has to be installed. The first command prints it if Path has that folder; "
        "if it prints nothing, add the folder to Path (Settings > Edit the system environment variables > Environment "
        "Variables) and open a new window. If it prints the file, look at the second: a path with WindowsApps is the "
        "Python of the Microsoft Store, which does not search Path for DLLs. Then name the folder in the program, "
        f"before the framework is imported: import os; os.add_dll_directory(r'{place}'). Or install Python from "
        "python.org, and the framework there. zlibwapi.dll, which cuDNN 8 needs too, has to be found the same way "
        "(the last command).",
        (
            for_windows(fixed("where.exe cudnn*.dll")),
            for_windows(run("python", "-c", "import sys; print(sys.executable)")),
            for_windows(fixed("where.exe zlibwapi.dll")),
        ),
    )


def not_searched(environment: Environment) -> Remedy | None:
    """Where the DLLs are on Path, and this Python does not look there for them: that of the Microsoft Store."""
    folder = named(seen(environment, "tf-cannot-dlopen", "detail-dll-there"), "folder")
    if folder is None or not seen(environment, "tf-cannot-dlopen", "detail-store", "detail-add-directory"):
        return None
    place = folder.rstrip("\\")
    return Remedy(
        f"The DLLs are there, in {place}, so nothing of CUDA has to be installed again: this Python does not search "
        "Path for DLLs, as the one of the Microsoft Store never does. Either name the directory in the program, before "
        f"TensorFlow is imported: import os; os.add_dll_directory(r'{place}') (the command shows that the GPU is then "
        "there). Or install Python from python.org, make the environment again with it, and install TensorFlow there.",
        (run("python", *("-c", f"import os; os.add_dll_directory(r'{place}'); {_LIST}")),),
    )


_LIST = "import tensorflow as tf; print(tf.config.list_physical_devices('GPU'))"


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
        (run("xcopy", "/y", PATH(f"{place}\\*.dll"), PATH(f"{TOOLKITS}\\v{releases.pop()}\\bin")),),
    )


def off_path(environment: Environment) -> Remedy:
    """An older library that Path brings in front of the one in the framework's own folder."""
    return Remedy(
        "A folder in Path contains a different release of the library, and Windows loads that one. The commands print "
        "where the DLLs are found. Take the folders of CUDA and cuDNN that you added out of Path (Settings > Edit the "
        "system environment variables > Environment Variables), or rename DLLs that were copied into a system folder, "
        "and start the program in a new window: PyTorch includes its own CUDA and cuDNN, and does not use the "
        "system's. A program that does need the one in Path can get it in a window of its own.",
        (fixed("where.exe cudnn*.dll"), fixed("where.exe cublas64_*.dll")),
    )
