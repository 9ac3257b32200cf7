"""Images that the framework's own project publishes, as a start instead of a distribution."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit._startup.records import replace
from envkit.base.errors import EnvkitError
from envkit.base.settings import Mirrors
from envkit.base.versions import Version
from envkit.image.frameworks import needs_driver
from envkit.image.labels import labels
from envkit.image.official_image import PROVEN, official_image
from envkit.image.options import ImageOptions
from envkit.image.parts import Base, Recipe, Runtime, Stage
from envkit.image.project import context_files, missing
from envkit.image.runtime import GPU_VARIABLES, runtime
from envkit.image.smoke import smoke_script
from envkit.image.steps import own_steps
from envkit.image.titles import image_name, image_title, no_digest
from envkit.solver.model import Choice, Plan
from envkit.solver.pip_calls import PipInstall
from envkit.tables import images as data
from envkit.tables.rows import FrameworkImage, ImageTag

if TYPE_CHECKING:
    from envkit.tables import Matrix


def official_plan(plan: Plan, options: ImageOptions, matrix: Matrix) -> Plan:
    """The plan with what is known of the framework's own image, and nothing that is only true of one built here.

    Raises EnvkitError where no usable image is known to envkit.
    """
    choice = plan.choice
    if len(choice.builds) != 1:
        raise EnvkitError("--from official: an official image contains one framework.", "Choose one with --framework.")
    build = choice.builds[0]
    image = official_image(build, options, plan.request, matrix)
    told = plan.request.os_id if "os_id" in plan.request.asked else None
    os_id = image.os_id or told
    same = image.cuda is not None and choice.cuda is not None and image.cuda.release(2) == choice.cuda.release(2)
    tag = ImageTag(
        image.repository, image.tag, image.cuda, "", image.flavor, os_id or "", image.state, None, None, image.sources
    )
    cudnn = Version.find(image.cudnn) if image.cudnn else None
    own = replace(
        choice,
        cuda=image.cuda,
        toolkit=None,
        runfiles=(),
        cudnn=None,
        cudnn_version=cudnn,
        python=image.python,
        python_source=None,
        os=matrix.operating_system(os_id) if os_id else None,
        builds=(replace(build, cuda=image.cuda, cudnn=cudnn, package=None, index_url=None, find_links=None),),
        base_image=tag,
        minimum_driver=choice.minimum_driver if same else _driver(image, matrix),
        first_driver_of=choice.first_driver_of if same else "",
        needs_toolkit=False,
    )
    kept = tuple(one for one in plan.verdicts if same and one.relation.startswith(("gpu-", "driver-")))
    untold = {one.detail for one in plan.verdicts} - {one.detail for one in kept}
    warnings = tuple(warning for warning in plan.warnings if warning not in untold)
    return replace(plan, choice=own, verdicts=kept, warnings=warnings)


def official_recipe(plan: Plan, options: ImageOptions, mirrors: Mirrors, matrix: Matrix) -> Recipe:
    """The recipe on the framework's own image, from a plan that `official_plan` has made."""
    choice = plan.choice
    build, tag = choice.builds[0], choice.base_image
    assert tag is not None
    base = Base(f"{tag.repository}:{tag.tag}", "the project's own image", has_cuda=True, has_cudnn=True)
    if options.apt and choice.os is None:
        raise EnvkitError(f"--apt: the distribution of {base.image} is not known to envkit.", "Specify it with --os.")
    title = f"{image_title(plan, matrix)} (official image)"
    calls: tuple[PipInstall, ...] = ()
    if options.pip or options.jupyter:
        calls = (PipInstall((*options.pip, *_jupyter(plan, options)), index_url=mirrors.index_url),)
    return Recipe(
        title=title,
        name=image_name(plan),
        plan=plan,
        stages=(Stage("runtime", base, own_steps(calls, options, mirrors, choice)),),
        runtime=_runtime(choice, options, matrix),
        labels=labels(plan, title, base.image),
        pip=calls,
        python=choice.python,
        conda=False,
        apt=options.apt,
        smoke=smoke_script(choice, [matrix.framework(build.framework)], devel=False, official=True),
        needs_driver=needs_driver(choice),
        source_built=(),
        context=context_files(options),
        official=True,
        notes=(*plan.warnings, *_notes(plan, tag, base.image, options)),
        syntax=options.syntax,
        missing=missing(options.project, choice),
    )


def _notes(plan: Plan, tag: ImageTag, image: str, options: ImageOptions) -> Iterator[str]:
    if tag.state not in PROVEN:
        yield f"The tag {image} follows the project's naming scheme; it was not verified."
    if "python" in plan.request.asked and plan.choice.python is None:
        yield f"the Python version of {image} is not known to envkit, so --python could not be checked"
    if options.digest:
        yield no_digest(image)


def _runtime(choice: Choice, options: ImageOptions, matrix: Matrix) -> Runtime:
    """The image's own command where it is a server's; the GPUs even where its CUDA is not known to envkit."""
    made = runtime(choice, options, matrix)
    if choice.cuda is None:
        made = replace(made, environment=GPU_VARIABLES)
    test = data.smoke_test(choice.builds[0].framework)
    serves = test is not None and test.command and not options.jupyter
    return replace(made, command=()) if serves else made


def _driver(image: FrameworkImage, matrix: Matrix) -> Version | None:
    """The oldest driver that runs the image's CUDA, None where that is not known."""
    cuda = image.cuda
    rows = [row for row in matrix.toolkits if cuda is not None and row.release == cuda.release(2)]
    newest = max(rows, key=lambda row: row.version, default=None)
    return (newest.minor_compatibility_driver or newest.minimum_driver) if newest else None


def _jupyter(plan: Plan, options: ImageOptions) -> tuple[str, ...]:
    """JupyterLab for the image's Python; pip chooses where that is not known."""
    if not options.jupyter:
        return ()
    known = data.jupyterlab(plan.choice.python) if plan.choice.python else None
    return (known or "jupyterlab",)
