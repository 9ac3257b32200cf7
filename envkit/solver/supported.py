"""What NVIDIA supports in place of a toolkit on a system, or for GPUs, that it was not made for."""

from __future__ import annotations

from collections.abc import Iterator

from envkit.compat.gpu import ToolkitMatch, toolkit_match
from envkit.compat.system import runfile_on_os
from envkit.solver.model import Alternative, Choice
from envkit.solver.query import Query
from envkit.tables.rows import Toolkit


def supported_instead(query: Query, choice: Choice, toolkit: Toolkit) -> Iterator[Alternative]:
    """The nearest toolkits and the system that go with what was asked for; none where it goes together."""
    system, request = choice.os, query.request
    rows = query.knowledge.tables.toolkits
    if ToolkitMatch.BINARY in _matches(toolkit, query):
        later_ones = (row for row in rows if row.version > toolkit.version)
        natively = (row for row in later_ones if set(_matches(row, query)) == {ToolkitMatch.TARGET})
        if (first := next(natively, None)) is not None:
            names = " and ".join(dict.fromkeys(str(gpu) for gpu in request.gpus))
            yield Alternative({"cuda": str(first.release)}, f"nvcc {first.release} compiles for {names} itself")
    if system is None or request.os_id is None or runfile_on_os(system, toolkit, rows).status != "warn":
        return
    listing = [row for row in rows if system.os_id in (row.os_ids or ())]
    later = [row for row in listing if row.version > toolkit.version]
    nearest = later[0] if later else (listing[-1] if listing else None)
    if nearest is not None:
        gain = f"CUDA {nearest.version}, the nearest known to support {system.title}"
        yield Alternative({"cuda": str(nearest.release)}, gain)
    name = system.os_id.rstrip("0123456789.")
    ids = [one for one in toolkit.os_ids or () if one.rstrip("0123456789.") == name and one != system.os_id]
    known = [row for one in ids if (row := query.knowledge.tables.operating_system(one)) is not None]
    if known:
        longest = max(known, key=lambda row: str(row.end_of_support or ""))
        yield Alternative({"os": longest.os_id}, f"CUDA {toolkit.version} supports {longest.title}")


def _matches(toolkit: Toolkit, query: Query) -> list[ToolkitMatch]:
    return [toolkit_match(gpu.compute_capability, toolkit) for gpu in query.request.gpus]
