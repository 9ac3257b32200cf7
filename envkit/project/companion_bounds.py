"""The bounds on packages of today that a project's older ones need and do not ask for themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from envkit.base.names import normalized
from envkit.base.versions import VersionSpec
from envkit.compat.packages import lies_in, requirement_of
from envkit.dockerfile.specifiers import is_bounded
from envkit.project.model import Item
from envkit.tables.loader import read
from envkit.tables.program_stops import NewerCompanion


def companion_rows(item: Item) -> Iterator[NewerCompanion]:
    """What is known of companions that the releases which a requirement takes do not go with."""
    name, spec = normalized(item.package.name), item.package.spec
    if item.package.tool != "pip":
        return
    for row in read(NewerCompanion):
        if row.package == name and (not row.versions or _is_newest(row, spec) or _takes_only(name, spec, row.versions)):
            yield row


def companion_bounds(items: Sequence[Item], planned: Iterable[str]) -> tuple[str, ...]:
    """The requirements to add; `planned` are the packages whose releases the plan chooses."""
    specs = {normalized(one.package.name): one.package.spec for one in items}
    chosen = set(planned)
    found = [
        f"{row.companion}<{row.since}" if row.since is not None else f"{row.companion}>={row.below}"
        for item in items
        for row in companion_rows(item)
        if row.companion not in chosen and not specs.get(row.companion) and not _is_held(row, specs)
    ]
    return tuple(dict.fromkeys(found))


def _is_newest(row: NewerCompanion, spec: str) -> bool:
    return row.newest and not is_bounded(spec)


def _takes_only(name: str, spec: str, versions: str) -> bool:
    wanted = requirement_of(name + spec) if spec and versions else None
    return wanted is not None and lies_in(wanted.spec, VersionSpec.parse(versions))


def _is_held(row: NewerCompanion, specs: dict[str, str]) -> bool:
    """Whether another package of the project bounds the companion itself."""
    for held in row.held_by:
        name, release, version = held.partition("==")
        spec = specs.get(name, "")
        if spec and (not release or spec.removeprefix("==").startswith(version)):
            return True
    return False
