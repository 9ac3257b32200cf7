"""What other formats cannot express: an error that names it, never a silent loss."""

from __future__ import annotations

from collections.abc import Iterable

from envkit.base.errors import EnvkitError
from envkit.documents.packages import PackageList
from envkit.image.frameworks import loader_calls
from envkit.image.options import ImageOptions
from envkit.image.parts import Recipe

_DEFAULTS = ImageOptions()


def refuse(target: str, reasons: Iterable[str]) -> None:
    """Raises EnvkitError with the first of the reasons why `target` cannot hold the plan; nothing for none."""
    for reason in reasons:
        raise EnvkitError(f"--format {target}: {reason}.", "Use --format dockerfile, or change that part.")


def outside_python(recipe: Recipe) -> list[str]:
    """Why a list of Python packages alone cannot hold the recipe."""
    choice = recipe.plan.choice
    reasons = []
    if choice.needs_toolkit:
        reasons.append(f"the plan needs the CUDA {choice.cuda} libraries from the system")
    if recipe.source_built:
        reasons.append(f"{', '.join(recipe.source_built)} is built from source")
    if recipe.compiled:
        reasons.append(f"{', '.join(recipe.compiled)} is compiled in a stage of the image")
    if recipe.apt:
        reasons.append("--apt packages require a distribution")
    if recipe.official:
        reasons.append("--from official refers to an image")
    return reasons + container_settings(recipe)


def loader_notes(recipe: Recipe) -> tuple[str, ...]:
    """What programs must do where no image tells the loader of the libraries that came as Python packages."""
    return tuple(
        f"a program calls {call} before it uses the GPU: outside an image, the loader does not search its CUDA packages"
        for call in loader_calls(recipe.plan.choice)
    )


def container_settings(recipe: Recipe) -> list[str]:
    """The settings of images and containers that were asked for and have no place outside an image."""
    runtime = recipe.runtime
    reasons = [f"{option} applies only to an image" for option in recipe.of_the_image]
    if runtime.workdir != _DEFAULTS.workdir:
        reasons.append("--workdir applies only to a container")
    if runtime.entrypoint:
        reasons.append("--entrypoint applies only to a container")
    if runtime.user != _DEFAULTS.user:
        reasons.append("--user applies only to a container")
    return reasons


def packages_of(recipe: Recipe) -> PackageList:
    """The Python packages of the recipe, for a list of these alone."""
    choice = recipe.plan.choice
    return PackageList(
        recipe.title,
        recipe.name,
        recipe.python,
        tuple(recipe.pip),
        choice.minimum_driver,
        notes=(*loader_notes(recipe), *(f"not installed: {line}" for line in recipe.missing)),
    )
