"""NVIDIA's own package repository as the source of the driver: added by a package that brings its list and its key."""

from __future__ import annotations

from envkit.base.errors import RequestError
from envkit.base.settings import Mirrors
from envkit.install.model import AddRepository, Download, DriverPackage
from envkit.solver.model import Choice
from envkit.tables.installer import RepositoryRow
from envkit.tables.loader import read

OPTION = "--nvidia-repository"


def repository_row(choice: Choice) -> RepositoryRow | None:
    """The repository for this system; None where no package that adds it has a known checksum."""
    os_id = choice.os.os_id if choice.os else ""
    rows = (row for row in read(RepositoryRow) if (row.os_id, row.architecture) == (os_id, choice.architecture))
    return next(rows, None)


def add_repository(choice: Choice, mirrors: Mirrors) -> AddRepository:
    """The step that adds it. Raises RequestError for a system without one."""
    row = repository_row(choice)
    if row is None:
        known = ", ".join(row.os_id for row in read(RepositoryRow))
        raise RequestError(
            f"{OPTION} is not available for {choice.os.title if choice.os else 'this system'} ({choice.architecture}).",
            f"Omit it, or add the repository yourself; the script will use it. Supported: {known} (x86_64).",
        )
    folder, _, name = row.url.rpartition("/")
    mirror = mirrors.rewrite(folder)
    file = Download(name, mirrors.rewrite(row.url), "sha256", row.sha256)
    return AddRepository(file, folder, mirror if mirror != folder else "")


def its_own_first(packages: tuple[DriverPackage, ...], choice: Choice) -> tuple[DriverPackage, ...]:
    """The packages in their order, those that only NVIDIA's repository has before the others."""
    row = repository_row(choice)
    names = row.first if row else ()
    return tuple(sorted(packages, key=lambda package: not package.names[0].startswith(names)))
