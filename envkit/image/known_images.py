"""What is on record of images in registries: the tags of CUDA's own, and the images of the frameworks' projects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.matrix.rows import FrameworkImage, ImageTag

if TYPE_CHECKING:
    from envkit.matrix import Matrix

CUDA_REPOSITORY = "nvidia/cuda"


def tag_row(repository: str, tag: str, matrix: Matrix) -> ImageTag | None:
    """The tag on record, or None."""
    return next((row for row in matrix.image_tags if row.repository == repository and row.tag == tag), None)


def supported_beside(row: ImageTag, matrix: Matrix) -> list[ImageTag]:
    """The supported tags of the repository that a tag is in."""
    return [tag for tag in matrix.image_tags if tag.state == "supported" and tag.repository == row.repository]


def framework_image(repository: str, tag: str, matrix: Matrix) -> FrameworkImage | None:
    """The framework's own image that a base names, or None."""
    return next((row for row in matrix.framework_images if row.repository == repository and row.tag == tag), None)
