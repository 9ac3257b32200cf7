"""From a plan and the user's options to the recipe of an image."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit._startup.records import record, replace
from envkit.base.errors import EnvkitError
from envkit.base.platforms import JETSON
from envkit.base.settings import Mirrors, refuse_logins
from envkit.compat.system import image_fits
from envkit.compat.verdict import Verdict
from envkit.image.base import choose_base, choose_tag, fitting_tags, plain_image, require_system, wanted_flavor
from envkit.image.cudnn import base_cudnn, settled
from envkit.image.download import DOWNLOAD, download_stage
from envkit.image.extensions import extension_stage, extensions, smoke_lines, wheels_step, without
from envkit.image.frameworks import (
    needs_driver,
    needs_headers,
    pip_installs,
    require_ways,
    system_packages,
    wheel_libraries,
)
from envkit.image.labels import labels
from envkit.image.options import ImageOptions
from envkit.image.own_base import OwnBase, base_notes, own_base
from envkit.image.parts import Base, Recipe, Run, Stage, Step
from envkit.image.project import context_files, for_python, missing, project_packages, requirements_step
from envkit.image.python import PythonSetup, python_setup
from envkit.image.runtime import runtime
from envkit.image.smoke import smoke_script
from envkit.image.source_build import SourceBuild, source_build
from envkit.image.steps import WHEEL_LIBRARIES, locked_step, merged, pip_step
from envkit.image.system import install
from envkit.image.titles import image_name, image_title, no_digest
from envkit.image.toolkit import SystemCuda, cudnn_beside_compilers, cudnn_setup, linked_toolkit, toolkit_setup
from envkit.solver.model import Choice, Plan
from envkit.solver.pip_calls import PipInstall, installed_by_pip
from envkit.solver.source_python import own_python
from envkit.tables import images as data
from envkit.tables.rows import FrameworkBuild, ImageTag, OperatingSystem, PythonSource

if TYPE_CHECKING:
    from envkit.tables import Matrix


@record
class _Parts:
    """What the final stage is put together from."""

    python: PythonSetup
    cuda: tuple[SystemCuda, ...]
    sources: tuple[SourceBuild, ...]
    pip: tuple[PipInstall, ...]
    extensions: tuple[Stage, ...] = ()
    wheels: tuple[Run, ...] = ()  # what installs what the extensions' stage compiled


def recipe(plan: Plan, options: ImageOptions, mirrors: Mirrors, matrix: Matrix) -> Recipe:
    """The image of a plan. Raises EnvkitError where an image cannot hold it, and says what would do."""
    refuse_logins(
        (*mirrors.addresses(), *(("--pip", package) for package in options.pip)),
        "the file and in the layers of the image",
        "Remove the password. Pass it to the build as a secret instead, with RUN "
        "--mount=type=secret,id=netrc,target=/root/.netrc, which pip, curl, and wget read.",
    )
    if plan.request.platform == JETSON:
        raise EnvkitError(
            "NVIDIA's CUDA images are for servers, and envkit does not know what a Jetson's JetPack requires.",
            "Start from NVIDIA's image for the JetPack on your Jetson.",
        )
    plan = for_image(plan, options, matrix)
    choice = plan.choice
    options = for_python(options, choice)
    compiled = extensions(choice, options)
    if _official(choice, options):
        from envkit.image.official import official_recipe

        return official_recipe(plan, options, mirrors, matrix)
    system = require_system(choice)
    require_ways(plan, matrix)
    compiles = any(not installed_by_pip(build, choice) for build in choice.builds)
    own = _named_base(options, matrix)
    base = choose_base(choice, options, matrix.supported_image_tags, compiles, own)
    options = without(options, compiled)
    parts = _parts(choice, options, mirrors, matrix, system, base)
    if compiled:
        stage = extension_stage(compiled, plan, options, mirrors, matrix, system, parts.python)
        parts = replace(parts, extensions=(stage,), wheels=(wheels_step(compiled, mirrors),))
    title = image_title(plan, matrix)
    frameworks = [matrix.framework(build.framework) for build in choice.builds]
    final = Stage("runtime", base, _final_steps(choice, options, mirrors, matrix, system, parts, base))
    return Recipe(
        title=title,
        name=image_name(plan),
        plan=plan,
        stages=(*_stages(parts, choice, system, mirrors), final),
        runtime=runtime(choice, options, matrix),
        labels=labels(plan, title, base.image),
        pip=parts.pip,
        python=choice.python,
        conda=parts.python.conda,
        apt=options.apt,
        smoke=smoke_script(choice, frameworks, options.devel, also=smoke_lines(compiled)),
        needs_driver=needs_driver(choice),
        source_built=tuple(build.framework for build in choice.builds if not installed_by_pip(build, choice)),
        compiled=tuple(one.requirement for one in compiled),
        context=context_files(options),
        notes=(*_notes(plan, options, base, own), *(base_notes(own, choice) if own else ())),
        syntax=options.syntax,
        of_the_image=options.of_the_image,
        missing=missing(options.project, choice),
    )


def _named_base(options: ImageOptions, matrix: Matrix) -> OwnBase | None:
    """What is known of the image that --base names; None without one."""
    return own_base(options.base, matrix) if options.base else None


def _notes(plan: Plan, options: ImageOptions, base: Base, own: OwnBase | None) -> tuple[str, ...]:
    """What the user should know next to the plan's own warnings."""
    missing = options.digest and base.digest is None
    foreign = own is not None and not own.cuda_tag and _lacks_headers(plan.choice, options, base)
    return (
        *plan.warnings,
        *((no_digest(base.image),) if missing else ()),
        *(
            (f"kernels are compiled with CUDA's headers at run time: {base.image} must contain them",)
            if foreign
            else ()
        ),
    )


def for_image(plan: Plan, options: ImageOptions, matrix: Matrix) -> Plan:
    """The plan with the base image and cuDNN that the options lead to, and without a Python that nothing needs."""
    choice = plan.choice
    if _official(choice, options):
        from envkit.image.official import official_plan

        return official_plan(plan, options, matrix)
    if not choice.builds and "python" not in plan.request.asked:
        source = _system_python(choice, matrix) if _installs(options) else None
        choice = replace(choice, python=source.python if source else None, python_source=source)
    elif choice.builds and not _by_pip(choice):
        choice = replace(choice, python=own_python(plan, matrix), python_source=None)
    tags = matrix.supported_image_tags
    flavor = wanted_flavor(choice, options)
    wanted = base_cudnn(choice, plan.request, fitting_tags(choice, flavor, tags), matrix)
    own = _named_base(options, matrix)
    tag = choose_tag(choice, options, tags, wanted) if own is None else own.row
    with_python = choice.python is not None and (not choice.builds or _by_pip(choice) or _installs(options))
    planned = choice.cudnn_version
    brings = tag if own is None or own.cudnn(choice, options.devel) else None
    choice = settled(choice, plan.request, brings, with_python, matrix)
    left_out = (f"{_NO_CUDNN} {choice.architecture}",) if planned and choice.cuda and not choice.cudnn_version else ()
    return replace(
        plan,
        choice=replace(choice, base_image=tag),
        verdicts=_judged(plan, tag, matrix),
        warnings=(*plan.warnings, *left_out),
    )


_NO_CUDNN = "the image has no cuDNN: envkit knows no matching image, archive with a checksum, or package"


def _by_pip(choice: Choice) -> bool:
    """True when pip provides one of the plan's frameworks."""
    return any(installed_by_pip(build, choice) for build in choice.builds)


def _judged(plan: Plan, tag: ImageTag | None, matrix: Matrix) -> tuple[Verdict, ...]:
    """The plan's verdicts, with that on the image which is really taken in place of the planned one."""
    if tag is None:
        return tuple(one for one in plan.verdicts if one.relation != "image-on-os" or plan.choice.base_image is None)
    return tuple(image_fits(tag) if one.relation == "image-on-os" else one for one in plan.verdicts)


def _installs(options: ImageOptions) -> bool:
    """True when the user's own options install Python packages."""
    return bool(options.pip or options.requirements or options.jupyter)


def _system_python(choice: Choice, matrix: Matrix) -> PythonSource | None:
    """The distribution's default Python as a row of the data."""
    default = choice.os.default_python if choice.os else None
    for row in matrix.python_sources:
        if row.way == "system" and choice.os and choice.os.os_id in row.os_ids and default and row.python == default:
            return row
    return None


def _official(choice: Choice, options: ImageOptions) -> bool:
    """True where the image is the project's own: as asked, or for frameworks that come in no other way."""
    return (
        options.official
        or bool(choice.builds)
        and all(
            not installed_by_pip(build, choice) and not data.source_steps(build) and build.bundles_cuda
            for build in choice.builds
        )
    )


def _parts(
    choice: Choice, options: ImageOptions, mirrors: Mirrors, matrix: Matrix, system: OperatingSystem, base: Base
) -> _Parts:
    plain = Base(plain_image(system), "where sources are compiled")
    compiling = tuple(build for build in choice.builds if not installed_by_pip(build, choice))
    cuda: list[SystemCuda] = []
    if choice.needs_toolkit and not base.has_cuda:
        cuda.append(toolkit_setup(choice, mirrors, whole=options.devel, headers=needs_headers(choice)))
    if choice.needs_toolkit and choice.cudnn and not base.has_cudnn:
        found = cudnn_setup(choice.cudnn, mirrors, headers=options.devel, compiles=bool(compiling))
        cuda += [found] if found else []
    compilers = _compilers(choice, options, matrix, plain, base)
    first = linked_toolkit(choice) if choice.needs_toolkit and not base.has_cuda else ()
    if any(stage.name == "cudnn" for one in cuda for stage in one.stages) and not compilers.has_cudnn:
        first += cudnn_beside_compilers()
    sources = [source_build(build, choice, system, compilers, mirrors, first) for build in compiling]
    return _Parts(
        _python(choice, options, system, mirrors, compiling),
        tuple(cuda),
        tuple(made for made in sources if made),
        pip_installs(choice, options, mirrors, base),
    )


def _python(
    choice: Choice,
    options: ImageOptions,
    system: OperatingSystem,
    mirrors: Mirrors,
    compiling: tuple[FrameworkBuild, ...],
) -> PythonSetup:
    """The Python of the image: none where nothing is installed with pip; compiled frameworks provide their own."""
    by_pip = _by_pip(choice) or _installs(options)
    if not by_pip and choice.python is None or (compiling and not by_pip):
        return PythonSetup((), (), (), (), ())
    return python_setup(choice, system, mirrors)


def _compilers(choice: Choice, options: ImageOptions, matrix: Matrix, plain: Base, base: Base) -> Base:
    """Where a source build runs: with the CUDA that the image gets, and its compilers."""
    if not choice.needs_toolkit:
        return plain
    if not base.has_cuda:
        return Base("cuda", "the toolkit unpacked above")
    devel = replace(options, devel=True)
    own = _named_base(options, matrix)
    return choose_base(choice, devel, matrix.supported_image_tags, True, own)


def _stages(parts: _Parts, choice: Choice, system: OperatingSystem, mirrors: Mirrors) -> tuple[Stage, ...]:
    stages = (
        *(stage for cuda in parts.cuda for stage in cuda.stages),
        *(source.stage for source in parts.sources),
        *parts.python.stages,
        *parts.extensions,
    )
    if not any(stage.base.image == DOWNLOAD for stage in stages):
        return stages
    purposes = [f"runfile-{choice.toolkit.installer_style}"] if choice.toolkit and parts.cuda else []
    return (download_stage(system, plain_image(system), mirrors, purposes), *stages)


def _final_steps(
    choice: Choice,
    options: ImageOptions,
    mirrors: Mirrors,
    matrix: Matrix,
    system: OperatingSystem,
    parts: _Parts,
    base: Base,
) -> tuple[Step, ...]:
    """The steps of the image itself, those that change least first, so that a change rebuilds little."""
    names = [
        *data.packages("certificates", system),
        *data.packages("users", system),
        *parts.python.packages,
        *system_packages(choice, system),
        *_header_packages(choice, options, system, base, _named_base(options, matrix)),
        *(name for source in parts.sources for name in source.packages),
        *options.apt,
        *project_packages(options.project, system, choice),
    ]
    steps: list[Step | None] = []
    if parts.python.early:
        steps.append(install(system, parts.python.early, mirrors))
    steps.append(install(system, tuple(names), mirrors, parts.python.first))
    steps += [step for cuda in parts.cuda for step in cuda.steps]
    steps += parts.python.steps
    steps += [locked_step(options.lock)] if options.lock else [pip_step(call, options) for call in parts.pip]
    steps += parts.wheels
    if options.requirements:
        steps.append(requirements_step(options, choice, mirrors))
    if wheel_libraries(parts.pip, choice):
        steps.append(WHEEL_LIBRARIES)
    steps += [step for source in parts.sources for step in source.steps]
    return merged(step for step in steps if step is not None)


def _lacks_headers(choice: Choice, options: ImageOptions, base: Base) -> bool:
    """True when a framework compiles with headers that the base, which has the libraries, was not chosen for."""
    return needs_headers(choice) and base.has_cuda and not options.devel


def _header_packages(
    choice: Choice, options: ImageOptions, system: OperatingSystem, base: Base, own: OwnBase | None
) -> tuple[str, ...]:
    """The packages with CUDA's headers, from the repository that NVIDIA's images name."""
    if not _lacks_headers(choice, options, base) or (own and not own.cuda_tag) or choice.cuda is None:
        return ()
    return data.packages("cuda-headers", system, release=str(choice.cuda.release(2)).replace(".", "-"))
