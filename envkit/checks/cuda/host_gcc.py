"""The GCC of a machine, which nvcc and the driver's module are built with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.base.versions import Version
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.remedies import on_windows, steps
from envkit.model import Environment, HostCompiler
from envkit.tables.codes import limit

if TYPE_CHECKING:
    from envkit.tables import Matrix
    from envkit.tables.rows import OperatingSystem

_BY_MAJOR = 5  # since when packages of GCC are named by the first number alone


def default_gcc(environment: Environment) -> HostCompiler | None:
    """The GCC that builds call where nobody names one; None where there is none or it is not known."""
    compilers = environment.host_compilers.get() if environment.host_compilers.known else ()
    return next((item for item in compilers if item.name == "gcc" and item.default), None)


def as_packaged(environment: Environment, matrix: Matrix, gcc: int) -> str:
    """How the packages of that GCC are called: by major and minor release where the distribution has it so (4.9)."""
    row = matrix.operating_system(environment.system.os.get().os_id) if environment.system.os.known else None
    rows = (row,) if row is not None else _of_ubuntu(matrix) if not environment.system.os.known else ()
    own = [version for each in rows for version in each.installable_gcc if version.major == gcc][-1:]
    own = [version for version in (_has(row) if row is not None else own) if version.major == gcc]
    return str(max(own)) if own else str(gcc)


def _of_ubuntu(matrix: Matrix) -> list[OperatingSystem]:
    """The releases of the distribution whose commands are given where none is told."""
    return [row for row in matrix.operating_systems if row.os_id.startswith("ubuntu")]


def packaged(environment: Environment, matrix: Matrix, gcc: int) -> bool:
    """True when the distribution found has that GCC next to its own, as far as our table knows, or is unknown
    itself."""
    observed = environment.system.os
    if observed.known and observed.get().id == "fedora":
        return gcc >= limit("gcc-of-fedora").major
    row = matrix.operating_system(observed.get().os_id) if observed.known else None
    if row is None or row.family == "suse":
        return True  # SUSE's packages are named by the number, and our table lists none
    return any(version.major == gcc for version in _has(row))


def _has(row: OperatingSystem) -> tuple[Version, ...]:
    """The compilers in a system's archive, its own among them: who installed another one still has that."""
    own = row.default_gcc if row.family == "debian" else None  # others call it otherwise than those next to it
    return (*row.installable_gcc, *((own.release(1 if own.major >= _BY_MAJOR else 2),) if own is not None else ()))


def with_compiler(environment: Environment, matrix: Matrix, cuda: Version, given: Remedy) -> Remedy:
    """With a GCC that this toolkit accepts, where the system's own is too new for it."""
    own = default_gcc(environment)
    system = matrix.operating_system(environment.system.os.get().os_id) if environment.system.os.known else None
    present = own.version if own is not None else system.default_gcc if system is not None else None
    rows = [row for row in matrix.toolkits if row.version.release(2) == cuda.release(2) and row.gcc_max is not None]
    most = max((row.gcc_max for row in rows if row.gcc_max is not None), default=None)
    if present is None or most is None or present.major <= most.major or on_windows(environment):
        return given
    name = as_packaged(environment, matrix, most.major)
    there = packaged(environment, matrix, most.major)
    beside = steps(environment, "gcc-beside" if there else "gcc-by-conda", gcc=name)
    return Remedy(
        f"{given.advice} CUDA {cuda.release(2)} accepts GCC up to {most.major}, and this system has {present.major}: "
        f"GCC {most.major} next to it, which the last commands choose for this shell, is needed too.",
        (*given.steps, *beside),
    )
