"""Whether the cuDNN of an image is the one that packages without a framework load from the system."""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.base.versions import Version, VersionSpec
from envkit.checks.containers import image_faults as faults
from envkit.checks.engine.findings import Finding
from envkit.compat.software import some_version_meets
from envkit.dockerfile.check_parts import package_subject, stop
from envkit.dockerfile.ground import Ground
from envkit.dockerfile.packages import Package
from envkit.dockerfile.specifiers import is_bounded, pinned_release
from envkit.tables.build_stops import TorchBringer
from envkit.tables.known_images import CUDA_REPOSITORY
from envkit.tables.loader import read
from envkit.tables.rows import FrameworkBuild
from envkit.tables.source_stops import SystemCudnn

_IN_TAG = regex(r"cudnn(\d)")
_BY_APT = regex(r"libcudnn(\d)\b")
_MORE = regex(r"nvidia-cudnn|conda|libcudnn\d-cuda|cudnn-linux|\.sh\b")  # a cuDNN may come with these
_TORCH = "torch"


def cudnn_of_the_system(ground: Ground) -> Iterator[Finding]:
    """The first package of a stage that loads another cuDNN than the only one that the image gets."""
    if ground.base.repository != CUDA_REPOSITORY or not ground.first or ground.reads_unseen:
        return
    texts = " ".join((*ground.texts, *ground.environment, *ground.environment.values()))
    if _MORE.search(texts):
        return
    brought = _brought_by_torch(ground)
    there = {int(one) for one in (*_IN_TAG.findall(ground.base.tag), *_BY_APT.findall(texts))}
    if len(there) != 1:
        return
    have = there.pop()
    rows = {row.package: row for row in read(SystemCudnn)}
    bounded = ground.bounded
    for step in ground.steps:
        for package in step.packages:
            row = rows.get(normalized(package.name))
            if row is None or package.tool != "pip" or (row.through != row.package and row.through in bounded):
                continue
            if have >= row.cudnn or brought is None or brought >= row.cudnn or not _takes(package, row.since):
                continue
            yield stop(
                faults.CUDNN_DIFFERS,
                f"{package.asked} loads cuDNN {row.cudnn}, but the image has cuDNN {have}",
                package_subject(package),
                impact="Its first model on the GPU stops: libcudnn_ops is not found.",
                fix=f"Start from an image with cuDNN {row.cudnn}.",
                sources=row.sources,
            )
            return


def _brought_by_torch(ground: Ground) -> int | None:
    """The major version of the newest cuDNN that a torch of the file brings, 0 without one; None for any."""
    newest, bringers = 0, {row.package for row in read(TorchBringer)} | {"torchaudio", "torchvision"}
    for step in ground.steps:
        for package in step.packages:
            name = normalized(package.name)
            if name in bringers and _TORCH not in ground.specs:
                return None
            if name != _TORCH:
                continue
            pin = pinned_release(package.spec)
            builds = [row for row in read(FrameworkBuild, "pytorch") if pin and row.version == Version.parse(pin)]
            majors = [row.cudnn.major for row in builds if row.cudnn is not None]
            if not majors:
                return None
            newest = max(newest, *majors)
    return newest


def _takes(package: Package, since: Version) -> bool:
    """Whether pip certainly takes a release from `since` on."""
    if not is_bounded(package.spec):
        return not package.held and package.wheel is None
    try:
        asked = VersionSpec.parse(package.spec)
    except ValueError:
        return False
    return not some_version_meets((asked, VersionSpec.parse(f"<{since}"))) and some_version_meets(
        (asked, VersionSpec.parse(f">={since}"))
    )
