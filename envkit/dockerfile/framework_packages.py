"""The framework packages among those that a Dockerfile installs, with the index and the variant that it asks for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from envkit._startup.records import record, replace
from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.base.versions import Version
from envkit.compat.prebuilt_wheels import holds_no_framework
from envkit.dockerfile.packages import Package, Places
from envkit.tables.rows import Framework

if TYPE_CHECKING:
    from envkit.tables import Matrix

# They run without cuDNN, and use it where they find theirs.
CUDNN_AT_WILL = frozenset({"cupy", "chainer"})
GPU_ALONE = frozenset({"cupy"})  # nothing of them runs on the CPU
_INDEX_VARIANT = regex(r"/(?:whl|packages/stable)/(?:test/|nightly/|lts/[\d.]+/)?(cu\d+|cpu|rocm[\d.]*|xpu)\b")
_LOCAL_VARIANT = regex(r"\+(cu\d+|cpu|rocm[\d.]*|xpu)")
# Where the default index and its mirrors keep a file: in folders that its checksum names.
_HASHED = regex(r"/packages/[0-9a-f]{2}/[0-9a-f]{2}/[0-9a-f]{60}$")


@record
class Wanted:
    """One framework package that a RUN installs. `variant`: what an index or suffix names: cu118, cpu, rocm5.6."""

    line: int
    command: tuple[int, ...]
    python: Version | None  # that pip runs with
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
    upgrades: bool  # what is installed already is replaced by a newer release
    source: str  # conda's channels
    held: bool = False  # its version is open, and a constraints file that cannot be read may bound it


def merged(items: Iterable[Wanted]) -> tuple[Wanted, ...]:
    """The packages, each once: one command's requirements of a package count together, as does a mere repetition."""
    groups: list[list[Wanted]] = []
    first: dict[tuple[str, ...], list[Wanted]] = {}
    in_command: dict[tuple[object, ...], list[Wanted]] = {}
    for item in items:
        key = (item.package, item.tool, item.framework)
        group = in_command.get((*key, item.command)) if item.spec else first.get(key)
        if group is None:
            group = []
            groups.append(group)
        group.append(item)
        first.setdefault(key, group)
        in_command.setdefault((*key, item.command), group)
    return tuple(map(_as_one, groups))


def _as_one(group: list[Wanted]) -> Wanted:
    """Several requirements of one package as one, where the first that names a variant is."""
    return replace(
        next((item for item in group if item.variant), group[0]),
        extras=tuple(dict.fromkeys(extra for item in group for extra in item.extras)),
        spec=",".join(dict.fromkeys(item.spec for item in group if item.spec)),
    )


def is_framework(item: Package, matrix: Matrix) -> bool:
    """True for a package of a framework."""
    return _framework(item, matrix) is not None


def wanted_of(item: Package, python: Version | None, set_index: str, matrix: Matrix) -> Iterator[Wanted]:
    """The framework that a package is, if any; `python` runs its tool, `set_index`: the indexes that ENV names."""
    framework = _framework(item, matrix)
    if framework is None:
        return
    pip, places = item.tool == "pip", _of_frameworks(item.places)
    local = _LOCAL_VARIANT.search(item.spec)
    beside = set_index if pip and item.wheel is None else ""
    index = _INDEX_VARIANT.search(f"{places.index}/") or _INDEX_VARIANT.search(f"{places.more} {beside}")
    told = local or index
    addresses = f"{places.index} {places.more} {beside}".split() if pip else []
    if item.wheel is not None and _HASHED.search(item.wheel.folder):  # a file of the default index
        addresses = []
    here = item.wheel is not None and "://" not in item.wheel.folder  # a file of the image, which no index has to have
    yield Wanted(
        line=item.line,
        command=item.command,
        python=python,
        framework=framework.name,
        package=normalized(item.name),
        tool=item.tool,
        extras=item.extras,
        spec=_LOCAL_VARIANT.sub("", item.spec),
        variant=told.group(1) if told else places.backend if places.backend not in ("", "auto") else "",
        suffix=local is not None,
        default_index=not (places.index or places.backend or here),
        own_index=local is not None or _INDEX_VARIANT.search(f"{places.index} {places.more} ") is not None,
        places=" ".join(addresses),
        place_variants=frozenset(_variant_of(place) for place in addresses),
        other_index=bool(places.index or places.more or set_index or places.backend),
        nightly=places.nightly,
        upgrades=places.upgrades,
        source=" ".join(places.channels),
        held=item.held,
    )


def _of_frameworks(places: Places) -> Places:
    """The places that a framework may come from: not the lists of wheels of what is built next to it."""
    if not places.more:
        return places
    return replace(places, more=" ".join(one for one in places.more.split() if not holds_no_framework(one)))


def _framework(item: Package, matrix: Matrix) -> Framework | None:
    """The framework that a package belongs to."""
    return _frameworks_by_package(matrix)[item.tool].get(normalized(item.name))


@lru_cache(maxsize=2)
def _frameworks_by_package(matrix: Matrix) -> dict[str, dict[str, Framework]]:
    """The frameworks by the names that pip and conda have for their packages."""
    by_tool: dict[str, dict[str, Framework]] = {"pip": {}, "conda": {}}
    for framework in matrix.frameworks:
        for package in framework.packages:
            by_tool["pip"].setdefault(normalized(package), framework)
            by_tool["conda"].setdefault(normalized(package), framework)
        for name in (framework.name, f"{framework.name}-gpu"):  # conda names some as their projects do, and adds -gpu
            by_tool["conda"].setdefault(name, framework)
    return by_tool


def _variant_of(place: str) -> str:
    found = _INDEX_VARIANT.search(place)
    return found.group(1) if found else ""


@lru_cache(maxsize=2)
def file_pages(matrix: Matrix) -> frozenset[str]:
    """The pages that list the files of one framework each: they have no packages of another."""
    every = (build for framework in matrix.frameworks for build in matrix.builds(framework.name))
    return frozenset(build.find_links for build in every if build.find_links)
