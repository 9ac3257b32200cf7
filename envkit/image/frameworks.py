"""How the plan's frameworks get into an image: from an index, or built from their last source release."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from envkit.base.errors import EnvkitError
from envkit.base.settings import Mirrors
from envkit.image.cudnn import archive_of
from envkit.image.official_image import has_official
from envkit.image.options import ImageOptions
from envkit.image.parts import Base
from envkit.solver.model import Choice, Plan
from envkit.solver.pip_calls import PipInstall, installed_by_pip, pip_calls
from envkit.solver.source_python import lacking, purposes
from envkit.tables import images as data
from envkit.tables.images import PackageSet, SourceStep
from envkit.tables.loader import read
from envkit.tables.rows import OperatingSystem

if TYPE_CHECKING:
    from envkit.tables import Matrix


def pip_installs(choice: Choice, options: ImageOptions, mirrors: Mirrors, base: Base) -> tuple[PipInstall, ...]:
    """The pip calls of the plan's packages, then those of the user's own.

    A base with CUDA libraries provides those that frameworks load without requiring them, NCCL among them.
    """
    cudnn = None if base.has_cudnn else _cudnn_package(choice)
    calls = pip_calls(choice, mirrors, with_libraries=not base.has_cuda, also=[cudnn] if cudnn else [])
    return (*calls, *_own(options, choice, mirrors))


def _cudnn_package(choice: Choice) -> str | None:
    """The package of the plan's system cuDNN where no archive with a checksum provides it."""
    row = choice.cudnn if choice.needs_toolkit else None
    return row.pip_package if row is not None and archive_of(row) is None else None


def _own(options: ImageOptions, choice: Choice, mirrors: Mirrors) -> tuple[PipInstall, ...]:
    lines = list(options.pip)
    if options.jupyter:
        python = choice.python or (choice.os.default_python if choice.os else None)
        jupyter = data.jupyterlab(python)
        if jupyter is None:
            raise EnvkitError(f"--jupyter: no JupyterLab runs on Python {python}.", "Omit --jupyter.")
        lines.append(jupyter)
    if options.project.lines and lines:
        lines = [*framework_pins(choice), *lines]
    return (PipInstall(tuple(lines), index_url=mirrors.index_url),) if lines else ()


def framework_pins(choice: Choice) -> tuple[str, ...]:
    """The installed packages of the frameworks: named again, pip keeps to what they require of other packages."""
    return tuple(build.package for build in choice.builds if build.package and installed_by_pip(build, choice))


def _once(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(lines))


def require_ways(plan: Plan, matrix: Matrix) -> None:
    """Raises EnvkitError for a build that neither an index nor a source recipe gives, with a way that there is."""
    for build in plan.choice.builds:
        if installed_by_pip(build, plan.choice) or data.source_steps(build):
            continue
        framework = matrix.framework(build.framework)
        cuda = f" with CUDA {build.cuda}" if build.cuda else ""
        others = {row.cuda for row in read(SourceStep) if row.framework == build.framework and row.cuda}
        if others:
            told = ", ".join(sorted(others))
            way = f"There is one for CUDA {told}: add --cuda."
        elif has_official(build, plan.request, matrix):
            way = "Try its own image: --from official."
        else:
            way = f"{framework.note} " if framework and framework.note else ""
            way += f"envkit matrix {build.framework} shows what is known to envkit."
        raise EnvkitError(f"There is no package and no recipe for {build.named}{cuda}.", way)


def system_packages(choice: Choice, system: OperatingSystem) -> tuple[str, ...]:
    """The distribution packages that the frameworks load. Raises EnvkitError where the distribution has not all."""
    missing = lacking(choice, system)
    if missing:
        having = sorted({os_id for row in read(PackageSet) if row.purpose == missing for os_id in row.os_ids})
        names = ", ".join(build.framework for build in choice.builds)
        way = f"Choose --os {having[0]}." if having else "Choose another --os."
        raise EnvkitError(f"{names} loads {missing}, and envkit knows no {system.os_id} package for that.", way)
    version = str(choice.python or "")
    wanted = _once(purposes(choice))
    return tuple(name for purpose in wanted for name in data.packages(purpose, system, version=version))


def needs_driver(choice: Choice) -> bool:
    """True when importing one of the frameworks already loads the driver's library."""
    return any(needed.driver for needed in (data.need(build) for build in choice.builds) if needed)


def needs_headers(choice: Choice) -> bool:
    """True when a framework compiles with the headers of the system's CUDA while it runs."""
    needs = (data.need(build) for build in choice.builds if not build.bundles_cuda and not build.cpu_only)
    return choice.needs_toolkit and any(needed.headers for needed in needs if needed)


def loader_calls(choice: Choice) -> tuple[str, ...]:
    """The calls that frameworks need where the loader was not told about the libraries that came as wheels."""
    needs = (data.need(build) for build in choice.builds if build.bundles_cuda and build.package)
    return tuple(needed.loader for needed in needs if needed and needed.loader)


def wheel_libraries(installs: Iterable[PipInstall], choice: Choice) -> bool:
    """True when libraries that the frameworks take from the system come as wheels, so the loader must be told."""
    if loader_calls(choice):
        return True
    system = {line for build in choice.builds for needed in [data.need(build)] if needed for line in needed.pip}
    cudnn = _cudnn_package(choice)
    if cudnn:
        system.add(cudnn)
    return any(line in system for install in installs for line in install.requirements)
