"""Libraries of a driver that was installed before, which no package has: they are removed, and the links made anew."""

from __future__ import annotations

from envkit.base.versions import Version
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.loader_path import folder_of
from envkit.checks.engine.managers import managers
from envkit.checks.engine.messages import named, seen
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


def without_package(environment: Environment) -> Remedy | None:
    """Without the package of libraries that came over NVIDIA's installer, which then puts its own files back."""
    lines = seen(environment, "driver-library-mismatch", "detail-package")
    package, branch = named(lines, "package"), named(lines, "branch")
    files = environment.driver.libraries.get() if environment.driver.libraries.known else ()
    others = (file.version for file in files if file.version is not None and str(file.version.major) != branch)
    module = environment.driver.kernel_module.value or next(others, None)
    if "runfile" not in managers(environment) or package is None or module is None or branch == str(module.major):
        return None
    return remedy(
        environment,
        f"The loaded module is {module}, from NVIDIA's .run installer; {package}, which apt installed as a requirement "
        f"of another package, put the libraries of branch {branch} in their place. Remove it (the package that "
        "required it is removed, too: install that in a different way, such as from source or as a snap), and run the "
        "same .run file again, which puts its own libraries back; no reboot is needed. Alternatively, run sudo "
        "nvidia-uninstall, and install the driver package of that branch.",
        "purge-package",
        "runfile-again",
        name=package,
        version=module,
    )
