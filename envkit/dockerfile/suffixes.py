"""Which build pip takes from a page that lists a release several times, each time with another suffix."""

from __future__ import annotations

from collections.abc import Sequence

from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.base.platforms import WINDOWS
from envkit.base.versions import Version
from envkit.dockerfile.framework_packages import Wanted
from envkit.dockerfile.packages import Package
from envkit.dockerfile.specifiers import package_release
from envkit.tables.codes import limit
from envkit.tables.images import WheelFile
from envkit.tables.loader import read
from envkit.tables.rows import FrameworkBuild


def is_on_page(wanted: Wanted) -> bool:
    """True where pip is sent to a page of a framework's builds that is not one CUDA's."""
    pages = tuple(f"/{row.page}" for row in read(WheelFile) if row.framework == wanted.framework)
    return bool(pages) and not wanted.variant and any(place.endswith(pages) for place in wanted.places.split())


def by_suffix(wanted: Wanted, candidates: Sequence[FrameworkBuild]) -> list[FrameworkBuild]:
    """The builds of the newest release that a page tells apart by their suffixes, the one that pip takes last.

    `torch==1.5.0` also asks for `1.5.0+cu101`, and a release with a suffix is newer than the same without one; of two
    suffixes, the later one in the alphabet is newer: cu92, not cu101.
    """
    if wanted.tool != "pip" or not is_on_page(wanted):
        return []
    newest = max(package_release(build).order for build in candidates)
    places = {place.rstrip("/") for place in wanted.places.split()}
    alike = (build for build in candidates if package_release(build).order == newest)
    return sorted((build for build in alike if suffix_of(build) and build.find_links in places), key=suffix_of)


def suffix_of(build: FrameworkBuild) -> str:
    """What follows the plus sign of its version: cu101; '' where there is none."""
    return (build.package or "").partition("+")[2]


def loses_to_amd(build: FrameworkBuild, platform: str) -> bool:
    """True for a release of which the page also has builds for AMD GPUs, whose suffix (+rocm) is higher."""
    return (
        platform != WINDOWS and build.framework == "pytorch" and build.version >= limit("first-torch-with-rocm-suffix")
    )


def other_cuda(package: Package, torch: Package) -> str:
    """Why a companion's import stops next to a torch with another CUDA in its suffix; '' where it does not.

    torchaudio compares the whole release, torchvision only the major one since 0.16.
    """
    own, its = _CUDA_SUFFIX.search(package.spec), _CUDA_SUFFIX.search(torch.spec)
    release, name = Version.find(package.spec), normalized(package.name)
    if own is None or its is None or release is None or own[1] == its[1]:
        return ""
    if name == "torchaudio":
        stops = limit("torchaudio-compares-cuda") <= release <= limit("torchaudio-compares-cuda-last")
    else:
        by_major = release >= limit("torchvision-compares-major-cuda")
        stops = own[1][:-1] != its[1][:-1] if by_major else release >= limit("torchvision-compares-cuda")
    return f"{package.name}{package.spec} is built for another CUDA than torch{torch.spec}" if stops else ""


_CUDA_SUFFIX = regex(r"\+cu(\d{2,3})\b")


def is_of_other_places(wanted: Wanted) -> bool:
    """True when every place that pip is sent to holds the builds of one variant, and none that of the suffix."""
    places = wanted.place_variants
    return bool(places) and "" not in places and wanted.variant not in places
