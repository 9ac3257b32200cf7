"""The GPUs that a package next to a framework runs on: vLLM and FlashAttention need newer ones than their torch."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from envkit.base.versions import ComputeCapability, Version, VersionSpec, called
from envkit.compat.packages import requirement_of, rows_allowed
from envkit.compat.pairs import is_bounded, pairs_by_package
from envkit.compat.verdict import Verdict
from envkit.tables.loader import read
from envkit.tables.pairs import CompanionGpus


@lru_cache(maxsize=1)
def _rows() -> tuple[tuple[CompanionGpus, VersionSpec], ...]:
    return tuple((row, VersionSpec.parse(row.versions)) for row in read(CompanionGpus))


def companion_on_gpu(package: str, spec: str, gpu: ComputeCapability, name: str = "") -> Verdict | None:
    """Why no release of a package that a requirement allows runs on a GPU; None where one may, or none is known.

    `package` is the name as indexes compare it, `spec` what follows it: `==0.6.3`.
    """
    rows = (row for row, _ in _taken(package, spec))
    lowest = min(rows, key=lambda row: row.min_compute_capability.numbers, default=None)
    if lowest is None or gpu.numbers >= lowest.min_compute_capability.numbers:
        return None
    needs = f"needs compute capability {lowest.min_compute_capability} or higher"
    return Verdict(
        "companion-on-gpu", "fail", f"{package}{spec} {needs}, which {called(name, gpu)} does not have", lowest.sources
    )


def no_release_runs(package: str, spec: str, gpus: Iterable[ComputeCapability]) -> bool:
    """Whether one of the GPUs is too old for every release that a requirement allows."""
    return any(companion_on_gpu(package, spec, gpu) is not None for gpu in gpus)


def first_to_need(package: str, spec: str) -> Version | None:
    """The first release that needs what a requirement's releases do; None where all do, or it is not known."""
    for _, span in _allowed(package, spec):
        bounds = [bound for operator, bound in span.clauses if operator == ">=" and any(bound.parts)]
        return bounds[0] if bounds else None
    return None


def _taken(package: str, spec: str) -> list[tuple[CompanionGpus, VersionSpec]]:
    """What is known of the releases that pip may take: without a bound the newest, where nothing ties it to others."""
    rows, wanted = _allowed(package, spec), requirement_of(package + spec)
    if wanted is None or is_bounded(wanted.spec) or package in pairs_by_package():
        return rows
    return [row for row in rows if not is_bounded(row[1])] or rows


def _allowed(package: str, spec: str) -> list[tuple[CompanionGpus, VersionSpec]]:
    return rows_allowed(package, spec, (pair for pair in _rows() if pair[0].package == package))
