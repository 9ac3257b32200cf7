"""Companions: packages each release of which is made for one of a framework, such as torchvision for torch."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from envkit.base.versions import VersionSpec
from envkit.compat.pairs import is_bounded, pairs_by_package, required
from envkit.dockerfile.common_python import pythons_of_torch
from envkit.tables.loader import read
from envkit.tables.pairs import PackagePair
from envkit.tables.rows import Framework

_TORCH = "torch"


@cache
def _of_frameworks() -> frozenset[str]:
    return frozenset(package for row in read(Framework) for package in row.packages)


@cache
def host_of(package: str) -> str:
    """The framework that every release of a package requires, and nothing else; '' where there is none.

    Such a package follows its framework. A framework itself, or a server such as vLLM, is what an image is for: whether
    it or what is next to it has to change cannot be told.
    """
    rows = pairs_by_package().get(package, ())
    needed = {frozenset(line.package for line in required(row)) for row in rows}
    hosts = next(iter(needed)) if len(needed) == 1 else frozenset()
    host = next(iter(hosts)) if len(hosts) == 1 else ""
    return host if host in _of_frameworks() and package not in _of_frameworks() else ""


def made_for(package: str, release: str, others: Mapping[str, tuple[str, VersionSpec]]) -> bool:
    """Whether a release is certainly made for the framework that is asked for.

    A requirement without an upper bound says so of the newest releases only, and only for a framework that is known.
    """
    host = host_of(package)
    spec = others.get(host)
    rows = pairs_by_package().get(package, ())
    if spec is None or (host == _TORCH and not pythons_of_torch(spec[1].holds)):
        return False
    row = next((row for row in rows if row.version == release), None)
    later = rows[rows.index(row) :] if row is not None else ()
    return row is not None and (_is_tied(row) or not any(map(_is_tied, later)))


def _is_tied(row: PackagePair) -> bool:
    return all(is_bounded(line.spec) for line in required(row))
