"""What the packages of a project's files are to an image, as tables: names elsewhere, libraries, frameworks."""

from __future__ import annotations

from functools import cache

from envkit._startup.records import record
from envkit.base.versions import Version
from envkit.tables.loader import read, table


@table("image/conda_names.csv", "package")
@record
class CondaName:
    """What stands for a package of conda where conda is not: one of pip, from a release on, or of the distribution.

    With neither, nothing has to: Python, its wheels, or the plan bring it along.
    """

    package: str
    pip: str
    since: Version | None  # the first release that the index has; None: as far back as conda has it
    apt: tuple[str, ...]
    sources: tuple[str, ...]


@table("image/pip_libraries.csv", "package")
@record
class PipLibrary:
    """A package of pip that loads libraries of the system: the purpose of their packages; `versions` '': of all."""

    package: str
    versions: str
    purpose: str
    sources: tuple[str, ...]


@table("image/framework_users.csv", "package")
@record
class FrameworkUser:
    """A package that computes with a framework and may leave it to the project to name it."""

    package: str
    framework: str
    sources: tuple[str, ...]


@cache
def conda_names() -> dict[str, CondaName]:
    """The rows by the comparable names of conda's packages."""
    return {row.package: row for row in read(CondaName)}
