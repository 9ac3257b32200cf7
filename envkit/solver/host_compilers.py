"""The compilers that nvcc takes as host compilers, where a request is about a toolkit and nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from envkit.base.platforms import WINDOWS
from envkit.base.versions import Version
from envkit.compat.tables import Tables
from envkit.solver.request import Request
from envkit.tables.codes import VisualStudio
from envkit.tables.loader import read
from envkit.tables.rows import Toolkit


def host_compilers(request: Request, tables: Tables) -> Iterator[str]:
    """What the toolkit of a request compiles with; Visual Studio on Windows, GCC elsewhere."""
    asked = request.cuda.exact if request.cuda is not None else None
    if asked is None or request.frameworks:
        return
    line = asked.release(2) if len(asked.parts) > 1 else asked
    rows = [row for row in tables.toolkits if row.version.starts_with(line)]
    if not rows:
        return
    told = _visual_studio(rows[-1].release) if request.platform == WINDOWS else _gcc(rows[-1], tables)
    if told:
        yield told


def _gcc(toolkit: Toolkit, tables: Tables) -> str:
    """The newest GCC of a toolkit, with the first that takes the next one."""
    newest = toolkit.gcc_max
    if newest is None:
        return ""
    later = next((row for row in tables.toolkits if row.gcc_max is not None and row.gcc_max > newest), None)
    next_one = f"; CUDA {later.release} is the first for GCC {later.gcc_max}" if later is not None else ""
    oldest = f"GCC {toolkit.gcc_min} to {newest}" if toolkit.gcc_min is not None else f"GCC up to {newest}"
    return f"nvcc {toolkit.release} compiles with {oldest}{next_one}"


def _visual_studio(cuda: Version) -> str:
    """The years of Visual Studio that a CUDA compiles with, with the first CUDA that takes the next one."""
    rows = read(VisualStudio)
    row = next((row for row in rows if row.cuda_from <= cuda <= row.cuda_to), None)
    if row is None:
        return ""
    years = f"Visual Studio {row.first} to {row.last}" if row.first else f"Visual Studio up to {row.last}"
    later = next((other for other in rows if other.last > row.last), None)
    next_one = f"; CUDA {later.cuda_from} is the first for Visual Studio {later.last}" if later is not None else ""
    earlier = [other for other in rows if other.cuda_to < cuda and (other.first or 0) < (row.first or 0)]
    older = f"; CUDA {earlier[-1].cuda_to} is the last for Visual Studio {earlier[-1].first}" if earlier else ""
    return f"nvcc {cuda} compiles with {years}{next_one}{older}"
