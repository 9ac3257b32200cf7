"""What stops a package that pip builds from its source, as tables: what the build needs, what provides it, and names
that were retired."""

from __future__ import annotations

from envkit._startup.records import record
from envkit.base.versions import Version
from envkit.tables.loader import table


@table("image/stopping_sources.csv", "package", "versions", "since", "tool", "option")
@record
class StoppingSource:
    """Releases that pip builds from source `since` a Python (blank: on each), and why that stops.

    `tool`: it stops without this; blank: with today's tools it stops always. `today`: only where pip certainly builds
    it in an environment of its own, with the setuptools of today. `option`: only with this word in the command or
    CMAKE_ARGS.
    """

    package: str
    versions: str  # blank: all
    since: Version | None
    tool: str | None
    today: bool
    option: str | None
    because: str
    sources: tuple[str, ...]


@table("image/source_tools.csv", "tool")
@record
class SourceTool:
    """A tool that builds need: how it is called, and the `words` in a file that may bring it."""

    tool: str
    title: str
    words: tuple[str, ...]
    fix: str
    sources: tuple[str, ...]


@table("image/harmless_packages.csv", "package")
@record
class HarmlessPackage:
    """A package of apt that brings no compiler; `recommends`: not even by what it recommends."""

    package: str
    recommends: bool
    sources: tuple[str, ...]


@table("image/framework_refusals.csv", "package", "framework", "python")
@record
class FrameworkRefusal:
    """What the newest release that pip takes, from a `python` on, wants of a framework when it runs.

    Its metadata do not say so: with an older one, it works as if there was none.
    """

    package: str
    framework: str
    floor: Version
    python: Version
    since: Version | None  # the first release that wants it; None where that is not known
    through: str | None  # the package that it requires and that refuses
    held_by: tuple[str, ...]  # packages of which a bound keeps that one at an older release
    sources: tuple[str, ...]


@table("image/system_cudnn.csv", "package")
@record
class SystemCudnn:
    """A package that loads cuDNN from the system, of which major since which release."""

    package: str
    since: Version
    cudnn: int
    through: str | None  # the package that it requires and that loads it
    sources: tuple[str, ...]


@table("image/package_pythons.csv", "package", "versions")
@record
class PackagePythons:
    """Releases of which pip finds a wheel or a source for some Pythons 3 alone: `>=3.6,<3.10`.

    For packages that are not in package_wheels.csv; releases for every Python have no row.
    """

    package: str
    versions: str
    pythons: str
    sources: tuple[str, ...]


@table("image/retired_packages.csv", "package", stops=("build", "import"))
@record
class RetiredPackage:
    """A name of the default index under which there is no package to use: at all, or `since` a release of it.

    It `stops` the build, or the program at its import. `older`: a pip that discards a release whose metadata it cannot
    make goes on to an older one, which installs. `every`: no release under the name can be installed, so that a pin of
    any is one too.
    """

    package: str
    since: Version | None
    because: str
    stops: str
    older: bool
    every: bool
    instead: str | None
    sources: tuple[str, ...]
