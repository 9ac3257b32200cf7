"""What the frameworks are to choose between: their traits, and what their newest release runs on."""

from __future__ import annotations

from collections.abc import Iterable

from envkit._startup.records import record
from envkit.base.versions import ComputeCapability, Version
from envkit.solver.guide import runs
from envkit.tables import Matrix
from envkit.tables.browse import NONE
from envkit.tables.loader import read
from envkit.tables.rows import FrameworkBuild
from envkit.tables.ways import FrameworkTraits


@record
class FrameworkComparison:
    """A framework next to the others; `pythons`, `systems` and `oldest_gpu` are those of its newest release.

    None is unknown. `oldest_gpu` is the lowest compute capability that any build of the release takes on Linux x86_64.
    """

    name: str
    title: str
    language: tuple[str, ...] | None
    graph: str | None
    multi_gpu: str | None
    deployment: str | None
    last_release: Version | None
    released: str | None
    archived: bool
    archived_since: str | None  # 2023-09; `NONE` while it is developed
    newest_cuda: Version | None  # of any release
    oldest_gpu: ComputeCapability | None
    pythons: tuple[Version, ...] | None
    systems: tuple[str, ...] | None  # linux x86_64
    sources: tuple[str, ...]


def comparison(matrix: Matrix) -> tuple[FrameworkComparison, ...]:
    """Every framework, those that are still developed first."""
    traits = {row.framework: row for row in read(FrameworkTraits)}
    rows = []
    for framework in matrix.frameworks:
        own = traits.get(framework.name)
        kept = [build for build in matrix.builds(framework.name) if not build.yanked]
        last = max((build.version for build in kept), default=None)
        newest = [build for build in kept if build.version == last]
        cited = [*(own.sources if own else framework.sources), *(key for build in newest for key in build.sources)]
        rows.append(
            FrameworkComparison(
                name=framework.name,
                title=framework.title,
                language=own.language if own else None,
                graph=own.graph if own else None,
                multi_gpu=own.multi_gpu if own else None,
                deployment=own.deployment if own else None,
                last_release=last,
                released=min(
                    (build.release_date for build in newest if build.release_date), default=None
                ),  # not of a rebuild
                archived=framework.archived,
                archived_since=(own.archived_since if own else None) if framework.archived else NONE,
                newest_cuda=max((build.cuda for build in kept if build.cuda and not build.cpu_only), default=None),
                oldest_gpu=_oldest_gpu(newest, matrix),
                pythons=tuple(sorted({python for build in newest for python in build.pythons})) or None,
                systems=_systems(newest),
                sources=tuple(dict.fromkeys(cited)),
            )
        )
    return tuple(sorted(rows, key=lambda row: row.archived))


def _oldest_gpu(builds: Iterable[FrameworkBuild], matrix: Matrix) -> ComputeCapability | None:
    """The lowest compute capability that any build and its CUDA take; None where that is not known."""
    told = [build for build in builds if build.sass is not None or build.min_compute_capability is not None]
    known = sorted({gpu.compute_capability for gpu in matrix.gpus})
    return next((one for one in known if any(runs(one, build, matrix) is not False for build in told)), None)


def _systems(builds: Iterable[FrameworkBuild]) -> tuple[str, ...] | None:
    pairs = {
        f"{platform} {architecture}"
        for build in builds
        for platform in build.platforms
        for architecture in build.architectures
        if not (platform == "windows" and architecture == "aarch64")  # no framework has GPU packages for it
    }
    return tuple(sorted(pairs)) or None
