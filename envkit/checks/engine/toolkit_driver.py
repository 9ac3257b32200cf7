"""What a toolkit that a remedy installs needs of the driver that is there."""

from __future__ import annotations

from collections.abc import Iterator

from envkit.base.versions import Version
from envkit.checks.engine.findings import Remedy
from envkit.checks.nvidia_driver.driver_state import driver_platform, installed
from envkit.compat.driver import driver_floors, reported_cuda
from envkit.model import Environment
from envkit.tables import Matrix

_TOOLKIT = ("envkit", "install", "--cuda")


def words_on_driver(environment: Environment, given: Remedy) -> Iterator[str]:
    """A toolkit of another major release than the driver runs compiles programs that do not start here."""
    named = (Version.find(step.words[3]) for step in given.steps if step.words[:3] == _TOOLKIT)
    newest = max((version for version in named if version is not None), default=None)
    driver = installed(environment) if newest is not None else None
    if newest is None or driver is None:
        return
    own = reported_cuda(driver, Matrix.load(), driver_platform(environment))
    if own is not None and newest.major > own.major:
        told = f"Programs compiled with CUDA {newest} do not run on driver {driver} (CUDA {own})"
        yield f"{told}: update the driver as well."
        return
    needs = driver_floors(newest, Matrix.load()).lowest
    if needs is not None and driver < needs and driver_platform(environment) == "linux":
        yield (
            f"CUDA {newest} needs driver {needs} or newer, and this is {driver}: add --with-driver to the first "
            "command, which then installs a newer one, and reboot afterward."
        )
