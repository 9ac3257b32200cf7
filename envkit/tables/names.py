"""What names stand for, as tables: files of the CUDA libraries, packages that were emptied, and what is not covered."""

from __future__ import annotations

from envkit._startup.records import record
from envkit.base.versions import Version
from envkit.tables.loader import table


@table("cuda_sonames.csv", "cuda_first", "library")
@record
class CudaLibrary:
    """One library of a range of CUDA releases; `package` is '' where no wheel provides it."""

    cuda_first: Version
    cuda_last: Version
    library: str
    soname: str  # may hold {release}
    package: str
    sources: tuple[str, ...]


@table("emptied_packages.csv", "package")
@record
class EmptiedPackage:
    """A package name that was emptied, from a release on; from another one until then it was `same_as` another."""

    package: str
    first_empty_version: Version
    same_as: str
    same_since: Version
    sources: tuple[str, ...]


@table("meta_packages.csv", "package", "since")
@record
class MetaPackage:
    """A package that, from `since` on and `before` a release, only requires the same release of another."""

    package: str
    same_as: str
    since: Version
    before: Version | None
    sources: tuple[str, ...]


@table("free_threaded.csv", "python", "framework")
@record
class FreeThreaded:
    """The releases of a framework with wheels for a free-threaded Python; `last` None: up to the newest."""

    python: str  # 3.13t
    framework: str
    first: Version
    last: Version | None
    sources: tuple[str, ...]


@table("not_covered.csv", "kind", "pattern", kind=("framework", "gpu", "old-gpu", "architecture", "cuda"))
@record
class NotCovered:
    """One name that is known not to be covered; `instead` is the framework that it runs on, or its vendor's page."""

    kind: str
    pattern: str  # of the whole name in lower case
    title: str  # the software, the vendor of a GPU, or the generation of an old one
    instead: str
    compiled: bool  # the software holds code for GPUs of its own
    look: str = ""  # what is known of it, and where to look
