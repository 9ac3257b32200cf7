"""What native Windows lacks when a framework's libraries do not load."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.base.versions import Version
from envkit.checks.cuda.ptx import reported_by
from envkit.checks.engine.command import PATH, REQUIREMENT, URL, Word, fixed, run
from envkit.checks.engine.evidence import known, silent
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Outcome, Remedy, skip
from envkit.checks.engine.messages import named, said, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import on_windows
from envkit.checks.frameworks.builds import bring_release
from envkit.checks.frameworks.installs import (
    TORCH_PACKAGES,
    companions_of,
    first_python,
    gpu_present,
    installs,
    named_python,
    pip,
    release,
)
from envkit.model import OTHER_MAKER, Environment
from envkit.tables.codes import limit

if TYPE_CHECKING:
    from envkit.tables import Matrix


_PAGING_FILE = Fault(
    "windows-paging-file-small",
    "The Windows paging file is too small",
    impact="Processes fail at import torch; the libraries themselves are fine.",
    remedy="Enlarge the paging file: System > Advanced system settings > Performance Settings > Advanced > Virtual "
    "memory. Choose System managed size on the drive with the most free space (it need not be C:), or a custom size of "
    "at least twice the file that is loaded; then restart. Where several processes import PyTorch, starting fewer "
    "(num_workers, subprocess environments) also helps. To see the current size:",
    steps=(fixed("powershell -Command Get-CimInstance Win32_PageFileUsage"),),
)


_REDISTRIBUTABLE = fixed("winget install --id Microsoft.VCRedist.2015+.x64")
_FIRST = (
    "The Visual C++ runtime (msvcp140.dll, vcruntime140.dll) is not installed: install it with the first command, and "
    "start the program again. Only if fbgemm.dll still does not load, go on:"
)


def _runtime(environment: Environment, matrix: Matrix) -> Remedy:
    """The Visual C++ runtime; for fbgemm.dll, whose OpenMP library it does not provide, the next patch of that
    torch."""
    text = said(environment, "windows-runtime-missing").lower()
    if seen(environment, "windows-runtime-missing", "zlib", "cudnn-126"):
        return _zlib(environment)
    in_next_line = seen(environment, "windows-runtime-missing", "detail-fbgemm")
    patch = _next_patch(environment, matrix) if in_next_line or "fbgemm" in text or "libomp140" in text else None
    if patch is not None and seen(environment, "windows-runtime-missing", "detail-no-runtime"):
        return Remedy(f"{_FIRST} {patch.advice}", (_REDISTRIBUTABLE, *patch.steps))
    if patch is not None:
        return patch
    if seen(environment, "windows-runtime-missing", "detail-intel-openmp"):
        return Remedy(
            "libiomp5md.dll is Intel's OpenMP library: the Visual C++ runtime does not have it, but a package of its "
            "own does, which installs it next to Python. (NumPy with MKL brings it, NumPy from PyPI does not.)",
            (pip(first_python(environment), "install", "intel-openmp"),),
        )
    return Remedy(
        "Install the current Visual C++ runtime, which replaces an older one (without winget, run vc_redist.x64.exe "
        "from aka.ms/vs/17/release), and start the program again. If the error then names fbgemm.dll, install a "
        "later patch release of that torch: its fbgemm.dll does not need libomp140, the missing library.",
        (_REDISTRIBUTABLE,),
    )


def _zlib(environment: Environment) -> Remedy:
    """The library that cuDNN 8 loads, and that neither Windows nor cuDNN's archive has."""
    place = PATH(named(seen(environment, "windows-runtime-missing", "detail-cudnn-folder"), "folder") or "")
    folder = place if isinstance(place, str) else r"C:\cudnn\bin"
    return Remedy(
        "cuDNN 8 for Windows needs zlibwapi.dll (zlib), which neither Windows nor cuDNN's archive contains: error 126 "
        "means that a library which the named file loads is missing, not that file. Copy it next to cuDNN's own files, "
        "in a Command Prompt that was started as administrator (if cuDNN is in another directory, as shown by where "
        "cudnn64_8.dll, use that one), and start the program again.",
        (
            fixed("curl.exe -LO http://www.winimage.com/zLibDll/zlib123dllx64.zip"),
            fixed("tar.exe -xf zlib123dllx64.zip"),
            run("copy", r"dll_x64\zlibwapi.dll", PATH(folder)),
        ),
    )


def _torch_of(matrix: Matrix, version: Version) -> Iterator[Word]:
    """torch and its companions of that release."""
    yield REQUIREMENT(f"torch=={version}")
    lines = companions_of(matrix, version)
    yield from (REQUIREMENT(line.partition("+")[0]) for line in lines if line.partition("==")[0] in TORCH_PACKAGES)


def _cuda_index(environment: Environment, matrix: Matrix, version: Version) -> tuple[Word, ...]:
    """The index of that release's newest build that the driver runs; without one, of the build that most drivers do."""
    rows = [
        row for row in matrix.builds("pytorch") if row.version == version and row.cuda is not None and row.index_url
    ]
    if seen(environment, OTHER_MAKER) and not gpu_present(environment):
        return ()  # on Windows, the default index has the builds for the CPU
    own = environment.driver.driver_cuda_version.value or reported_by(environment, matrix)
    run_here = [row for row in rows if own is not None and row.cuda is not None and row.cuda.release(2) <= own]
    oldest = min(rows, key=lambda row: row.cuda or version, default=None)
    best = max(run_here, key=lambda row: row.cuda or version, default=oldest)
    return ("--index-url", URL(best.index_url or "")) if best is not None else ()


def _whose(environment: Environment, matrix: Matrix) -> str:
    """Which build the index has, for whoever tells the driver and for whoever does not."""
    known = environment.driver.driver_cuda_version.value or reported_by(environment, matrix)
    return "the newest CUDA that this driver runs" if known is not None else "the CUDA that most drivers run"


def _next_patch(environment: Environment, matrix: Matrix) -> Remedy | None:
    item = next(installs(environment, "pytorch"), None)
    own = release(item.framework.version) if item is not None else None
    known = limit("fbgemm-with-libomp")
    if item is None or own is None or own.release(2) < known.release(2):  # an older one is what worked
        line = {
            row.version
            for row in matrix.builds("pytorch")
            if row.version.release(2) == limit("fbgemm-with-libomp").release(2)
        }
        patch = max(line, default=None)
        if patch is None:
            return None
        return Remedy(
            f"torch {limit('fbgemm-with-libomp')} has a known problem: its fbgemm.dll needs libomp140.x86_64.dll, "
            f"which neither Windows nor the Visual C++ runtime provides; {patch} does not need it. The index below "
            f"has the build for {_whose(environment, matrix)}; without an index, pip installs a CPU build on Windows. "
            "If the program's own requirements name another CUDA (cu and its number), write that at the end of the "
            "address.",
            (
                pip(
                    named_python(environment),
                    "install",
                    *_torch_of(matrix, patch),
                    *_cuda_index(environment, matrix, patch),
                ),
            ),
        )
    line = {row.version for row in matrix.builds("pytorch") if row.version.release(2) == own.release(2)}
    if max(line, default=own) <= own:
        after = sorted({row.version for row in matrix.builds("pytorch") if row.version > own})
        line = {version for version in after if version.release(2) == after[0].release(2)}
    if not line:
        return None
    why = f"The fbgemm.dll of torch {own} needs libomp140, which is missing; {max(line)} does not need it."
    if seen(environment, OTHER_MAKER) and not gpu_present(environment):
        return Remedy(
            f"{why} Without an NVIDIA GPU, the build for the CPU is the right one: no CUDA is needed.",
            (pip(item.python, "install", *_torch_of(matrix, max(line))),),
        )
    return bring_release(environment, matrix, item, max(line), why)


_RUNTIME = Fault(
    "windows-runtime-missing",
    "Windows is missing a runtime library that the framework loads",
    impact="The import fails even though the file named in the error exists.",
    remedy=_runtime,
)


@check(
    _PAGING_FILE,
    layer=Layer.LIBRARIES,
    rank=3,
    any_of=("system.os", "messages"),
    fix="Start fewer processes, or enlarge the Windows paging file and restart.",
    references=threads("thu-ml/tianshou#297", "ultralytics/yolov3#1643"),
)
def windows_paging_file_small(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Windows has enough memory and paging file to load the libraries of every process.

    Each process that imports torch reserves gigabytes for the CUDA libraries. Many workers together exceed the limit,
    and the loader then fails on whichever library comes next (WinError 1455), although none is missing.
    """
    yield from _loads(_PAGING_FILE, environment)


@check(
    _RUNTIME,
    layer=Layer.LIBRARIES,
    rank=4,
    any_of=("system.os", "messages"),
    fix="Install the current Visual C++ runtime; for fbgemm.dll, a later patch release of torch.",
    references=threads("ostris/ai-toolkit#50", "pytorch/pytorch#131662"),
)
def windows_runtime_missing(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Every library that the framework's own libraries depend on is installed.

    WinError 126 names the library that was requested, not the missing dependency: the Visual C++ runtime, or the OpenMP
    library that comes with Visual Studio.
    """
    yield from _loads(_RUNTIME, environment)


def _loads(fault: Fault, environment: Environment) -> Iterator[Outcome]:
    if reported := fault.reported(environment):
        yield reported
    elif environment.system.os.known and not on_windows(environment):
        yield skip("not Windows", evidence=[known(environment, "system.os")])
    elif environment.system.os.known and any(installs(environment)):
        yield silent(
            environment, "no error message about a library that does not load", known(environment, "system.os")
        )
