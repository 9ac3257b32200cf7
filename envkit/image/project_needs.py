"""What a project's packages of pip need of an image: libraries, a compiler, an older pip, and older build tools."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from envkit.base.names import requirement_name
from envkit.base.versions import Version, VersionSpec
from envkit.compat.packages import lies_in, requirement_of
from envkit.compat.software import some_version_meets
from envkit.tables.build_stops import OpencvBringer, RefusedMetadata
from envkit.tables.build_tools import SetupImport
from envkit.tables.codes import limit
from envkit.tables.loader import read
from envkit.tables.project_names import PipLibrary
from envkit.tables.source_stops import StoppingSource

_COMPILED_WITH = ("c++", "portaudio")
_RESOURCES = "pkg_resources"


def refusing_pip(lines: Iterable[str]) -> Version | None:
    """The first pip that leaves out what one of the requirements takes; None where none does."""
    return min((row.since for line in lines for row in _refused(line)), default=None)


def old_setuptools(lines: Iterable[str]) -> str | None:
    """The setuptools that a build of one of the requirements imports; None where today's will do."""
    return f"setuptools<{limit('setuptools-without-pkg-resources')}" if any(map(_imports_resources, lines)) else None


def _refused(line: str) -> Iterator[RefusedMetadata]:
    """What makes newer releases of pip leave out all that a requirement takes."""
    name, wanted = requirement_name(line), requirement_of(line)
    for row in read(RefusedMetadata):
        only = wanted is not None and (not row.versions or lies_in(wanted.spec, VersionSpec.parse(row.versions)))
        if (row.package == name and only) or any(f"github.com/{place}" in line for place in row.repositories):
            yield row


def _imports_resources(line: str) -> bool:
    """True for a package whose setup imports what the setuptools of today no longer has."""
    name = requirement_name(line)
    for row in read(SetupImport):
        if row.module == _RESOURCES and any(
            f"github.com/{place}".lower() in line.lower() for place in row.repositories
        ):
            return True
        if row.module == _RESOURCES and row.on_index and row.package == name and _may_be_in(line, row.versions):
            return True
    return False


def libraries(lines: Iterable[str]) -> Iterator[str]:
    """The purposes of the libraries that packages of pip load from the system."""
    brings = {row.package: row.brings for row in read(OpencvBringer)}
    for line in lines:
        name = requirement_name(line)
        for row in read(PipLibrary):
            if row.package in (name, brings.get(name)) and _may_be_in(line, row.versions):
                yield row.purpose


def is_compiled(line: str) -> bool:
    """True for a package that has no wheel for any Python, so that pip needs a compiler."""
    name, wanted = requirement_name(line), requirement_of(line)
    return any(
        row.package == name and row.tool in _COMPILED_WITH and row.since is None
        for row in read(StoppingSource)
        if not row.versions or (wanted is not None and lies_in(wanted.spec, VersionSpec.parse(row.versions)))
    )


def _may_be_in(line: str, versions: str) -> bool:
    wanted = requirement_of(line)
    return not versions or wanted is None or some_version_meets((wanted.spec, VersionSpec.parse(versions)))
