"""Where no update of a distribution's libstdc++ brings the symbols that a package needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.loader_path import folder_of, library_path, without_folders
from envkit.checks.engine.messages import number_named, said, seen
from envkit.checks.engine.remedies import remedy
from envkit.model import Environment
from envkit.tables.codes import LibstdcxxSymbols
from envkit.tables.loader import read

if TYPE_CHECKING:
    from envkit.tables import Matrix

_SYMBOLS = "GLIBCXX_"
_LOADED = regex(r"^.{0,200}?(?P<path>/[\w./-]{1,200}/libstdc\+\+\.so\.6): version .{0,2000}$")


def beyond_the_archive(environment: Environment, matrix: Matrix) -> Remedy | None:
    """conda's libstdc++ where the missing symbols came with a newer GCC than the distribution has a library of."""
    told = Version.find(said(environment, "libstdcxx-too-old").partition(_SYMBOLS)[2])
    needed = next((row.gcc for row in read(LibstdcxxSymbols) if row.symbols == told), None)
    system = environment.system.os.value
    row = matrix.operating_system(system.os_id) if system is not None else None
    if system is None or row is None or row.default_gcc is None or needed is None:
        return None
    newest = max((row.default_gcc, *(row.installable_gcc if row.package_manager == "apt" else ())))
    if newest.major >= needed.major:
        return None
    archive = (
        " Without conda: Ubuntu's PPA ubuntu-toolchain-r/test has newer releases of libstdc++6, which then serve every "
        "program of the machine; try it on a machine that you can set up again."
        if system.os_id.startswith("ubuntu")
        else ""
    )
    return remedy(
        environment,
        f"No update provides {_SYMBOLS}{told} on this system: it came with GCC {needed}, and the distribution's newest "
        f"libstdc++ is from GCC {newest.major}. Run the program in a conda environment with its own libstdc++ (the "
        f"commands are for an active one), or in a container of a newer release. The second command applies to this "
        f"shell only.{archive}",
        "conda-libstdcxx-here",
    )


def of_conda(environment: Environment, root: str) -> Remedy:
    """A newer one for the environment, or its link again where it has one and the system's is loaded all the same."""
    folder = folder_of(_LOADED.sub(r"\g<path>", said(environment, "libstdcxx-too-old")))
    if folder and folder in library_path(environment):
        return without_folders(
            environment,
            f"LD_LIBRARY_PATH names {folder}, the system's own directory, which the loader searches anyway: from "
            "there, it takes the system's libstdc++ before the environment's newer one. Take it out; nothing has to be "
            "installed. If the symbol is still missing then, update the environment's copy: conda install -p "
            f"{root} -c conda-forge libstdcxx-ng.",
            (folder,),
            folder,
        )
    own = number_named(seen(environment, "libstdcxx-too-old", "detail-in-conda"), "version")
    told = Version.find(said(environment, "libstdcxx-too-old").partition(_SYMBOLS)[2])
    needed = next((row.gcc for row in read(LibstdcxxSymbols) if row.symbols == told), None)
    if own is None or needed is None or own < needed.major:
        advice = "Update libstdc++ in the conda environment, because that copy is loaded before the system's."
        return remedy(environment, advice, "conda-libstdcxx", root=root)
    return remedy(
        environment,
        f"The conda environment has a libstdc++ that is new enough ({own}), but the loader does not find it under its "
        "name, libstdc++.so.6, and takes the system's: the link of that name is missing or damaged. Install the "
        "package again, which creates it (an ordinary conda install would find nothing to do). The second command "
        "shows the link.",
        "conda-libstdcxx-again",
        root=root,
    )
