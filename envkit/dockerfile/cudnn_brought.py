"""Whether packages of pip bring the cuDNN that another one loads, next to the one of the system."""

from __future__ import annotations

from collections.abc import Sequence

from envkit.base.names import normalized
from envkit.base.versions import Version
from envkit.dockerfile.packages import Package
from envkit.dockerfile.specifiers import pinned_release
from envkit.tables.loader import read
from envkit.tables.rows import FrameworkBuild

_TORCH = "torch"
_WHEEL = "nvidia-cudnn-cu"


def cudnn_may_come_from_pip(build: FrameworkBuild, packages: Sequence[Package]) -> bool:
    """Whether a wheel of cuDNN, or a pinned torch for the same CUDA, brings the cuDNN that a build loads.

    It finds that one where a path is set, or where torch is imported first.
    """
    wheels = any(one.tool == "pip" and normalized(one.name).startswith(_WHEEL) for one in packages)
    return wheels or _comes_with_torch(build, packages)


def _comes_with_torch(build: FrameworkBuild, packages: Sequence[Package]) -> bool:
    """Whether a pinned torch brings the libraries of the same CUDA and the same cuDNN as a build loads."""
    torch = next((one for one in packages if one.tool == "pip" and normalized(one.name) == _TORCH), None)
    pin = pinned_release(torch.spec) if torch is not None else None
    if torch is None or pin is None or build.cuda is None or build.cudnn is None:
        return False
    index, same = torch.places.index.rstrip("/"), (build.cuda.major, build.cudnn.major)
    rows = (row for row in read(FrameworkBuild, "pytorch") if row.version == Version.parse(pin) and row.bundles_cuda)
    placed = (row for row in rows if not index or row.index_url == index)
    return any(row.cuda and row.cudnn and (row.cuda.major, row.cudnn.major) == same for row in placed)
