"""The image to start from: a tag known to be supported, or the plain distribution."""

from __future__ import annotations

from collections.abc import Iterable

from envkit.base.errors import EnvkitError
from envkit.image.options import ImageOptions
from envkit.image.own_base import OwnBase
from envkit.image.parts import Base
from envkit.solver.model import Choice
from envkit.tables import images as data
from envkit.tables.known_images import CUDA_REPOSITORY
from envkit.tables.rows import ImageTag, OperatingSystem


def choose_base(
    choice: Choice, options: ImageOptions, tags: Iterable[ImageTag], compiles: bool, own: OwnBase | None = None
) -> Base:
    """The smallest base that serves the plan. Raises EnvkitError when its distribution has no image known to envkit.

    `compiles`: something is built from source in another stage; the final image still needs libraries only.
    `own` is what is known of the base that the user named.
    """
    if own is not None:
        devel = options.devel
        return Base(
            own.image, "named with --base", has_cuda=own.cuda(choice, devel), has_cudnn=own.cudnn(choice, devel)
        )
    system = require_system(choice)
    flavor = wanted_flavor(choice, options)
    tag = choice.base_image
    if tag is not None and tag.flavor != flavor:
        tag = choose_tag(choice, options, tags, data.tag_cudnn(tag.cudnn))
    if tag:
        return Base(
            f"{tag.repository}:{tag.tag}",
            _why_tag(flavor),
            has_cuda=True,
            has_cudnn=bool(tag.cudnn),
            digest=tag.digest if options.digest else None,
        )
    return Base(plain_image(system), _why_plain(choice, options, flavor, compiles))


def choose_tag(choice: Choice, options: ImageOptions, tags: Iterable[ImageTag], cudnn: int | None) -> ImageTag | None:
    """The supported tag to start from; None for the plain distribution, a base of the user's or an official image.

    `cudnn` is the major that it should provide; a tag without cuDNN is taken where there is none that does.
    """
    if options.slim or options.base or options.official:
        return None
    flavor = wanted_flavor(choice, options)
    planned = choice.base_image
    wanted = None if flavor == "base" else cudnn
    if (
        planned
        and planned.state == "supported"
        and planned.flavor == flavor
        and data.tag_cudnn(planned.cudnn) == wanted
    ):
        return planned
    fitting = fitting_tags(choice, flavor, tags)
    with_cudnn = [tag for tag in fitting if wanted is not None and data.tag_cudnn(tag.cudnn) == wanted]
    pool = with_cudnn or [tag for tag in fitting if not tag.cudnn]
    return max(pool, key=lambda tag: tag.cuda.parts if tag.cuda else ()) if pool else None


def require_system(choice: Choice) -> OperatingSystem:
    """The plan's distribution. Raises EnvkitError when the plan leaves it open."""
    if choice.os is None:
        raise EnvkitError("The plan specifies no distribution for the image.", "Add --os, such as --os ubuntu22.04.")
    return choice.os


def plain_image(system: OperatingSystem) -> str:
    """The distribution's own image. Raises EnvkitError where it has none."""
    if system.base_image is None:
        raise EnvkitError(
            f"--os {system.os_id}: this distribution has no public base image.",
            "Choose one with --base, or choose --os ubuntu22.04.",
        )
    return system.base_image if ":" in system.base_image else f"{system.base_image}:latest"


def wanted_flavor(choice: Choice, options: ImageOptions) -> str:
    """devel when asked for, runtime when the framework needs system CUDA, base when it carries its own."""
    if options.devel:
        return "devel"
    return "runtime" if choice.needs_toolkit else "base"


def fitting_tags(choice: Choice, flavor: str, tags: Iterable[ImageTag]) -> list[ImageTag]:
    """The supported tags of the plan's CUDA release and distribution in that flavor, with and without cuDNN."""
    if choice.cuda is None or choice.os is None:
        return []
    release, os_id = choice.cuda.release(2), choice.os.os_id
    return [
        tag
        for tag in tags
        if tag.repository == CUDA_REPOSITORY
        and tag.state == "supported"
        and tag.os_id == os_id
        and tag.flavor == flavor
        and tag.cuda is not None
        and len(tag.cuda.parts) > 2
        and tag.cuda.release(2) == release
    ]


def _why_tag(flavor: str) -> str:
    reasons = {
        "base": "supported tag; the smallest flavor is enough, because the framework's packages bundle CUDA",
        "runtime": "supported tag with the CUDA runtime libraries and cuDNN",
        "devel": "supported tag with compilers and headers, as requested with --devel",
    }
    return reasons[flavor]


def _why_plain(choice: Choice, options: ImageOptions, flavor: str, compiles: bool) -> str:
    if choice.cuda is None:
        return "plain distribution: no CUDA in this plan"
    if options.slim:
        return "plain distribution, as requested with --slim"
    where = "from its installer" if flavor != "base" or compiles else "in the framework's packages"
    on = f" on {choice.os.title}" if choice.os else ""
    return (
        f"plain distribution: no supported nvidia/cuda tag for CUDA {choice.cuda.release(2)}{on}, so CUDA comes {where}"
    )
