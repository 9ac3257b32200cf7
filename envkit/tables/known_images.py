"""What is known of images in registries: the tags of CUDA's own, and the images of the frameworks' projects."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from envkit._startup.records import record
from envkit.base.versions import Version
from envkit.tables.rows import FrameworkImage, ImageTag

if TYPE_CHECKING:
    from envkit.tables import Matrix

CUDA_REPOSITORY = "nvidia/cuda"
PYTHON_REPOSITORY = "python"  # the images of Python's own project
PYTORCH_REPOSITORY = "pytorch/pytorch"
GONE = ("deleted", "never")  # states of a tag under which nothing can be pulled
_DOCKER_HUB = ("docker.io/", "index.docker.io/", "registry-1.docker.io/", "library/")
_ALSO_THERE = {"nvcr.io/nvidia/cuda": CUDA_REPOSITORY}  # NVIDIA keeps and deletes the same tags in both


@record
class ImageName:
    """The parts of an image's name; `tag` is '' where none is written.

    Docker Hub's own prefixes are left out, and NVIDIA's registry for the images that are in both.
    """

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
    return ImageName(_ALSO_THERE.get(repository, repository), tag, bool(digest))


def tag_row(repository: str, tag: str, matrix: Matrix) -> ImageTag | None:
    """The tag in the tables, or None."""
    return _tags(matrix).get((repository, tag))


def supported_beside(row: ImageTag, matrix: Matrix) -> tuple[ImageTag, ...]:
    """The supported tags of the repository that a tag is in."""
    return _supported(row.repository, matrix)


def framework_image(repository: str, tag: str, matrix: Matrix) -> FrameworkImage | None:
    """The framework's own image that a base names, or None."""
    return _framework_images(matrix).get((repository, tag))


@lru_cache(maxsize=2)
def tagged_releases(matrix: Matrix) -> frozenset[Version]:
    """The CUDA releases that there are tags of."""
    return frozenset(row.cuda.release(2) for row in matrix.image_tags if row.cuda is not None)


@lru_cache(maxsize=2)
def tagged_flavors(matrix: Matrix) -> frozenset[str]:
    """The flavors that there are tags of."""
    return frozenset(row.flavor for row in matrix.image_tags if row.flavor)


@lru_cache(maxsize=2)
def _tags(matrix: Matrix) -> dict[tuple[str, str], ImageTag]:
    return {(row.repository, row.tag): row for row in reversed(matrix.image_tags)}


@lru_cache(maxsize=8)
def _supported(repository: str, matrix: Matrix) -> tuple[ImageTag, ...]:
    return tuple(row for row in matrix.image_tags if row.state == "supported" and row.repository == repository)


@lru_cache(maxsize=2)
def _framework_images(matrix: Matrix) -> dict[tuple[str, str], FrameworkImage]:
    return {(row.repository, row.tag): row for row in reversed(matrix.framework_images)}
