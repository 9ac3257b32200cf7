"""The tags of nvidia/cuda that stand in for one that is gone, nearest first: remedies and repairs name the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.base.versions import Version
from envkit.tables.known_images import PYTORCH_REPOSITORY, framework_image
from envkit.tables.rows import ImageTag

if TYPE_CHECKING:
    from envkit.dockerfile.base import Base
    from envkit.tables import Matrix

FLAVORS = ("base", "runtime", "devel")  # each has what those before have
SUPPORTED = "supported"
_LEFT = (SUPPORTED, "unsupported")  # states of tags that can be pulled
_RUNTIME, _DEVEL = FLAVORS[1:]


def tags_in_place_of(
    row: ImageTag, matrix: Matrix, *, supported: bool = False, oldest: Version | None = None
) -> list[ImageTag]:
    """The tags of the same flavor, with or without cuDNN as the row, nearest first.

    Those of another major are for a base flavor alone, which has no more of CUDA than its smallest library.
    `supported`: no others; `oldest`: the first CUDA that will do, where the tag's own will not.
    """
    flavor = row.flavor or "runtime"
    found = [
        tag
        for tag in matrix.image_tags
        if tag.repository == row.repository
        and tag.state in (_LEFT[:1] if supported else _LEFT)
        and tag.flavor == flavor
        and bool(tag.cudnn) == bool(row.cudnn)
        and tag != row
        and _serves(tag, row, oldest)
    ]
    found.sort(key=lambda tag: tag.tag, reverse=True)  # of equally near ones Ubuntu's newest, rather than CentOS's
    return sorted(found, key=lambda tag: _distance(tag, row, oldest))


def _serves(tag: ImageTag, row: ImageTag, oldest: Version | None) -> bool:
    if row.cuda is None or tag.cuda is None:
        return False
    if oldest is not None:
        return tag.cuda >= oldest
    bare = tag.flavor == FLAVORS[0] and tag.os_id == row.os_id
    return tag.cuda.major == row.cuda.major or (bare and tag.cuda > row.cuda)


def _distance(tag: ImageTag, row: ImageTag, oldest: Version | None) -> tuple[object, ...]:
    assert tag.cuda is not None and row.cuda is not None
    near = oldest or row.cuda
    majors = tag.cuda.major - near.major
    minors = tag.cuda.release(2).parts[1], near.release(2).parts[1]
    least = (tag.state != SUPPORTED, *minors[:1]) if majors else (abs(minors[0] - minors[1]), minors[0] < minors[1])
    return (
        tag.os_id != row.os_id,
        majors,
        least,
        tag.state != SUPPORTED,
        tag.cudnn != row.cudnn,
        tuple(-part for part in tag.cuda.parts),  # the last patch of a release
    )


def devel_image(base: Base, matrix: Matrix) -> str:
    """The image of PyTorch's project that is the same with the CUDA compiler; '' where none is known."""
    if base.repository != PYTORCH_REPOSITORY or not base.tag.endswith(_RUNTIME):
        return ""
    tag = f"{base.tag.removesuffix(_RUNTIME)}{_DEVEL}"
    return f"{base.repository}:{tag}" if framework_image(base.repository, tag, matrix) is not None else ""
