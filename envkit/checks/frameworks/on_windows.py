"""What native Windows lacks when a framework's libraries do not load."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.checks.engine.command import fixed
from envkit.checks.engine.evidence import known
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Outcome, ok, skip
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import on_windows
from envkit.checks.frameworks.installs import installs
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix


_PAGING_FILE = Fault(
    "windows-paging-file-small",
    "The paging file of Windows is too small",
    impact="Processes stop at import torch; the libraries themselves are whole.",
    remedy="Start fewer processes (num_workers, subprocess environments), or enlarge the paging file: System, Advanced "
    "system settings, Performance, Virtual memory; then restart. The present size:",
    steps=(fixed("powershell -Command Get-CimInstance Win32_PageFileUsage"),),
)
_RUNTIME = Fault(
    "windows-runtime-missing",
    "Windows lacks a runtime library that the framework loads",
    impact="The import stops, although the named file is there.",
    remedy="Install the Visual C++ runtime and start the program again. Where the same file is named once more "
    "(the fbgemm.dll of some torch releases needs libomp140), update torch within its index.",
    steps=(fixed("winget install --id Microsoft.VCRedist.2015+.x64"), fixed("python -m pip show torch")),
)


@check(
    _PAGING_FILE,
    layer=Layer.LIBRARIES,
    rank=3,
    any_of=("system.os", "messages"),
    fix="Start fewer processes, or enlarge the paging file of Windows and restart.",
    references=threads("thu-ml/tianshou#297", "ultralytics/yolov3#1643"),
)
def windows_paging_file_small(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Windows can back every process's libraries with memory and paging file.

    Each process that imports torch reserves gigabytes for the CUDA libraries. Many workers exceed the limit, and the
    loader then fails on whichever library is next (WinError 1455): none of them is missing.
    """
    yield from _loads(_PAGING_FILE, environment)


@check(
    _RUNTIME,
    layer=Layer.LIBRARIES,
    rank=4,
    any_of=("system.os", "messages"),
    references=threads("ostris/ai-toolkit#50", "pytorch/pytorch#131662"),
)
def windows_runtime_missing(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Every library that the framework's own libraries load is there.

    WinError 126 names the library that Windows was asked for, not the missing one below it: the Visual C++ runtime, or
    the OpenMP library that Visual Studio brings.
    """
    yield from _loads(_RUNTIME, environment)


def _loads(fault: Fault, environment: Environment) -> Iterator[Outcome]:
    if reported := fault.reported(environment):
        yield reported
    elif environment.system.os.known and not on_windows(environment):
        yield skip("not Windows", evidence=[known(environment, "system.os")])
    elif environment.system.os.known and any(installs(environment)):
        yield ok("nothing tells that a library does not load", evidence=[known(environment, "system.os")])
