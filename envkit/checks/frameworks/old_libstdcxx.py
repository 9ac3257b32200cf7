"""Where no update of a distribution's libstdc++ brings the symbols that a package needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.base.versions import Version
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import said
from envkit.checks.engine.remedies import remedy
from envkit.model import Environment
from envkit.tables.codes import LibstdcxxSymbols
from envkit.tables.loader import read

if TYPE_CHECKING:
    from envkit.tables import Matrix

_SYMBOLS = "GLIBCXX_"


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
