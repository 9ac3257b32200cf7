"""The packages of CUDA libraries that a file pins, held against those that its frameworks' builds require."""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.base.versions import Version, VersionSpec
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
from envkit.tables.rows import FrameworkBuild, framework_title

_OF_NVIDIA = "nvidia-"
_OF_CUDNN = "nvidia-cudnn"
# They refuse a cuDNN with an older minor version than the one that they were compiled with.
_HOLD_TO_CUDNN = frozenset({"jax", "tensorflow"})
_SUFFIX = regex(r"\+cuda\d{2,3}\.cudnn(\d)(\d{1,2})\b")  # of jaxlib 0.4.13+cuda11.cudnn86


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


def cudnn_findings(have: Chosen) -> Iterator[Finding]:
    """The pins of cuDNN that are older than the one which a framework without its own was compiled with."""
    pins = [one for one in have.items if normalized(one.package.name).startswith(_OF_CUDNN)]
    pinned = specs_of(one.package for one in pins)
    for wanted, build in have.meant if pinned else ():
        suffix = _suffix_of(wanted.framework, have)
        alone = suffix is not None or cuda_comes_from(build, wanted, have.contents) == "system"
        line = suffix or (build.cudnn.line if build.cudnn is not None else None)
        if wanted.tool != "pip" or build.framework not in _HOLD_TO_CUDNN or not alone or line is None:
            continue
        for one in pins:
            yield from _older_than(line, one, pinned, build)


def _suffix_of(framework: str, have: Chosen) -> Version | None:
    """The cuDNN that the suffix of a framework's part names; None where none does."""
    parts = [one.package for one in have.contents.wanted if one.framework == framework]
    specs = [one.package.spec for one in have.items if normalized(one.package.name) in parts]
    found = next((match for spec in specs if (match := _SUFFIX.search(spec))), None)
    return Version.of(int(found[1]), int(found[2])) if found is not None else None


def _older_than(
    line: Version, one: Item, pinned: dict[str, tuple[str, VersionSpec]], build: FrameworkBuild
) -> Iterator[Finding]:
    name = normalized(one.package.name)
    serves = f">={line},<{line.major + 1}"
    if name not in pinned or some_version_meets((VersionSpec.parse(serves), pinned[name][1])):
        return
    yield finding(
        faults.KNOWN_TO_BREAK,
        Status.FAIL,
        f"{build.named} was compiled with cuDNN {line}, but {one.package.asked} is also requested",
        subject_of(one),
        impact=f"{framework_title(build.framework)} loads cuDNN of the same major version that is as new or newer, and "
        "refuses others at the first convolution, or uses no GPU.",
        remedy=Remedy(f"Use {name}{serves}."),
        sources=build.sources,
    )
