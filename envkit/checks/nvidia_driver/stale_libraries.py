"""Libraries of a driver that was installed before, which no package has: they are removed, and the links made anew."""

from __future__ import annotations

from envkit.base.versions import Version
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.loader_path import folder_of
from envkit.checks.engine.remedies import remedy
from envkit.model import Environment


def without_stale(environment: Environment, versions: dict[str, str]) -> Remedy | None:
    """Without what is not of the loaded module's release; None where a package has it.

    `versions` are those of the libraries, each with one file that has it.
    """
    module = environment.driver.kernel_module.value
    stale = [version for version in versions if Version.find(version) != module]
    if module is None or len(stale) != 1 or len(stale) == len(versions):
        return None
    if any(stale[0] in package.version for package in environment.packages.value or ()):
        return None
    return remedy(
        environment,
        f"The files of {stale[0]} are left over from an earlier driver: the loaded module is {module}, but the links "
        f"that programs follow (libcuda.so.1, libnvidia-ml.so.1) can still point to {stale[0]}. The first command "
        "removes those files that no package owns, the second re-creates the links, and the last shows them. No "
        "reboot is needed.",
        "drop-stale-libraries",
        root=folder_of(versions[stale[0]]),
        stale=stale[0],
    )
