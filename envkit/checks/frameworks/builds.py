"""The build that would serve this machine in place of the installed one, and the commands that bring it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from envkit.base.versions import ComputeCapability, Version
from envkit.checks.engine.ask import resolve_command
from envkit.checks.engine.command import NAME, PATH, REQUIREMENT, URL, Command, Word, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.frameworks.installs import Installed, distribution, for_this_machine, pip, release
from envkit.checks.nvidia_driver.driver_state import driver_platform, installed
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix
    from envkit.tables.rows import FrameworkBuild

# What conda keeps beside the framework's own package: companions, and what chooses the CPU or the CUDA build.
_CONDA_NAMES = {"torch": "pytorch"}  # pip's name of a framework whose package has another name in conda
_CONDA_TOO = ("torchvision", "torchaudio", "cpuonly", "pytorch-cuda", "tensorflow-base")


def better_build(
    environment: Environment, matrix: Matrix, found: Installed, capabilities: tuple[ComputeCapability, ...]
) -> FrameworkBuild | None:
    """The build nearest to the installed one that runs on these GPUs, this driver and this Python; None if none.

    The same release for another CUDA is nearest, then what the driver runs natively, then the newest release.
    """
    from envkit.compat import code_match, driver_runs_cuda, python_has_wheel
    from envkit.compat.verdict import DriverVerdict

    if matrix.framework(found.framework.name) is None:
        return None
    driver, platform = installed(environment), driver_platform(environment)
    current = release(found.framework.version)

    def fits(row: FrameworkBuild) -> bool:
        if row.cuda is None or row.package is None or row.cpu_only or row.yanked:
            return False
        if not for_this_machine(environment, row):
            return False
        if any(
            code_match(gpu, row.sass, row.ptx, row.min_compute_capability).value in ("none", "unknown")
            for gpu in capabilities
        ):
            return False
        python = found.python.version
        if python is not None and python_has_wheel(row, python.release(2)).status == "fail":
            return False
        verdict = driver_runs_cuda(driver, row.cuda, matrix, platform=platform).status if driver is not None else ""
        return verdict != DriverVerdict.INCOMPATIBLE.value

    def order(row: FrameworkBuild) -> tuple[bool, bool, Version, Version]:
        cuda = row.cuda or Version.of(0)
        verdict = driver_runs_cuda(driver, cuda, matrix, platform=platform).status if driver is not None else ""
        return row.version == current, verdict in ("", DriverVerdict.NATIVE.value), row.version, cuda

    return max((row for row in matrix.builds(found.framework.name) if fits(row)), key=order, default=None)


def install_build(
    environment: Environment, matrix: Matrix, found: Installed, build: FrameworkBuild | None, why: str
) -> Remedy:
    """The remedy that replaces an installation by `build`; without one, what to ask `envkit resolve`."""
    if build is None:
        ask = resolve_command(environment, matrix, framework=found.framework.name)
        return Remedy(f"{why} No build in envkit's tables fits this machine as it is; ask what would.", (ask,))
    packages = [REQUIREMENT(each) for each in (build.package, *build.companions)]
    return Remedy(
        f"{why} {build.framework} {build.version} for CUDA {build.cuda} fits this machine.",
        (_removal(found), pip(found.python, "install", *packages, *index_words(build))),
    )


def index_words(build: FrameworkBuild) -> tuple[Word, ...]:
    """The options of pip that name where a build is found; none for one on the Python package index."""
    if build.index_url:
        return "--index-url", URL(build.index_url)
    return ("-f", URL(build.find_links)) if build.find_links else ()


def _removal(found: Installed) -> Command:
    """The command that removes what is installed, by the installer that owns it: pip leaves conda's files alone."""
    name = re.split(r"[\[=<>~! ]", found.framework.package, maxsplit=1)[0]
    by_conda = {item.name for item in found.python.distributions if item.installer == "conda"}
    if distribution(found.python, name) is None and _CONDA_NAMES.get(name) in by_conda:
        name = _CONDA_NAMES[name]
    if name in by_conda:
        prefix = found.python.prefix
        place = ("-p", PATH(prefix)) if prefix else ()  # without one conda takes the environment it is in
        return run("conda", "remove", "-y", *place, NAME(name), *(also for also in _CONDA_TOO if also in by_conda))
    return pip(found.python, "uninstall", "-y", NAME(name))
