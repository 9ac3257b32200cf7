"""What stops the build of an image at programs that are not there and at an old pip, as tables."""

from __future__ import annotations

from envkit._startup.records import record
from envkit.base.versions import Version
from envkit.tables.loader import table


@table("image/programs.csv", "program")
@record
class AbsentProgram:
    """A program that plain images do not have; a package of apt with one of the `words` in its name may bring it."""

    program: str
    words: tuple[str, ...]
    sources: tuple[str, ...]


@table("image/old_pip_sources.csv", "os_id", "package")
@record
class OldPipSource:
    """Releases of which the pip of a distribution takes the source, where others take a wheel, and why that stops."""

    os_id: str
    package: str
    versions: str  # blank: the newest one alone
    pip: Version
    because: str
    sources: tuple[str, ...]
