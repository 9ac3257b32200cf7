"""Libraries of a driver that was installed before, which no package has: they are removed, and the links made anew."""

from __future__ import annotations

from envkit.base.versions import Version
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.loader_path import folder_of
from envkit.checks.engine.managers import managers
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.remedies import remedy, steps
from envkit.model import Environment

_ID = "driver-library-mismatch"


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
    lines = seen(environment, _ID, "detail-package")
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


def of_older_drivers(environment: Environment) -> Remedy | None:
    """Without the files of older drivers where a listing shows them next to those of the loaded module."""
    listed = {message.values["version"] for message in seen(environment, _ID, "detail-old-file")}
    module = environment.driver.kernel_module.value
    folder = named(seen(environment, _ID, "detail-folder"), "folder")
    if module is None or folder is None or str(module) not in listed or len(listed) == 1:
        return None
    stale = sorted(listed - {str(module)})
    given = [steps(environment, "drop-stale-libraries", root=folder, stale=version) for version in stale]
    removed, after = tuple(each[0] for each in given if each), given[0][1:]
    return Remedy(
        f"The loaded module is {module}. Libraries of older drivers ({', '.join(stale)}) are in {folder} as well, and "
        "ldconfig, which apt runs after each installation, pointed libcuda.so.1 and libnvidia-ml.so.1 to one of "
        "them. Remove the older files that no package owns, and recreate the links (for a container, inside it, not "
        "on the host, which needs no change). Do this where the files of the loaded version are not empty; the last "
        "command must show that version.",
        (*removed, *after),
    )


def of_other_branch(environment: Environment) -> Remedy | None:
    """The way to find libraries of another branch, which a program's package required."""
    if not seen(environment, _ID, "detail-nvtop") or environment.driver.kernel_module.known:
        return None
    return remedy(
        environment,
        "The package of nvtop depends on the driver's libraries: apt may have added those of another branch than your "
        "driver's (libnvidia-compute-NNN). If the first command lists packages of two branches, remove those that are "
        "not of the branch of nvidia-driver-NNN (sudo apt-get purge libnvidia-compute-NNN), install the driver's own "
        "again (sudo apt-get install --reinstall nvidia-driver-NNN), and reboot; nvtop from snap (sudo snap install "
        "nvtop) requires no driver package. If it lists one branch, the module has not been reloaded since an update: "
        "a reboot is enough. nvidia-smi must then work.",
        "driver-branches",
        "reboot",
    )
