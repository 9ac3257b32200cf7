"""How a folder leaves LD_LIBRARY_PATH: that folder alone, as other programs may need the others."""

from __future__ import annotations

from collections.abc import Collection

from envkit.checks.engine.command import PATH, Command, export, fixed
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import managers
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.remedies import steps
from envkit.model import Environment, MachineKind

_MODULES = (
    "The cluster's environment modules set it: unload them (module list shows their names); in a job script, do so "
    "after the module load lines."
)
FOR_GOOD = (
    "The command applies to this shell; for new shells, also change the line that sets the variable (grep -n "
    "LD_LIBRARY_PATH ~/.bashrc ~/.profile)."
)
_IN_IMAGE = (
    "The command applies to this shell in the container. To make the change permanent, edit the ENV LD_LIBRARY_PATH "
    "line in the Dockerfile and rebuild the image, or change the variable where the container is started."
)


def library_path(environment: Environment) -> tuple[str, ...]:
    """The folders of LD_LIBRARY_PATH, as far as it is known."""
    variables = environment.variables.get() if environment.variables.known else {}
    return tuple(folder.rstrip("/") for folder in variables.get("LD_LIBRARY_PATH", "").split(":") if folder)


def folder_of(path: str) -> str:
    """The folder of a file."""
    return path.rpartition("/")[0]


def told_folders(environment: Environment, soname: str) -> tuple[str, ...]:
    """The folder from which the loader took the library, as its own words (LD_DEBUG=libs) tell; none for others."""
    told = named(seen(environment, "nvjitlink-symbol", "detail-loaded-from"), "folder") if soname else None
    return (told,) if told and "site-packages" not in told else ()


def without_folders(environment: Environment, advice: str, guilty: Collection[str], sign: str) -> Remedy:
    """The remedy that takes the `guilty` folders out of LD_LIBRARY_PATH.

    Where its value or they are not known: those that have `sign` in their path.
    """
    if sign == "cuda" and "modules" in managers(environment):
        return Remedy(f"{advice} {_MODULES}", (fixed("module unload cuda cudnn nccl"),))
    inside = environment.system.machine_kind.value is MachineKind.CONTAINER
    lasting = _IN_IMAGE if inside else FOR_GOOD
    return Remedy(f"{advice} {lasting}", dropping(environment, guilty, sign))


def dropping(environment: Environment, guilty: Collection[str], sign: str) -> tuple[Command, ...]:
    """The commands of that remedy, for this shell."""
    folders = library_path(environment)
    left = [folder for folder in folders if folder not in guilty]
    if folders and len(left) == len(folders):
        left = [folder for folder in folders if sign not in folder]
    if not folders or len(left) == len(folders):
        apart = [folder for folder in guilty if folder and sign not in folder]
        if len(apart) == 1:
            return steps(environment, "drop-folder", root=apart[0])
        return () if folders else steps(environment, "drop-folders", sign=sign)
    return (export("LD_LIBRARY_PATH", PATH(":".join(left))) if left else fixed("unset LD_LIBRARY_PATH"),)
