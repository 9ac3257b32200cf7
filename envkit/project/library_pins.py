"""The packages of CUDA libraries that a file pins, held against those that its frameworks' builds require."""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.records import record
from envkit.base.names import normalized
from envkit.checks.containers import project_faults as faults
from envkit.checks.engine.findings import Finding, Remedy, Status
from envkit.compat.packages import Requirement, requirements_of
from envkit.compat.software import some_version_meets, title_of
from envkit.dockerfile.check_parts import finding
from envkit.dockerfile.clashes import specs_of
from envkit.dockerfile.specifiers import pinned_release
from envkit.dockerfile.wanted import cuda_comes_from
from envkit.project.choose import Chosen
from envkit.project.model import Item
from envkit.project.subject import subject_of
from envkit.solver.query import Query
from envkit.tables.rows import FrameworkBuild

_OF_NVIDIA = "nvidia-"


@record
class OtherLibrary:
    """A pin of a library that a build requires in other versions."""

    item: Item
    build: FrameworkBuild
    needed: Requirement
    sources: tuple[str, ...]


def other_libraries(have: Chosen, query: Query) -> Iterator[OtherLibrary]:
    """Each pin of a CUDA library that the build of a pinned framework does not take."""
    items = {normalized(one.package.name): one for one in have.items}
    pinned = specs_of(one.package for name, one in items.items() if name.startswith(_OF_NVIDIA))
    for wanted, build in have.meant if pinned else ():
        brought = wanted.tool == "pip" and cuda_comes_from(build, wanted, have.contents) == "inside"
        row = query.together.libraries_of(build) if brought and pinned_release(wanted.spec) is not None else None
        for line in requirements_of(row.requires or ()) if row is not None else ():
            asked = pinned.get(line.package)
            if row is not None and asked is not None and not some_version_meets((line.spec, asked[1])):
                yield OtherLibrary(items[line.package], build, line, row.sources)


def library_findings(have: Chosen, query: Query) -> Iterator[Finding]:
    """What is to say of each."""
    for other in other_libraries(have, query):
        package, needed = other.item.package, other.needed
        yield finding(
            faults.REQUIREMENTS_CLASH,
            Status.FAIL,
            f"{title_of(other.build)} requires {needed.line}, but {package.asked} is also requested",
            subject_of(other.item),
            impact="The installer rejects these requirements.",
            remedy=Remedy(f"Use {needed.line}, or omit {package.name}, which is installed anyway."),
            sources=other.sources,
        )
