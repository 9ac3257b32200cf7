"""What is on record of images in registries: the tags of CUDA's own, and the images of the frameworks' projects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.matrix.rows import FrameworkImage, ImageTag
from envkit.records import record

if TYPE_CHECKING:
    from envkit.matrix import Matrix

CUDA_REPOSITORY = "nvidia/cuda"
_DOCKER_HUB = ("docker.io/", "index.docker.io/", "registry-1.docker.io/", "library/")


@record
class ImageName:
    """The parts of an image's name; `tag` is '' where none is written. Docker Hub's own prefixes are left out."""

    repository: str
    tag: str
    has_digest: bool

    @property
    def wanted_tag(self) -> str:
        """The tag that is fetched: `latest` where neither tag nor digest is written, '' where a digest alone is."""
        return self.tag or ("" if self.has_digest else "latest")


def image_name(image: str) -> ImageName:
    """The parts of the name that follows FROM; a registry may have a port."""
    name, digest, _ = image.partition("@")
    folder, slash, last = name.rpartition("/")
    last, _, tag = last.partition(":")
    repository = f"{folder}{slash}{last}"
    for prefix in _DOCKER_HUB:
        repository = repository.removeprefix(prefix)
    return ImageName(repository, tag, bool(digest))


def tag_row(repository: str, tag: str, matrix: Matrix) -> ImageTag | None:
    """The tag on record, or None."""
    return next((row for row in matrix.image_tags if row.repository == repository and row.tag == tag), None)


def supported_beside(row: ImageTag, matrix: Matrix) -> list[ImageTag]:
    """The supported tags of the repository that a tag is in."""
    return [tag for tag in matrix.image_tags if tag.state == "supported" and tag.repository == row.repository]


def framework_image(repository: str, tag: str, matrix: Matrix) -> FrameworkImage | None:
    """The framework's own image that a base names, or None."""
    return next((row for row in matrix.framework_images if row.repository == repository and row.tag == tag), None)
