"""What is known about installers, as rows of the `installer_*.csv` tables; every row names its source."""

from __future__ import annotations

from typing import TypeVar

from envkit._startup.records import record
from envkit.base.versions import ComputeCapability, Version, VersionSpec
from envkit.tables.loader import read, table

Row = TypeVar("Row")


@table("installer_options.csv", "style", "component", "option")
@record
class OptionRow:
    """One option of an installer: for which releases ('' for all) and on what condition (`when`).

    The releases are those of CUDA; for the driver's own installer (`package`), those of the driver.
    """

    style: str  # legacy, new, package (the driver's own installer)
    component: str  # toolkit, patch, driver
    position: int
    option: str
    release: str
    when: str
    why: str
    sources: tuple[str, ...]


@table("installer_styles.csv", "style")
@record
class StyleRow:
    """One installer family. `stale_log`: a file that makes it crash when it cannot be removed."""

    style: str
    program: str
    log: tuple[str, ...]
    stale_log: str | None
    sources: tuple[str, ...]


@table("installer_quirks.csv", "quirk")
@record
class QuirkRow:
    """Something that applies to some CUDA releases only."""

    quirk: str
    cuda: str
    why: str
    sources: tuple[str, ...]


@table("installer_glibc.csv", "glibc")
@record
class GlibcRow:
    """From this glibc on, C++ code with the headers of a CUDA before `fixed_in` does not compile."""

    glibc: Version
    fixed_in: Version
    sources: tuple[str, ...]


@table("installer_failures.csv", "style", "pattern")
@record
class FailureRow:
    """Words that an installer writes when it fails, and what they mean."""

    style: str  # as of StyleRow; all; nvcc
    pattern: str
    cause: str
    way_out: str
    sources: tuple[str, ...]


@table("installer_places.csv", "path")
@record
class PlaceRow:
    """A shell pattern of names that installers make next to the toolkit; `depth` levels below a match are looked at."""

    path: str
    depth: int
    why: str
    sources: tuple[str, ...]


@table("installer_names.csv", "place", "name")
@record
class NameRow:
    """A shell pattern of names that tools themselves make at the top of a toolkit's or an environment's directory."""

    place: str  # toolkit or environment
    name: str
    sources: tuple[str, ...]


@table("installer_space.csv", "item", "cuda")
@record
class SpaceRow:
    """How much room something takes, in bytes."""

    item: str
    cuda: str
    bytes: int
    sources: tuple[str, ...]


@table("installer_repositories.csv", "os_id", "architecture")
@record
class RepositoryRow:
    """NVIDIA's package repository for a system: the package that adds it, and what names of drivers only it has."""

    os_id: str
    architecture: str
    url: str
    sha256: str
    first: tuple[str, ...]  # how those names begin
    sources: tuple[str, ...]


@table("installer_packages.csv", "purpose", "manager", "os_prefix")
@record
class PackageRow:
    """A package for one purpose. The first row of a purpose says how to test for it and when it is needed."""

    purpose: str
    manager: str
    os_prefix: str
    packages: tuple[str, ...]
    test: str
    when: str
    why: str
    sources: tuple[str, ...]


@table("installer_driver_packages.csv", "os_prefix", "packages", "stream")
@record
class DriverPackageRow:
    """Driver packages of a distribution, tried in the order of `position`; `{branch}` stands for a driver branch.

    The first package is judged by its version, which `{version}` in the others stands for.
    """

    os_prefix: tuple[str, ...]  # any of them
    module: str  # open, proprietary
    position: int
    packages: tuple[str, ...]
    stream: str  # of the dnf module nvidia-driver; '' where the packages are in none
    headers: tuple[str, ...]
    origin: str  # nvidia: only NVIDIA's own repository has them; '' where distributions have them, too
    screenless: bool  # without the parts for a display: the first choice for data-center GPUs
    sources: tuple[str, ...]


@table("installer_os_names.csv", "os_prefix")
@record
class OsNameRow:
    """How a distribution calls itself in os-release, where that is another word than the one in its key."""

    os_prefix: str
    id: str
    sources: tuple[str, ...]


@table("installer_pip.csv", "python")
@record
class PipRow:
    """The pip releases that still support an old Python."""

    python: Version
    requirement: str
    sources: tuple[str, ...]


@table("installer_pythons.csv", "way", "python", "architecture")
@record
class PythonFileRow:
    """A file that provides a Python: a standalone build of one release line, or the program that fetches one."""

    way: str
    python: Version | None
    architecture: str
    version: str
    name: str
    url: str
    sha256: str
    channel: str
    sources: tuple[str, ...]


@table("installer_wheel_tags.csv", "tag")
@record
class WheelTagRow:
    """A platform tag of wheels, the oldest glibc that they run on, and the first pip that takes them."""

    tag: str
    glibc: Version
    pip: Version
    sources: tuple[str, ...]


@table("installer_source_only.csv", "requirement")
@record
class SourceOnlyRow:
    """A package in plain Python that these releases of a framework need, and that the index has only as sources."""

    requirement: str
    framework: str
    versions: str  # a range of releases
    sources: tuple[str, ...]

    def is_for(self, framework: str, version: Version) -> bool:
        """Whether that release needs it."""
        return framework == self.framework and VersionSpec.parse(self.versions).holds(version)


@table("installer_modules.csv", "first_capability")
@record
class ModuleRow:
    """Which kernel modules drive GPUs of these compute capabilities."""

    first_capability: ComputeCapability | None
    last_capability: ComputeCapability | None
    open: bool
    proprietary: bool
    sources: tuple[str, ...]


@table("installer_probes.csv", "framework")
@record
class ProbeRow:
    """The template that tries a framework out, and what a program must do that uses its CUDA packages."""

    framework: str
    probe: str
    advice: str
    sources: tuple[str, ...]


def holds_for(spec: str, release: Version) -> bool:
    """True when a cell with releases applies to this one; a blank cell applies to all."""
    return not spec or VersionSpec.parse(spec.replace(";", ",")).holds(release)


def has_quirk(quirk: str, cuda: Version) -> bool:
    """True when this CUDA release has the quirk."""
    return any(row.quirk == quirk and holds_for(row.cuda, cuda) for row in read(QuirkRow))


def unfit_glibc(cuda: Version) -> tuple[GlibcRow, ...]:
    """The rows of the glibc releases from which on the headers of this CUDA do not compile, newest first."""
    return tuple(
        sorted((row for row in read(GlibcRow) if cuda < row.fixed_in), key=lambda row: row.glibc, reverse=True)
    )


def style_of(name: str) -> StyleRow:
    """The installer family of this name. Raises LookupError for one without a row."""
    return next(row for row in read(StyleRow) if row.style == name)


def space(item: str, cuda: Version | None) -> int:
    """Bytes that `item` takes; the largest figure in the data where the CUDA release is not known."""
    rows = [row for row in read(SpaceRow) if row.item == item and (cuda is None or holds_for(row.cuda, cuda))]
    return max(row.bytes for row in rows)


def for_os(rows: tuple[Row, ...], os_id: str) -> tuple[Row, ...]:
    """The rows whose `os_prefix`, or one of them, begins this OS id."""
    return tuple(row for row in rows if os_id.startswith(row.os_prefix))  # type: ignore[attr-defined]


def venv_major() -> int:
    """The first Python whose own library makes environments: the major of the oldest standalone build."""
    return min(row.python.major for row in read(PythonFileRow) if row.python is not None)


def python_file(way: str, python: Version | None, architecture: str) -> PythonFileRow | None:
    """The pinned file that provides that Python that way; None where none is known."""
    for row in read(PythonFileRow):
        if row.way == way and row.architecture == architecture and row.python in (None, python):
            return row
    return None


def last_pip(python: Version | None) -> str | None:
    """The requirement for the last pip of an old Python; None where the newest one runs on it."""
    rows = (row.requirement for row in read(PipRow) if python is not None and row.python == python.release(2))
    return next(rows, None)
