"""Which packages put a build for CUDA into an image that has the software for GPUs of another vendor."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from envkit._startup.records import record
from envkit.base.names import normalized
from envkit.base.versions import Version
from envkit.checks.containers import image_faults as faults
from envkit.checks.engine.findings import Finding, Remedy, Status
from envkit.compat.pairs import required
from envkit.dockerfile.base_replaced import goes_into_the_base, is_confined
from envkit.dockerfile.check_parts import finding, package_subject
from envkit.dockerfile.clashes import releases_of
from envkit.dockerfile.contents import Contents
from envkit.dockerfile.ground import Ground, Step
from envkit.dockerfile.packages import Package
from envkit.dockerfile.specifiers import Release, Wish, is_bounded
from envkit.dockerfile.stops_packages import asks_only
from envkit.tables.known_bases import CudaWheel, VendorImage
from envkit.tables.loader import read

# Without its dependencies a package may be meant to be changed afterwards: vLLM's file for ROCm so patches xFormers.
_APART = frozenset({"--no-deps", "--target", "-t", "--no-index", "--dry-run"})


@record
class _There:
    """What an image has of the other vendor's builds; `release` is None where its tag does not tell."""

    row: VendorImage
    image: str
    release: Version | None


def other_vendors(made: Iterable[Ground], found: Contents) -> Iterator[Finding]:
    """Each such package of each stage, once; nothing where an index may be set that has the vendor's builds."""
    if found.index_set:
        return
    rows = {row.package: row for row in read(CudaWheel)}
    for ground in made:
        there = _there(ground)
        told: set[str] = set()
        for step in ground.steps if there is not None else ():
            for package in step.packages:
                row = _for_cuda(package, step, rows)
                sure = there is not None and row is not None and _replaces(package, step, there, ground)
                if there is None or row is None or sure is None or row.package in told:
                    continue
                told.add(row.package)
                yield _found(package, row, there, sure=sure)


def _there(ground: Ground) -> _There | None:
    for row in read(VendorImage):
        if re.fullmatch(row.repository, ground.base.repository):
            release = re.search(row.release, ground.base.tag) if row.release else None
            return _There(row, ground.base.image, Version.parse(release[1]) if release else None)
    return None


def _for_cuda(package: Package, step: Step, rows: dict[str, CudaWheel]) -> CudaWheel | None:
    """The row of a package that comes from the default index, of a release that is there for CUDA alone."""
    row = rows.get(normalized(package.name))
    places = package.places
    elsewhere = places.index or places.more or places.backend or package.wheel is not None or "+" in package.spec
    if row is None or package.tool != "pip" or elsewhere or package.marker or not step.command.decisive:
        return None
    if any(word.partition("=")[0] in _APART for word in step.command.words):
        return None
    return row if asks_only(package, row.versions) else None


def _replaces(package: Package, step: Step, there: _There, ground: Ground) -> bool | None:
    """Whether pip certainly installs it over the build of the image; False for perhaps, None for no."""
    own = there.row.package == normalized(package.name)
    certain = goes_into_the_base(step) and not is_confined(ground) and not package.held
    if not own or not certain:
        return certain
    if there.release is None or package.places.upgrades:  # it may be the release that is there
        return False if is_bounded(package.spec) or package.places.upgrades else None
    try:
        stays = Wish.parse(package.spec, package.tool).holds(Release(there.release))
    except ValueError:
        return None
    return None if stays else True


def _found(package: Package, row: CudaWheel, there: _There, *, sure: bool | None) -> Finding:
    platform, vendor = there.row.platform, there.row.vendor
    replaced = row.package == there.row.package or any(
        line.package == there.row.package for release in releases_of(package)[-1:] for line in required(release)
    )
    impact = f"No {vendor} GPU runs its kernels."
    if replaced:
        impact = f"pip puts PyTorch for CUDA in place of the one for {platform}: no {vendor} GPU is used."
    return finding(
        faults.OTHER_VENDOR,
        Status.FAIL if sure else Status.WARN,
        f"{package.name} from the default index is built for CUDA, but {there.image} is an image for {platform}",
        package_subject(package),
        impact=impact,
        remedy=Remedy(
            f"Leave out {package.name} where the base image has it, or install its build for {platform} from the "
            "project's own index or from source. On an NVIDIA GPU, start from an image with CUDA."
        ),
        sources=(*row.sources, *there.row.sources),
    )
