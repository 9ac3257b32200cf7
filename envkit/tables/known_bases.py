"""What the tags of images say by a scheme of their makers: NVIDIA's monthly containers, and those of GPU clouds."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from envkit._startup.records import record, replace
from envkit._startup.regex import regex
from envkit.base.versions import ComputeCapability, Version
from envkit.tables.known_images import framework_image, tag_row
from envkit.tables.loader import read, table
from envkit.tables.rows import FrameworkImage

if TYPE_CHECKING:
    from envkit.tables import Matrix

_MONTHLY = regex(r"nvcr\.io/nvidia/(?P<name>pytorch|tensorflow|tensorrt|tritonserver)")
_MONTH = regex(r"\d\d\.\d\d(?=-|$)")
_PYTHON_TWO = "py2"


@table("image/container_months.csv", "month")
@record
class ContainerMonth:
    """What all of NVIDIA's containers have from a month on until that of the next row; None: not known yet."""

    month: str
    cuda: Version | None
    python: Version | None
    os_id: str | None
    sources: tuple[str, ...]


@table("image/container_gpus.csv", "first")
@record
class ContainerGpus:
    """The lowest GPUs of all of NVIDIA's containers of the months from `first` to `last`."""

    first: str
    last: str
    lowest: ComputeCapability
    sources: tuple[str, ...]


def gpus_of_month(repository: str, tag: str) -> ContainerGpus | None:
    """The GPUs that one of NVIDIA's monthly containers is made for; None where that is not on record."""
    found = _MONTH.match(tag) if _MONTHLY.fullmatch(repository) else None
    rows = (row for row in read(ContainerGpus) if found is not None and row.first <= found.group() <= row.last)
    return next(rows, None)


@table("image/tag_schemes.csv", "repository", "tags")
@record
class TagScheme:
    """Images whose `tags`, a pattern with named parts, say what is in them. `cudnn`, `python`: those that all have.

    What neither the tags nor a column tells is not known.
    """

    repository: str
    tags: str
    framework: str
    cudnn: str | None
    python: Version | None
    sources: tuple[str, ...]


@table("image/without_latest.csv", "repository")
@record
class WithoutLatest:
    """A repository that never had a tag `latest`."""

    repository: str
    sources: tuple[str, ...]


@table("image/bare_names.csv", "name")
@record
class BareName:
    """The name of an image of Docker Hub without its owner, which no image has, and the `repository` that is meant."""

    name: str
    repository: str
    sources: tuple[str, ...]


def with_owner(repository: str, tag: str, matrix: Matrix) -> BareName | None:
    """The image that is meant by a name without its owner; None where the tag is not one of its own."""
    row = next((one for one in read(BareName) if one.name == repository), None)
    if row is None:
        return None
    known = framework_image(row.repository, tag, matrix) or tag_row(row.repository, tag, matrix)
    return row if known is not None else None


def told_by_scheme(repository: str, tag: str, known: FrameworkImage | None) -> FrameworkImage | None:
    """The image with what the scheme of its tag adds to what is known of it."""
    monthly = _MONTHLY.fullmatch(repository)
    if monthly is not None:
        return _of_month(monthly["name"], repository, tag, known)
    by_words = _by_its_words(repository, tag) if known is None or known.python is None else None
    if known is not None and by_words is not None:
        return replace(known, python=by_words.python, sources=(*known.sources, *by_words.sources))
    return known or by_words


def _of_month(framework: str, repository: str, tag: str, known: FrameworkImage | None) -> FrameworkImage | None:
    found = _MONTH.match(tag)
    rows = [row for row in read(ContainerMonth) if found is not None and row.month <= found.group()]
    if not rows or rows[-1].cuda is None:
        return known
    row = rows[-1]
    python = None if _PYTHON_TWO in tag.split("-") else row.python
    if known is None:
        return FrameworkImage(
            framework, None, repository, tag, row.cuda, None, python, row.os_id, "", "derived", row.sources
        )
    return replace(
        known,
        repository=repository,
        tag=tag,
        cuda=known.cuda or row.cuda,
        python=known.python or python,
        os_id=known.os_id or row.os_id,
    )


def _by_its_words(repository: str, tag: str) -> FrameworkImage | None:
    for row in read(TagScheme):
        found = re.fullmatch(row.tags, tag) if row.repository == repository else None
        if found is not None:
            told = found.groupdict(default="")
            return FrameworkImage(
                row.framework,
                Version.parse(_dotted(told["version"], 1)),
                repository,
                tag,
                Version.parse(_dotted(told["cuda"], 2)),
                row.cudnn or told.get("cudnn"),
                Version.parse(told["python"]) if "python" in told else row.python,
                told.get("system"),
                told.get("flavor", ""),
                "derived",
                row.sources,
            )
    return None


def _dotted(digits: str, major: int) -> str:
    """A release of three numbers that a tag writes without dots; others as they are."""
    return digits if "." in digits else f"{digits[:major]}.{digits[major:-1]}.{digits[-1]}"


@table("image/vendor_images.csv", "repository")
@record
class VendorImage:
    """An image, by its `repository` as a pattern, with the software for GPUs of another vendor than NVIDIA.

    `release`: where its tags name the release of the `package` that it has of the platform's build.
    """

    repository: str
    platform: str
    vendor: str
    package: str | None
    release: str | None
    sources: tuple[str, ...]


@table("image/cuda_wheels.csv", "package")
@record
class CudaWheel:
    """A package whose `versions` on the default index are built for CUDA alone; blank: all."""

    package: str
    versions: str
    sources: tuple[str, ...]
