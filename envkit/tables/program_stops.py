"""What stops the build of an image at programs that are not there and at an old pip, as tables."""

from __future__ import annotations

from envkit._startup.records import record
from envkit.base.versions import Version
from envkit.tables.loader import table


@table("image/programs.csv", "program")
@record
class AbsentProgram:
    """A program that some base images do not have, and what may bring it.

    `package`: the one of apt to install; blank where pip installs it. `lacking`: the kinds of images that certainly
    have none (`envkit/dockerfile/stops_absent.py`). `words`: of the names of apt's packages that may bring it;
    `recommended`: of those that bring it by what they recommend. `pip`: packages of pip may bring it as well.
    """

    program: str
    package: str
    lacking: tuple[str, ...]
    words: tuple[str, ...]
    recommended: tuple[str, ...]
    pip: bool
    sources: tuple[str, ...]


@table("image/package_managers.csv", "program")
@record
class PackageManager:
    """A package manager, the families of distributions that have it, and words of what may bring it elsewhere."""

    program: str
    families: tuple[str, ...]
    words: tuple[str, ...]
    sources: tuple[str, ...]


@table("image/old_pip_sources.csv", "os_id", "package", "python")
@record
class OldPipSource:
    """Releases of which the pip of a distribution takes the source, where others take a wheel, and why that stops."""

    os_id: str
    package: str
    python: str  # the major version whose pip does; blank: of both
    versions: str  # blank: the newest one alone
    takes: str  # the package that it requires and that is taken as a source; blank: itself
    unless: tuple[str, ...]  # words of packages that bring what is taken, or libraries that its source needs
    needs: tuple[str, ...]  # packages of pip that its source needs
    pip: Version
    because: str  # blank where another is taken, whose row says it
    sources: tuple[str, ...]


@table("image/old_pip_wheels.csv", "package", "since")
@record
class OldPipWheel:
    """The release since which a package without sources has wheels of a platform tag, or of later ones, alone."""

    package: str
    since: Version
    tag: str
    sources: tuple[str, ...]


@table("image/system_pips.csv", "os_id")
@record
class SystemPip:
    """The release of pip that a distribution has as python3-pip."""

    os_id: str
    pip: Version
    sources: tuple[str, ...]


@table("image/pip_words.csv", "word")
@record
class PipWord:
    """An option of `pip install`, or a command of pip, that it has since a release."""

    word: str
    since: Version
    sources: tuple[str, ...]


@table("image/renamed_switches.csv", "repository", "switch")
@record
class RenamedSwitch:
    """A switch at which the configuration of a project's newest state stops; it is called `now` today."""

    repository: str
    switch: str
    now: str
    sources: tuple[str, ...]


@table("image/system_links.csv", "package", "path")
@record
class SystemLink:
    """A path that a package of Debian and Ubuntu has; `but` are the releases in which it has not."""

    package: str
    path: str
    but: tuple[str, ...]
    sources: tuple[str, ...]


@table("image/newer_companions.csv", "package", "versions", "companion")
@record
class NewerCompanion:
    """Releases of a package that cannot be imported beside a `companion`, and that do not bound it.

    `since`: the first release of it that does not suit them; pip takes that or a later one from a `python` on.
    `below`: instead, all releases before this one do not suit them. `newest`: the newest release of the package is one
    of these. `held_by`: packages that bound it where they are bounded themselves, or in one release:
    transformers==4.34.
    """

    package: str
    versions: str  # blank: all
    newest: bool
    companion: str
    since: Version | None
    below: Version | None
    python: Version
    held_by: tuple[str, ...]
    because: str
    sources: tuple[str, ...]


@table("image/package_needs.csv", "package")
@record
class PackageNeed:
    """Releases of a package that stop at their import where another one is missing, which pip does not install with it.

    `newest`: the newest release is one of them. Those of its `extras` bring it, and so do packages whose names begin
    with one of the `words`.
    """

    package: str
    versions: str
    newest: bool
    needs: str
    extras: tuple[str, ...]
    words: tuple[str, ...]
    sources: tuple[str, ...]


@table("image/repository_needs.csv", "repository")
@record
class RepositoryNeed:
    """A package that the newest state of a project on GitHub imports, and that pip does not install with it.

    One of the `words` in the file says that something may bring it.
    """

    repository: str
    package: str
    words: tuple[str, ...]
    sources: tuple[str, ...]


@table("image/gone_scripts.csv", "repository", "script")
@record
class GoneScript:
    """A script that the newest state of a project on GitHub no longer has, and what to do `instead`."""

    repository: str
    script: str
    instead: str
    sources: tuple[str, ...]


@table("image/gone_dependencies.csv", "repository")
@record
class GoneDependency:
    """A repository that the programs of a project on GitHub clone when they set it up, and that was removed.

    A `variable` of the environment names another one.
    """

    repository: str
    programs: tuple[str, ...]
    variable: str
    address: str
    sources: tuple[str, ...]


@table("image/gone_programs.csv", "program", "option")
@record
class GoneProgram:
    """A program that a package does not have `since` a release, which pip takes for Pythons from `python` on.

    With an `option`, the program takes this word no longer. `bringers`: packages whose newest releases, or those of a
    range, take that release along. `holders`: packages that hold an older one in every release. `images`: those that
    have such a release inside. `instead`: what it is called.
    """

    program: str
    option: str | None
    package: str
    since: Version
    python: Version
    bringers: tuple[str, ...]
    holders: tuple[str, ...]
    images: tuple[str, ...]
    instead: str
    sources: tuple[str, ...]
