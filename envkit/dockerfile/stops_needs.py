"""Where a package stops at its import as another one is missing, which pip does not install with it."""

from __future__ import annotations

from collections.abc import Iterator

from envkit.base.names import normalized
from envkit.checks.containers import image_faults as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import package_subject, stop
from envkit.dockerfile.ground import Ground
from envkit.dockerfile.packages import Package
from envkit.dockerfile.specifiers import is_bounded
from envkit.dockerfile.stops_packages import asks_only
from envkit.tables.known_images import PYTORCH_REPOSITORY
from envkit.tables.loader import read
from envkit.tables.program_stops import PackageNeed


def need_missing(ground: Ground) -> Iterator[Finding]:
    """The first such package of a stage, where every list was read and none names what it needs."""
    if not (ground.stock or ground.base.repository == PYTORCH_REPOSITORY) or not ground.first or ground.reads_unseen:
        return
    if ground.tells & {"copied", "bind"}:
        return
    rows = {row.package: row for row in read(PackageNeed)}
    names = {normalized(one.name) for step in ground.steps for one in step.packages}
    texts = " ".join(ground.written)
    for step in ground.steps:
        for package in step.packages:
            row = rows.get(normalized(package.name))
            if row is None or not _meets(package, row) or row.needs in texts:
                continue
            if any(name.startswith(word) for word in row.words for name in names):
                continue
            extra = f"{package.name}[{row.extras[0]}]" if row.extras else row.needs
            yield stop(
                faults.REQUIREMENTS_CLASH,
                f"{package.asked} imports {row.needs}, which nothing in this file installs",
                package_subject(package),
                impact="It installs, and stops when it is imported.",
                fix=f"Install {extra}.",
                sources=row.sources,
            )
            return


def _meets(package: Package, row: PackageNeed) -> bool:
    if package.tool != "pip" or package.held or package.marker or not set(row.extras).isdisjoint(package.extras):
        return False
    if row.newest and not is_bounded(package.spec):
        return True
    return asks_only(package, row.versions)
