"""What NVIDIA supports in place of a toolkit on a system that it was not made for."""

from __future__ import annotations

from collections.abc import Iterator

from envkit.compat.software import needs_system_cuda
from envkit.compat.system import came_later, runfile_on_os
from envkit.solver.model import Alternative, Choice
from envkit.solver.query import Query
from envkit.tables.rows import Toolkit


def supported_instead(query: Query, choice: Choice, toolkit: Toolkit) -> Iterator[Alternative]:
    """The nearest toolkits and the system that go with what was asked for; none where it goes together."""
    system, request = choice.os, query.request
    rows = query.knowledge.tables.toolkits
    if system is None or request.os_id is None or runfile_on_os(system, toolkit, rows).status != "warn":
        return
    loading = [build for build in choice.builds if needs_system_cuda(build)]
    listing = [
        row
        for row in rows
        if system.os_id in (row.os_ids or ()) and all(row in query.toolkits_for(build) for build in loading)
    ]
    later = [row for row in listing if row.version > toolkit.version and not came_later(system, row)]
    nearest = later[0] if later else (listing[-1] if listing else None)
    if nearest is not None:
        gain = f"CUDA {nearest.version}, the nearest known to support {system.title}"
        yield Alternative({"cuda": str(nearest.release)}, gain)
    if choice.builds:
        return  # what they need of a system is more than the toolkit's list
    name = system.os_id.rstrip("0123456789.")
    ids = [one for one in toolkit.os_ids or () if one.rstrip("0123456789.") == name and one != system.os_id]
    known = [row for one in ids if (row := query.knowledge.tables.operating_system(one)) is not None]
    if known:
        longest = max(known, key=lambda row: str(row.end_of_support or ""))
        yield Alternative({"os": longest.os_id}, f"CUDA {toolkit.version} supports {longest.title}")
