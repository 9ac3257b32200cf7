"""The GCC of a machine, which nvcc and the driver's module are built with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.model import Environment, HostCompiler
from envkit.tables.codes import limit

if TYPE_CHECKING:
    from envkit.tables import Matrix
    from envkit.tables.rows import OperatingSystem


def default_gcc(environment: Environment) -> HostCompiler | None:
    """The GCC that builds call where nobody names one; None where there is none or it is not known."""
    compilers = environment.host_compilers.get() if environment.host_compilers.known else ()
    return next((item for item in compilers if item.name == "gcc" and item.default), None)


def as_packaged(environment: Environment, matrix: Matrix, gcc: int) -> str:
    """How the packages of that GCC are called: by major and minor release where the distribution has it so (4.9)."""
    row = matrix.operating_system(environment.system.os.get().os_id) if environment.system.os.known else None
    rows = (row,) if row is not None else _of_ubuntu(matrix) if not environment.system.os.known else ()
    own = [version for each in rows for version in each.installable_gcc if version.major == gcc][-1:]
    own = [version for version in (row.installable_gcc if row is not None else own) if version.major == gcc]
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
    return any(version.major == gcc for version in row.installable_gcc)
