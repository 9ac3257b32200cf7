"""Which image the framework's own project publishes for a build."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.base.errors import EnvkitError
from envkit.image.options import ImageOptions
from envkit.solver.request import Request
from envkit.tables import images as data
from envkit.tables.rows import FrameworkBuild, FrameworkImage

if TYPE_CHECKING:
    from envkit.tables import Matrix

PROVEN = ("supported", "seen")
_USABLE = (*PROVEN, "derived")


def official_image(build: FrameworkBuild, options: ImageOptions, request: Request, matrix: Matrix) -> FrameworkImage:
    """The project's image of that version, with the plan's CUDA where there is one.

    A tag that only the project's naming gives has no facts but those in its name. Raises EnvkitError for no image.
    """
    images = [image for image in _images(build, request, matrix) if image.version == build.version]
    wanted = "devel" if options.devel else "runtime"
    if images:
        return min(images, key=lambda image: (not _same_cuda(image, build), *_rank(image, wanted)))
    named = data.official_name(build)
    name = named.repository + named.tag if named else ""
    told = "{cuda}" in name
    if named is None or (told and build.cuda is None):
        raise EnvkitError(
            f"--from official: no official image of {build.named}"
            f"{f' with CUDA {request.cuda}' if request.cuda else ''} is known to envkit.",
            _nearest(build, request, matrix),
        )
    names = {"version": build.version, "cuda": build.cuda, "cudnn": build.cudnn}
    cudnn = str(build.cudnn) if "{cudnn}" in name and build.cudnn else None
    return FrameworkImage(
        build.framework,
        build.version,
        named.repository.format(**names),
        named.tag.format(**names),
        build.cuda if told else None,
        cudnn,
        None,
        None,
        "",
        "derived",
        named.sources,
    )


def has_official(build: FrameworkBuild, request: Request, matrix: Matrix) -> bool:
    """True when --from official has an image of that build."""
    try:
        official_image(build, ImageOptions(official=True), request, matrix)
    except EnvkitError:
        return False
    return True


def _rank(image: FrameworkImage, wanted: str) -> tuple[bool, bool, str]:
    return image.state not in PROVEN, image.flavor != wanted, image.tag


def _images(build: FrameworkBuild, request: Request, matrix: Matrix) -> list[FrameworkImage]:
    """The framework's usable images of any version, with a CUDA and a Python as requested where those are known."""
    return [
        image
        for image in matrix.framework_images
        if image.framework == build.framework
        and image.state in _USABLE
        and (image.cuda is None or request.cuda is None or request.cuda.holds(image.cuda))
        and (image.python is None or request.python is None or request.python.holds(image.python))
    ]


def _same_cuda(image: FrameworkImage, build: FrameworkBuild) -> bool:
    return image.cuda is None or build.cuda is None or image.cuda.release(2) == build.cuda.release(2)


def _nearest(build: FrameworkBuild, request: Request, matrix: Matrix) -> str:
    """The newest version that has an official image, in words, and the way without one."""
    planned = {
        each.version
        for each in matrix.builds(build.framework)
        if request.cuda is None or (each.cuda is not None and request.cuda.holds(each.cuda))
    }
    versions = planned.intersection(image.version for image in _images(build, request, matrix))
    newest = f"The newest version with one: --framework {build.framework}=={max(versions)}. " if versions else ""
    own = build.package is not None or build.find_links is not None or data.source_steps(build)
    return f"{newest}{'Without --from envkit builds the image itself.' if own else ''}".strip()
