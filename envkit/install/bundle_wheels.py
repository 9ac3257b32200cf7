"""What pip leaves out of a bundle's wheels, as it judges markers by its own Python and not by the target's."""

from __future__ import annotations

from collections.abc import Iterable

from envkit._startup.records import record
from envkit.base import requirements
from envkit.base.markers import holds
from envkit.base.metadata_fields import metadata_fields
from envkit.base.names import normalized
from envkit.base.versions import Version


@record
class Target:
    """The Python that the wheels are for."""

    python: Version
    architecture: str


def left_out(metadata: Iterable[str], asked: Iterable[str], target: Target) -> tuple[str, ...]:
    """The requirements of the fetched wheels that hold on the target, and of which no wheel is there.

    `metadata` are the METADATA files of the wheels, `asked` what pip was told to fetch.
    """
    needs = dict(_named(text) for text in metadata)
    extras: dict[str, set[str]] = {name: {""} for name in needs}
    for line in asked:
        if (wanted := requirements.requirement(line)) is not None:
            extras.setdefault(normalized(wanted.name), {""}).update(wanted.extras)
    found: dict[str, None] = {}
    names = list(extras)
    for name in names:  # grows by the packages whose extras others ask for
        for line in needs.get(name, ()):
            wanted = requirements.requirement(line)
            if wanted is None or not _held(str(wanted.marker or ""), extras[name], target):
                continue
            other = normalized(wanted.name)
            if wanted.extras - extras.setdefault(other, {""}):
                extras[other] |= wanted.extras
                names.append(other)
            if other not in needs:
                chosen = f"[{','.join(sorted(wanted.extras))}]" if wanted.extras else ""
                found[f"{wanted.name}{chosen}{wanted.specifier}"] = None
    return tuple(found)


def _held(marker: str, extras: Iterable[str], target: Target) -> bool:
    return any(holds(marker, target.python, target.architecture, extra=extra) is not False for extra in extras)


def _named(text: str) -> tuple[str, tuple[str, ...]]:
    """The name in a METADATA file, and its requirements."""
    fields = metadata_fields(text)
    return normalized(fields.get("name", [""])[0]), tuple(fields.get("requires-dist", ()))
