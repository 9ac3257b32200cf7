"""What stops the build of an image at tools and projects, as tables: options, folders, setups, the Python they need."""

from __future__ import annotations

from envkit._startup.records import record
from envkit.base.versions import Version
from envkit.tables.loader import table


@table("image/gpu_code.csv", "package")
@record
class GpuCode:
    """A package whose build leaves its CUDA code out where there is no GPU, unless one of the `variables` is set.

    `on_index`: the default index has its source, and no wheel.
    """

    package: str
    repositories: tuple[str, ...]
    on_index: bool
    variables: tuple[str, ...]
    sources: tuple[str, ...]


@table("image/cpu_sources.csv", "package")
@record
class CpuSource:
    """A package without a wheel for GPUs on the default index, which is built for the CPU unless it is told otherwise.

    `words`: the names of what tells it. `example`: how that is written.
    """

    package: str
    repository: str
    words: tuple[str, ...]
    example: str
    sources: tuple[str, ...]


@table("image/gone_options.csv", "tool", "verbs", "option")
@record
class GoneOption:
    """An option that a tool does not have with these verbs, or no longer `since` a release."""

    tool: str
    verbs: tuple[str, ...]
    option: str
    since: Version | None
    instead: str
    sources: tuple[str, ...]


@table("image/moved_programs.csv", "address")
@record
class MovedProgram:
    """A program that the installer of an address puts into another folder of the home than before.

    `variables` name another folder still. `since`: month of the first release that does.
    """

    address: str
    program: str
    old: str
    new: str
    variables: tuple[str, ...]
    since: str
    sources: tuple[str, ...]


@table("image/setup_imports.csv", "package")
@record
class SetupImport:
    """Releases without a wheel whose setup imports a `module` that a build environment of today does not have.

    `apart`: those that have a pyproject.toml, so that every pip builds them in an environment of their own.
    """

    package: str
    repositories: tuple[str, ...]  # on GitHub
    on_index: bool  # the default index has it under this name
    versions: str  # blank: all
    module: str
    apart: str | None
    sources: tuple[str, ...]


@table("image/framework_floors.csv", "package", "extra", "framework", "python")
@record
class FrameworkFloor:
    """What the newest release that pip takes, from a `python` on, requires at least of a framework's package."""

    package: str
    extra: str | None
    framework: str
    floor: Version
    python: Version
    through: str | None  # the package that it requires and that requires this
    sources: tuple[str, ...]


@table("image/repository_pythons.csv", "repository")
@record
class RepositoryPython:
    """The oldest Python that a project on GitHub takes today."""

    repository: str
    python: Version
    sources: tuple[str, ...]


@table("image/no_packages.csv", "package")
@record
class NoPackage:
    """A name under which no release of Debian or Ubuntu has a package, and what to install `instead`."""

    package: str
    instead: str | None
    sources: tuple[str, ...]


@table("image/own_modules.csv", "module")
@record
class OwnModule:
    """A module of Python's own library under whose name the default index has no package."""

    module: str
    sources: tuple[str, ...]


@table("image/gone_releases.csv", "package", "versions")
@record
class GoneRelease:
    """Releases of a package that the default index no longer has, or never had."""

    package: str
    versions: str  # blank: all
    sources: tuple[str, ...]


@table("image/server_images.csv", "repository")
@record
class ServerImage:
    """An image whose ENTRYPOINT is a server: what CMD says becomes its arguments."""

    repository: str
    program: str
    sources: tuple[str, ...]


@table("image/deb822_systems.csv", "os_id")
@record
class Deb822System:
    """A distribution whose images have no /etc/apt/sources.list: their sources are in a file of the newer form."""

    os_id: str
    sources: tuple[str, ...]


@table("image/fixed_pips.csv", "os_id")
@record
class FixedPip:
    """A distribution whose packages of Python hold no list of their files, so that pip cannot replace its own."""

    os_id: str
    title: str
    sources: tuple[str, ...]


@table("image/pip_ends.csv", "os_id")
@record
class PipEnd:
    """The first Python on which the pip of a distribution does not run."""

    os_id: str
    title: str
    python: Version
    sources: tuple[str, ...]


@table("image/pips_named_pip3.csv", "os_id")
@record
class PipNamedPip3:
    """A distribution whose package python3-pip brings pip3 and no pip."""

    os_id: str
    title: str
    sources: tuple[str, ...]


@table("image/gone_verbs.csv", "verb")
@record
class GoneVerb:
    """A command of Jupyter that its newest release for Pythons from `python` on does not have."""

    verb: str
    python: Version
    instead: str
    sources: tuple[str, ...]


@table("image/closed_registries.csv", "prefix")
@record
class ClosedRegistry:
    """What the names of images begin with that nobody outside of a company can pull."""

    prefix: str
    title: str
    sources: tuple[str, ...]


@table("image/gone_ppas.csv", "name")
@record
class GonePpa:
    """A PPA of Launchpad that is no longer there."""

    name: str
    sources: tuple[str, ...]
