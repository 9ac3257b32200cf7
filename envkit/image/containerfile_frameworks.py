"""The framework packages among those that a Dockerfile installs, with the index and the variant that it asks for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.image.containerfile_packages import Package
from envkit.matrix.rows import Framework
from envkit.names import normalised
from envkit.records import record, replace
from envkit.regex import regex

if TYPE_CHECKING:
    from envkit.matrix import Matrix

_INDEX_VARIANT = regex(r"/(?:whl|packages/stable)/(?:test/|nightly/|lts/[\d.]+/)?(cu\d+|cpu|rocm[\d.]*|xpu)\b")
_LOCAL_VARIANT = regex(r"\+(cu\d+|cpu|rocm[\d.]*|xpu)")
# Where the default index and its mirrors keep a file: in folders that its checksum names.
_HASHED = regex(r"/packages/[0-9a-f]{2}/[0-9a-f]{2}/[0-9a-f]{60}$")


@record
class Wanted:
    """One framework package that a RUN installs. `variant`: what an index or suffix names: cu118, cpu, rocm5.6."""

    line: int
    framework: str
    package: str
    tool: str  # pip or conda
    extras: tuple[str, ...]
    spec: str  # without the suffix of the variant
    variant: str
    suffix: bool  # the variant is part of the version
    default_index: bool  # the default index is asked too
    other_index: bool  # another place is asked
    own_index: bool  # the variant is what the command itself names, not what ENV sets
    places: str  # the addresses of all of them
    place_variants: frozenset[str]  # what they name each; '' for one that names none
    nightly: bool
    source: str  # conda's channels
    held: bool = False  # its version is open, and a constraints file that cannot be read may bound it


def merged(items: list[Wanted]) -> tuple[Wanted, ...]:
    """The packages, each once: one command's requirements of a package count together, as does a mere repetition."""
    found: list[Wanted] = []
    for item in items:
        for place, earlier in enumerate(found):
            alike = (earlier.package, earlier.tool, earlier.framework) == (item.package, item.tool, item.framework)
            if alike and (earlier.line == item.line or not item.spec):
                found[place] = replace(
                    earlier if earlier.variant or not item.variant else item,
                    extras=tuple(dict.fromkeys((*earlier.extras, *item.extras))),
                    spec=",".join(dict.fromkeys(filter(None, (earlier.spec, item.spec)))),
                )
                break
        else:
            found.append(item)
    return tuple(found)


def is_framework(item: Package, matrix: Matrix) -> bool:
    """True for a package of a framework."""
    return _framework(item, matrix) is not None


def wanted_of(item: Package, set_index: str, matrix: Matrix) -> Iterator[Wanted]:
    """The framework that a package is, if any; `set_index`: the indexes that ENV names."""
    framework = _framework(item, matrix)
    if framework is None:
        return
    pip = item.tool == "pip"
    local = _LOCAL_VARIANT.search(item.spec)
    beside = set_index if pip and item.wheel is None else ""
    index = _INDEX_VARIANT.search(f"{item.index}/") or _INDEX_VARIANT.search(f"{item.more} {beside}")
    told = local or index
    places = f"{item.index} {item.more} {beside}".split() if pip else []
    if item.wheel is not None and _HASHED.search(item.wheel.folder):  # a file of the default index
        places = []
    yield Wanted(
        line=item.line,
        framework=framework.name,
        package=normalised(item.name),
        tool=item.tool,
        extras=item.extras,
        spec=_LOCAL_VARIANT.sub("", item.spec),
        variant=told.group(1) if told else item.backend if item.backend not in ("", "auto") else "",
        suffix=local is not None,
        default_index=not item.index and not item.backend,
        own_index=local is not None or _INDEX_VARIANT.search(f"{item.index} {item.more} ") is not None,
        places=" ".join(places),
        place_variants=frozenset(_variant_of(place) for place in places),
        other_index=bool(item.index or item.more or set_index or item.backend),
        nightly=item.nightly,
        source=" ".join(item.channels),
        held=item.held,
    )


def _framework(item: Package, matrix: Matrix) -> Framework | None:
    """The framework that a package belongs to."""
    name = normalised(item.name)
    for framework in matrix.frameworks:
        names = {normalised(known) for known in framework.packages}
        if item.tool == "conda":  # conda names some packages as their projects do, and adds -gpu
            names |= {framework.name, f"{framework.name}-gpu"}
        if name in names:
            return framework
    return None


def _variant_of(place: str) -> str:
    found = _INDEX_VARIANT.search(place)
    return found.group(1) if found else ""
