"""The cuDNN of an image: the base provides it, an archive with a checksum does, or a package where there is a
Python."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from envkit._startup.records import replace
from envkit.base.errors import EnvkitError
from envkit.base.versions import Version, VersionSpec
from envkit.compat.software import cudnn_knows_gpu, cudnn_serves, cudnn_supports_cuda
from envkit.solver.model import Choice
from envkit.solver.request import Request
from envkit.tables import images as data
from envkit.tables.rows import CudnnRelease, ImageTag

if TYPE_CHECKING:
    from envkit.tables import Matrix

_LAST = 10**6  # a minor version that no line reaches


def base_cudnn(choice: Choice, request: Request, tags: Iterable[ImageTag], matrix: Matrix) -> int | None:
    """The cuDNN major that one of these tags should provide; None where none provides what the plan wants.

    A framework wants the major of the plan. Where none is named any cuDNN will do that was not ruled out: a base
    that has one is smaller and better kept than one that is put on top.
    """
    if not choice.needs_toolkit or choice.cudnn is None:
        return None
    offered = {major for tag in tags if (major := data.tag_cudnn(tag.cudnn)) is not None}
    allowed = {row.soname_major for row in _rows(choice, replace(request, cudnn=None), matrix)}
    majors = {major for major in offered & allowed if request.cudnn is None or _whole_line(request.cudnn, major)}
    planned = choice.cudnn.soname_major
    if planned in majors or choice.builds:
        return planned if planned in majors else None
    return max(majors, default=None)


def settled(choice: Choice, request: Request, tag: ImageTag | None, has_python: bool, matrix: Matrix) -> Choice:
    """The choice with the cuDNN that an image on this base really gets; without one where there is no way to it.

    Raises EnvkitError where a cuDNN that was asked for has no way into the image.
    """
    if choice.cuda is None:
        return replace(choice, cudnn=None, cudnn_version=None)  # what a build was made with, and no image provides
    if not choice.needs_toolkit:
        return choice
    if choice.cudnn is None:
        # A version without a release is what a build was made with: only one that carries its libraries has it.
        carried = any(build.bundles_cuda for build in choice.builds)
        return choice if carried else replace(choice, cudnn_version=None)
    major = data.tag_cudnn(tag.cudnn) if tag else None
    if major is not None:
        rows = [row for row in _rows(choice, replace(request, cudnn=None), matrix) if row.soname_major == major]
        return replace(choice, cudnn=next(iter(rows), choice.cudnn), cudnn_version=Version.of(major))
    if archive_of(choice.cudnn) or (has_python and choice.cudnn.pip_package):
        return replace(choice, cudnn_version=choice.cudnn.version)
    row = next((row for row in _rows(choice, request, matrix) if archive_of(row)), None)
    if row is not None:
        return replace(choice, cudnn=row, cudnn_version=row.version)
    if request.cudnn is None:
        return replace(choice, cudnn=None, cudnn_version=None)
    missing = f"cuDNN {choice.cudnn.version} for CUDA {choice.cuda} on {choice.architecture}"
    if choice.cudnn.pip_package and not choice.builds:
        raise EnvkitError(
            f"envkit knows {missing} only as a Python package, and this image has no Python.",
            "Add --python, or choose another --cudnn.",
        )
    raise EnvkitError(f"No archive of {missing} with a checksum is known to envkit.", "Choose another --cudnn.")


def archive_of(row: CudnnRelease) -> tuple[str, str, str] | None:
    """Address, name and SHA-256 of the archive that the release is unpacked from; None without one of them."""
    return (row.url, row.archive, row.sha256) if row.url and row.archive and row.sha256 else None


def _rows(choice: Choice, request: Request, matrix: Matrix) -> Iterator[CudnnRelease]:
    """The cuDNN builds for the plan's CUDA, processor, frameworks and GPUs, newest first."""
    if choice.cuda is None:
        return
    line = choice.cuda.release(2)
    system = [build for build in choice.builds if not build.bundles_cuda]
    fitting = (
        row
        for row in matrix.cudnns
        if row.architecture == choice.architecture
        and cudnn_supports_cuda(row, line)
        and (request.cudnn is None or request.cudnn.holds(row.version))
        and all(cudnn_serves(build, row.version) is not False for build in system)
        and all(cudnn_knows_gpu(row, gpu.compute_capability) is not False for gpu in request.gpus)
    )
    yield from sorted(fitting, key=lambda row: row.version, reverse=True)


def _whole_line(spec: VersionSpec, major: int) -> bool:
    """True when every release of that major meets the spec, so that the tag's word alone is enough."""
    return spec.holds(Version.of(major)) and spec.holds(Version.of(major, _LAST))
