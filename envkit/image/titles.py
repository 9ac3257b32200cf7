"""What an image is called, and what is said of the image that it starts from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.base.sentences import series
from envkit.solver.model import Choice, Plan

if TYPE_CHECKING:
    from envkit.tables import Matrix


def image_title(plan: Plan, matrix: Matrix) -> str:
    """What the image holds, in words."""
    choice = plan.choice
    named = []
    for build in choice.builds:
        framework = matrix.framework(build.framework)
        named.append(f"{framework.title if framework else build.framework} {build.version}")
    where = f" on {choice.os.title}" if choice.os else ""
    python = f", Python {choice.python}" if choice.python else ""
    cuda = _cuda_words(choice)
    if not named:
        return f"{cuda}{where}{python}"
    return f"{series(named)}{f' with {cuda}' if cuda else ''}{where}{python}"


def _cuda_words(choice: Choice) -> str:
    """The CUDA of the image in words: each release that a framework carries, in order."""
    if choice.cuda is None:
        return "no CUDA" if not choice.builds or all(build.cpu_only for build in choice.builds) else ""
    releases = {choice.cuda} | {
        build.cuda for build in choice.builds if build.cuda and build.bundles_cuda and not build.cpu_only
    }
    told = [one for one in sorted(releases) if one is choice.cuda or not choice.cuda.starts_with(one)]
    return f"CUDA {series(map(str, told))}"


def image_name(plan: Plan) -> str:
    """A short name for the image."""
    names = [build.framework for build in plan.choice.builds] or ["cuda"]
    return "-".join(names)


def no_digest(image: str) -> str:
    """What to do about a base whose digest nobody recorded."""
    return (
        f"no digest of {image} is known to envkit, so only its tag is used; to pin it, look it up with docker buildx "
        f"imagetools inspect {image} and pass --base {image}@sha256:DIGEST"
    )
