"""The image that a Dockerfile starts from, as its name and the tables tell."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.dockerfile.stages import BuildStage
from envkit.tables.build_stops import ArchivedSystem, MovingSystem
from envkit.tables.known_bases import told_by_scheme
from envkit.tables.known_images import CUDA_REPOSITORY, framework_image, image_name, tag_row
from envkit.tables.loader import read
from envkit.tables.rows import FrameworkImage, ImageTag, OperatingSystem

if TYPE_CHECKING:
    from envkit.tables import Matrix

# Images that hold a distribution and a language, and no CUDA.
_WITHOUT_CUDA = regex(
    r"(?:alma|rocky|oracle|amazon)linux|(?:rockylinux/)?rockylinux|fedora|centos|opensuse/leap|debian|ubuntu"
    r"|alpine|busybox|scratch|gcc|rust|ruby|nginx|openjdk|eclipse-temurin|julia|r-base"
    r"|python|buildpack-deps|node|golang|mambaorg/micromamba|continuumio/(?:mini|ana)conda3?|condaforge/[\w-]+"
)
# Distributions whose `latest` is their newest release with long support, and the images of such releases.
_WITH_LATEST = {"ubuntu": regex(r"ubuntu:\d[02468]\.04"), "debian": regex(r"debian:\d+")}
_JETSON = regex(r"l4t|jetson")
_ARM = regex(r"arm64|aarch64")


@record
class Base:
    """The image that FROM names on a line; `row` and `own` are what is in the tables of it."""

    line: int
    image: str
    repository: str
    tag: str
    row: ImageTag | None  # of CUDA's images
    own: FrameworkImage | None  # of a framework's project
    system: OperatingSystem | None
    plain: bool  # it is known to hold no CUDA
    architecture: str

    @property
    def cuda(self) -> Version | None:
        """The CUDA that its name or the tables say, whether its libraries are inside or not."""
        told = (self.row.cuda if self.row is not None else None) or (self.own.cuda if self.own is not None else None)
        return told or (Version.find(self.tag) if self.repository == CUDA_REPOSITORY else None)

    @property
    def of_distribution(self) -> bool:
        """True for an image of a distribution, or one of nvidia/cuda: what it has of Python is the distribution's."""
        own = (self.system.base_image or "").partition(":")[0] if self.system is not None else ""
        return self.own is None and self.repository in (CUDA_REPOSITORY, own)

    @property
    def jetson(self) -> bool:
        """True for an image for Jetson boards."""
        return _JETSON.search(self.image) is not None

    @property
    def known(self) -> bool:
        """True where it is known what it holds."""
        return self.plain or self.own is not None


def base_of(stage: BuildStage, matrix: Matrix) -> Base:
    """The image that a stage starts from."""
    name = image_name(stage.image)
    repository, tag = name.repository, name.wanted_tag
    row = tag_row(repository, tag, matrix)
    own = told_by_scheme(repository, tag, framework_image(repository, tag, matrix))
    system = _system(repository, tag, row, own, matrix)
    plain = row is not None or _is_plain(repository, matrix)  # what the tags of nvidia/cuda hold is known
    return Base(stage.line, stage.image, repository, tag, row, own, system, plain, _architecture(stage))


def archived_system(base: Base) -> ArchivedSystem | None:
    """The distribution that a tag names, where its packages have left the mirrors."""
    words = base.tag.split("-")
    for row in read(ArchivedSystem):
        if row.repositories and base.repository not in row.repositories:
            continue
        if any(word == row.word or word.startswith(f"{row.word}.") for word in words):
            return row
    return None


def _architecture(stage: BuildStage) -> str:
    """aarch64 where the platform or the image of a Jetson says so; x86_64 otherwise."""
    return "aarch64" if _JETSON.search(stage.image) or _ARM.search(stage.platform) else "x86_64"


def _is_plain(repository: str, matrix: Matrix) -> bool:
    plain = {(known.base_image or "").partition(":")[0] for known in matrix.operating_systems} - {""}
    return repository in plain or _WITHOUT_CUDA.fullmatch(repository) is not None


def _system(
    repository: str, tag: str, row: ImageTag | None, own: FrameworkImage | None, matrix: Matrix
) -> OperatingSystem | None:
    named = (row.os_id if row is not None else None) or (own.os_id if own is not None else None)
    if named:
        return matrix.operating_system(named)
    ends = [part for part in re.split(r"[-_]", tag) if matrix.operating_system(part)]
    if ends:
        return matrix.operating_system(ends[-1])
    if _WITHOUT_CUDA.fullmatch(repository):  # 3.12-slim-bookworm
        named_by = next((row for row in matrix.operating_systems if row.code_name in tag.split("-")), None)
        if named_by is not None:
            return named_by
    name = repository.rpartition("/")[2]
    moving = next(
        (row for row in read(MovingSystem) if row.repository == repository and re.fullmatch(row.tags, tag)), None
    )
    if moving is not None:
        return matrix.operating_system(moving.os_id)
    if repository in _WITH_LATEST and tag == "latest":
        return _latest(repository, matrix)
    release = tag.partition("-")[0]  # bookworm-slim, 12-slim, noble
    by_image = [system for system in matrix.operating_systems if system.base_image == f"{repository}:{tag}"]
    by_code_name = [
        system
        for system in matrix.operating_systems
        if release and system.code_name == release and system.os_id.startswith(name)
    ]
    return next(iter((*by_image, *by_code_name)), None) or matrix.operating_system(f"{name}{release}")


def _latest(repository: str, matrix: Matrix) -> OperatingSystem | None:
    """The release that `latest` means: what is true of the newest one that is known is true of later ones mostly
    too."""
    images = [row for row in matrix.operating_systems if _WITH_LATEST[repository].fullmatch(row.base_image or "")]
    return max(images, key=lambda row: Version.find(row.os_id) or Version.of(0), default=None)
