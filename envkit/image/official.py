"""Images that the framework's own project publishes, as a start instead of a distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.errors import EnvkitError
from envkit.image import data
from envkit.image.labels import labels
from envkit.image.options import ImageOptions
from envkit.image.parts import Base, PipInstall, Recipe, Stage
from envkit.image.runtime import runtime
from envkit.image.smoke import smoke_script
from envkit.matrix.rows import FrameworkBuild, FrameworkImage
from envkit.plan.model import Plan
from envkit.settings import Mirrors

if TYPE_CHECKING:
    from envkit.matrix import Matrix

_USABLE = ("supported", "seen", "derived")


def official_recipe(plan: Plan, options: ImageOptions, mirrors: Mirrors, matrix: Matrix) -> Recipe:
    """The recipe on the framework's own image. Raises EnvkitError where no usable image is on record."""
    from envkit.image.recipe import image_name, image_title, no_digest, own_steps

    choice = plan.choice
    if len(choice.builds) != 1:
        raise EnvkitError("--from official: an official image holds one framework.", "Name one --framework.")
    build = choice.builds[0]
    base, proven = official_base(build, options, matrix)
    title = f"{image_title(plan, matrix)} (official image)"
    calls: tuple[PipInstall, ...] = ()
    if options.pip or options.jupyter:
        calls = (PipInstall((*options.pip, *_jupyter(plan, options)), index_url=mirrors.index_url),)
    notes = [*plan.warnings]
    if not proven:
        notes.append(f"The tag {base.image} follows the project's naming; not looked up.")
    if options.digest:
        notes.append(no_digest(base.image))
    return Recipe(
        title=title,
        name=image_name(plan),
        plan=plan,
        stages=(Stage("runtime", base, own_steps(calls, options, mirrors, choice.os)),),
        runtime=runtime(choice, options, matrix),
        labels=labels(plan, title, base.image),
        pip=calls,
        python=choice.python,
        conda=False,
        apt=options.apt,
        smoke=smoke_script(choice, [matrix.framework(build.framework)], devel=False, official=True),
        needs_driver=False,
        source_built=(),
        context=(options.requirements,) if options.requirements else (),
        official=True,
        notes=tuple(notes),
        syntax=options.syntax,
    )


def _jupyter(plan: Plan, options: ImageOptions) -> tuple[str, ...]:
    wanted = data.jupyterlab(plan.choice.python) if options.jupyter else None
    return (wanted,) if wanted else ()


def official_base(build: FrameworkBuild, options: ImageOptions, matrix: Matrix) -> tuple[Base, bool]:
    """The official image of that build, and whether its tag was seen. Raises EnvkitError when none is on record."""
    images = [image for image in matrix.framework_images if _same(image, build)]
    wanted = "devel" if options.devel else "runtime"
    images.sort(key=lambda image: (image.state not in _USABLE[:2], image.flavor != wanted, image.tag))
    if images:
        best = images[0]
        return _base(best.repository, best.tag), best.state in _USABLE[:2]
    named = next((row for row in data.table("official") if row.framework == build.framework), None)
    if named is None:
        raise EnvkitError(
            f"--from official: no official image of {build.framework} {build.version} is on record.",
            _nearest(build, matrix),
        )
    tag = named.tag.format(version=build.version, cuda=build.cuda, cudnn=build.cudnn)
    return _base(named.repository, tag), False


def _nearest(build: FrameworkBuild, matrix: Matrix) -> str:
    """The newest version that has an official image, in words."""
    versions = [
        image.version
        for image in matrix.framework_images
        if image.framework == build.framework and image.state in _USABLE and image.version is not None
    ]
    newest = f"The newest with one: --framework {build.framework}=={max(versions)}. " if versions else ""
    return f"{newest}Without --from envkit builds the image itself."


def _same(image: FrameworkImage, build: FrameworkBuild) -> bool:
    same_cuda = image.cuda is None or build.cuda is None or image.cuda.release(2) == build.cuda.release(2)
    usable = image.state in _USABLE and image.framework == build.framework
    return usable and image.version == build.version and same_cuda


def _base(repository: str, tag: str) -> Base:
    return Base(f"{repository}:{tag}", "the project's own image", has_cuda=True, has_cudnn=True)
