"""What the newest release of a package requires at least of a framework."""

from __future__ import annotations

from collections.abc import Container

from envkit.base.names import normalized
from envkit.base.versions import Version
from envkit.dockerfile.packages import Package
from envkit.dockerfile.specifiers import is_bounded
from envkit.tables.build_tools import FrameworkFloor
from envkit.tables.loader import read


def newest_floor(package: Package, python: Version | None, frameworks: Container[str]) -> FrameworkFloor | None:
    """What the newest release of a package requires of one of these, where pip takes that release with this Python."""
    if python is None or package.tool != "pip" or is_bounded(package.spec) or package.held or package.wheel is not None:
        return None
    names, fitting = ("", *package.extras), normalized(package.name)
    rows = [row for row in read(FrameworkFloor) if row.package == fitting and (row.extra or "") in names]
    rows = [row for row in rows if row.framework in frameworks and row.python <= python.release(2)]
    return max(rows, key=lambda row: row.python, default=None)


def has_floors(package: str) -> bool:
    """Whether it is known for each Python what the newest release of a package requires."""
    return any(row.package == package and not row.extra for row in read(FrameworkFloor))


def floor_in_words(row: FrameworkFloor) -> str:
    """The start of a sentence: `the newest trl requires accelerate, which requires torch>=2.0.0`."""
    through = f"{row.package} requires {row.through}, which" if row.through else row.package
    return f"the newest {through} requires {row.framework}>={row.floor}"
