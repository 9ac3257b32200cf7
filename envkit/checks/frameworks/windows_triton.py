"""Triton on native Windows: the package of its port in the line that is made for the installed torch."""

from __future__ import annotations

from envkit.base.versions import Version
from envkit.checks.engine.command import PYTHON, REQUIREMENT, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.frameworks.installs import first_python, installs, pip, release
from envkit.model import Environment

_PORT = "triton-windows"
_OTHERS = ("triton", "triton-library", "triton-pre")  # that provide a module of the same name, or claim to


def triton_of_port(environment: Environment) -> Remedy:
    """Without the packages that are in its way, pinned where torch is known; otherwise with the list of its series."""
    python = first_python(environment)
    item = next(installs(environment, "pytorch"), None)
    own = release(item.framework.version) if item is not None else None
    lines = _lines()
    fitting = [line for line, torch in lines if own is not None and torch[0] <= own < torch[1]]
    known = f" {_PORT} {fitting[0]} is for torch {own}." if fitting else ""
    listed = "; ".join(f"{line} for torch {_span(*torch)}" for line, torch in lines)
    pairs = (
        ""
        if known
        else " The second command prints your torch version. In the third, replace SERIES "
        f"with the matching series: {listed}. The fourth command checks the result."
    )
    if own is not None and not fitting:
        return Remedy(
            f"triton is published for Linux only. The Windows port is {_PORT}, which has no series for torch "
            f"{own}: {listed}. Run the program in WSL 2, use such a torch, or turn off what needs "
            "Triton in the program's settings."
        )
    wanted = f"{_PORT}=={fitting[0] if fitting else 'SERIES'}.*"
    executable = python.executable or "python"
    own_torch = run(PYTHON(executable), "-c", "import torch; print(torch.__version__)")
    return Remedy(
        f"triton is published for Linux only; the Windows port is {_PORT}.{known} Run these commands in the program's "
        f"environment. The first removes every package that provides a module named triton, except {_PORT}.{pairs} If "
        "the program then fails with \"No module named 'triton.common'\", it was written for Triton 2; update the "
        "program. Alternatively, run the program in WSL 2.",
        (
            pip(python, "uninstall", "-y", *_OTHERS),
            *(() if fitting else (own_torch,)),
            pip(python, "install", "-U", REQUIREMENT(wanted)),
            run(PYTHON(executable), "-c", "import torch, triton; print(torch.__version__, triton.__version__)"),
        ),
    )


def _span(first: Version, end: Version) -> str:
    """The minor releases from `first` to the last before `end`: 2.4 or 2.5."""
    named = [f"{first.major}.{minor}" for minor in range(first.parts[1], end.parts[1])]
    return " or ".join(named)


def _lines() -> list[tuple[Version, tuple[Version, Version]]]:
    """Each line of the port with the first release of torch that it is for, and the first that it is not for."""
    from envkit.compat.pairs import pairs_by_package, required

    found = []
    for row in pairs_by_package().get(_PORT, ()):
        version = Version.find(row.version)
        bounds = {sign: bound for line in required(row) if line.package == "torch" for sign, bound in line.spec.clauses}
        if version is not None and ">=" in bounds and "<" in bounds:
            found.append((version.release(2), (bounds[">="], bounds["<"])))
    return found
