"""Packages that pip has to compile for a framework: built in a stage with nvcc, their wheels installed in the image."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from envkit._startup.records import record, replace
from envkit.base.errors import EnvkitError, RequestError
from envkit.base.names import requirement_name
from envkit.base.settings import Mirrors
from envkit.base.versions import ComputeCapability
from envkit.image.base import choose_base, choose_tag
from envkit.image.options import ImageOptions
from envkit.image.parts import Arguments, Base, Copy, Run, Stage, Step
from envkit.image.python import SECRETS, PythonSetup, header_packages, pip_run
from envkit.image.steps import merged, pip_step, pip_words
from envkit.image.system import install
from envkit.solver.build_targets import torch_targets
from envkit.solver.model import Choice, Plan
from envkit.solver.pip_calls import PipInstall, pip_calls
from envkit.tables import images as data
from envkit.tables.images import ExtensionBuild
from envkit.tables.rows import FrameworkBuild, OperatingSystem, Toolkit

if TYPE_CHECKING:
    from envkit.tables import Matrix

_STAGE = "extensions"
_WHEELS = "/opt/wheels"
_UNPINNED = ("DL3013", "DL3059")  # tools of a build, and what its wheels require
_JOBS = 4  # a job of nvcc takes several gigabytes of memory, and builds start one per processor


@record
class Extension:
    """A requirement of the user's that has to be compiled, and the build of the framework that it is compiled for."""

    requirement: str
    row: ExtensionBuild
    build: FrameworkBuild


def extensions(choice: Choice, options: ImageOptions) -> tuple[Extension, ...]:
    """The requirements that no wheel serves. Raises RequestError for one whose place has to be named."""
    found = []
    for line in options.pip:
        row = data.extension_build(requirement_name(line))
        build = next((one for one in choice.builds if row and one.framework == row.framework), None)
        if row is None or build is None or build.cuda is None or choice.architecture in row.wheels:
            continue
        if not row.index and "@" not in line:
            raise RequestError(
                f"--pip {line}: the package index does not have the {row.package} for {row.framework}.",
                f"Specify its repository and release: --pip '{row.package} @ git+https://HOST/REPOSITORY@TAG'.",
            )
        found.append(Extension(line, row, build))
    _refuse(found, options)
    return tuple(found)


def _refuse(found: list[Extension], options: ImageOptions) -> None:
    """Raises RequestError for an option that leaves no place to compile in."""
    for option, given in (("--from official", options.official), ("--lock", options.lock)):
        if found and given:
            raise RequestError(
                f"{option} cannot be combined with --pip {found[0].requirement}, which is compiled.",
                f"Omit {option}.",
            )


def without(options: ImageOptions, compiled: Iterable[Extension]) -> ImageOptions:
    """The options without the requirements that are compiled."""
    lines = {one.requirement for one in compiled}
    return replace(options, pip=tuple(line for line in options.pip if line not in lines))


def extension_stage(
    found: tuple[Extension, ...],
    plan: Plan,
    options: ImageOptions,
    mirrors: Mirrors,
    matrix: Matrix,
    system: OperatingSystem,
    python: PythonSetup,
) -> Stage:
    """The stage that compiles them, with the framework installed. Raises EnvkitError where there is no way."""
    choice = plan.choice
    build = found[0].build
    names = (
        *data.packages("certificates", system),
        *data.packages("compiler", system),
        *python.packages,
        *header_packages(choice.python_source, system),
    )
    steps: list[Step | None] = [install(system, python.early, mirrors)] if python.early else []
    steps += [install(system, names, mirrors, python.first), *python.steps]
    alone = replace(choice, builds=(build,))
    steps += [pip_step(call, ImageOptions()) for call in pip_calls(alone, mirrors, with_libraries=False)]
    steps += [Arguments(_arguments(found, plan, build, matrix)), *_compiling(found, mirrors)]
    base = _compilers(found[0], choice, options, matrix)
    return Stage(_STAGE, base, merged(step for step in steps if step is not None))


def _compilers(one: Extension, choice: Choice, options: ImageOptions, matrix: Matrix) -> Base:
    """The image with the nvcc of the framework's CUDA. Raises EnvkitError where none is known to be supported."""
    wanted = replace(options, devel=True, base=None, slim=False)
    own = replace(choice, cuda=one.build.cuda, base_image=None)
    tag = choose_tag(own, wanted, matrix.supported_image_tags, None)
    if tag is None:
        raise EnvkitError(
            f"{one.requirement} is compiled, and no supported image has CUDA {one.build.cuda}'s nvcc on "
            f"{choice.os.os_id if choice.os else 'that system'}.",
            "Choose another --cuda or --os.",
        )
    base = choose_base(replace(own, base_image=tag), wanted, matrix.supported_image_tags, True)
    return replace(
        base, why="supported tag; packages without a wheel are compiled there with the nvcc of the framework's CUDA"
    )


def _toolkit(build: FrameworkBuild, matrix: Matrix) -> Toolkit | None:
    """The newest toolkit of the framework's CUDA release, whose nvcc knows which GPUs there are."""
    rows = [row for row in matrix.toolkits if row.release == build.cuda]
    return max(rows, key=lambda row: row.version, default=None)


def _arguments(found: tuple[Extension, ...], plan: Plan, build: FrameworkBuild, matrix: Matrix) -> dict[str, str]:
    """The build arguments of the stage. Raises EnvkitError for GPUs that an extension has no code for."""
    targets = torch_targets(plan.request.gpus, _toolkit(build, matrix), build)
    values = {"MAX_JOBS": str(_JOBS)}
    if targets:
        values["TORCH_CUDA_ARCH_LIST"] = ";".join(map(str, targets))
    for one in found:
        oldest = one.row.oldest
        fitting = [gpu for gpu in targets if oldest is None or gpu >= oldest]
        if targets and not fitting:
            raise EnvkitError(
                f"{one.requirement} has no code for {', '.join(gpu.sm for gpu in targets)}.",
                f"Omit it, or choose a GPU with compute capability {oldest} or higher.",
            )
        for pair in one.row.variables:
            name, _, value = pair.partition("=")
            if "{families}" not in value:
                values[name] = value
            elif fitting:
                values[name] = value.replace("{families}", ";".join(_families(fitting)))
    return values


def _families(targets: Iterable[ComputeCapability]) -> tuple[str, ...]:
    """The generations of the GPUs as their first chip is called: code for it runs on all of them."""
    return tuple(dict.fromkeys(f"{one.major}0" for one in targets))


def _compiling(found: tuple[Extension, ...], mirrors: Mirrors) -> tuple[Run, ...]:
    """The runs that provide the tools of the builds and make the wheels.

    pip would keep a wheel under its source alone and give it out again after the GPUs have changed: no cache.
    """
    tools = PipInstall(tuple(sorted({tool for one in found for tool in one.row.tools})), index_url=mirrors.index_url)
    sources = PipInstall(tuple(one.requirement for one in found), index_url=mirrors.index_url)
    wheel = f"python -m pip wheel --no-cache-dir --no-build-isolation --no-deps --wheel-dir {_WHEELS}"
    return (
        pip_run((f"python -m pip install\n{pip_words(tools)}",), ignore=_UNPINNED, why="What the builds import."),
        Run(
            (f"{wheel}\n{pip_words(sources)}",),
            secrets=SECRETS,
            ignore=_UNPINNED,
            why="This takes up to an hour; each job takes gigabytes of memory: --build-arg MAX_JOBS=N.",
        ),
    )


def wheels_step(found: Iterable[Extension], mirrors: Mirrors) -> Run:
    """The run that installs the wheels in the image, none from elsewhere, and then what they require."""
    wheels = PipInstall(tuple(one.row.package for one in found), find_links=_WHEELS)
    required = PipInstall(wheels.requirements, index_url=mirrors.index_url, find_links=_WHEELS)
    step = pip_run(
        (
            f"python -m pip install --no-index --no-deps\n{pip_words(wheels)}",
            f"python -m pip install\n{pip_words(required)}",
        ),
        ignore=_UNPINNED,
        why="The wheels compiled for the framework above, then the packages that they require.",
    )
    return replace(step, taken=Copy(_STAGE, _WHEELS, _WHEELS))


def smoke_lines(found: Iterable[Extension]) -> tuple[str, ...]:
    """The imports that show that they work; some load the driver's library, so only where a GPU is."""
    modules = [one.row.module for one in found if one.row.module]
    return tuple(
        f"if test -e /dev/nvidiactl || test -e /dev/dxg; then python -c 'import torch, {module}'; fi"
        for module in modules
    )
