"""What a toolkit that a remedy installs needs of the driver that is there."""

from __future__ import annotations

from collections.abc import Iterator

from envkit.base.versions import Version
from envkit.checks.engine.findings import Remedy
from envkit.checks.nvidia_driver.driver_state import driver_platform, installed
from envkit.model import Environment
from envkit.tables.loader import read
from envkit.tables.rows import DriverBranch, Toolkit

_TOOLKIT = ("envkit", "install", "--cuda")


def words_on_driver(environment: Environment, given: Remedy) -> Iterator[str]:
    """A toolkit of another major release than the driver runs compiles programs that do not start here."""
    named = (Version.find(step.words[3]) for step in given.steps if step.words[:3] == _TOOLKIT)
    newest = max((version for version in named if version is not None), default=None)
    driver = installed(environment) if newest is not None else None
    if newest is None or driver is None:
        return
    own = next((row.driver_cuda_version for row in read(DriverBranch) if row.branch == driver.major), None)
    if own is not None and newest.major > own.major:
        told = f"Programs compiled with CUDA {newest} do not run on driver {driver} (CUDA {own})"
        yield f"{told}: update the driver as well."
        return
    needs = _lowest(newest)
    if needs is not None and driver < needs and driver_platform(environment) == "linux":
        yield (
            f"CUDA {newest} needs driver {needs} or newer, and this is {driver}: add --with-driver to the first "
            "command, which then installs a newer one, and reboot afterward."
        )


def _lowest(wanted: Version) -> Version | None:
    """The oldest driver on which anything runs that this toolkit compiles."""
    rows = [row for row in read(Toolkit) if row.version.release(len(wanted.parts)) == wanted]
    floors = [row.minor_compatibility_driver or row.minimum_driver for row in rows]
    return min((floor for floor in floors if floor is not None), default=None)
