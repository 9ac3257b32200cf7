"""Whether a target that nvcc or nvrtc refuses is too new for it or too old: the words of both are the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.base.versions import ComputeCapability, Version
from envkit.checks.cuda.toolkit import build_nvcc, toolkits
from envkit.checks.engine.command import fixed
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import named, seen
from envkit.checks.frameworks.installs import capable_gpus
from envkit.checks.nvidia_driver.driver_state import driver_platform, installed
from envkit.model import Environment
from envkit.tables.codes import limit

if TYPE_CHECKING:
    from envkit.tables import Matrix

DROPPED = "toolkit-dropped-arch"
_TARGET = regex(r"(\d{1,2})(\d)")


def refused_target(environment: Environment, check_id: str) -> str:
    """The target that the messages of a check name, as `70`; '' where they name none."""
    return (named(seen(environment, check_id), "arch") or "").replace(".", "")


def capability_of_target(target: str) -> ComputeCapability | None:
    """The compute capability of a target such as `70`, None for a word that is none."""
    number = _TARGET.match(target)
    return ComputeCapability(int(number[1]), int(number[2])) if number else None


def in_place_of_native(environment: Environment, matrix: Matrix) -> Remedy | None:
    """What to write where an nvcc does not know `native`, but the target of the GPUs; None for any other refusal."""
    from envkit.compat.gpu import target_span

    owns = sorted({own for _, own in capable_gpus(environment, matrix)})
    place = build_nvcc(environment)
    if not owns or not seen(environment, "nvcc-too-old-for-gpu", "native"):
        return None
    firsts = [target_span(own, matrix)[0] for own in owns]
    if place is not None and any(first is None or first > place[0] for first in firsts):
        return None
    targets = " and ".join(own.sm for own in owns)
    return Remedy(
        f"nvcc supports the value native only as of CUDA {limit('nvcc-with-native')}; it does support this GPU's own "
        f"target, {targets}. Replace native with that (-arch={owns[0].sm}; the command lists the places), or "
        f"pass -DCMAKE_CUDA_ARCHITECTURES={owns[0].number} to CMake, and build again in a fresh directory. Or "
        "build with a newer toolkit; several can be installed side by side.",
        (fixed("grep -rn native Makefile CMakeLists.txt"),),
    )


def not_yet(environment: Environment, matrix: Matrix) -> str:
    """The target that nvcc refused because it is too old for it; '' where it may have dropped it.

    The same words describe both. Only a toolkit later than the last one with this target has dropped it.
    """
    from envkit.compat.gpu import target_span

    target = refused_target(environment, DROPPED)
    own, newest = capability_of_target(target), newest_possible(environment, matrix)
    last = target_span(own, matrix)[1] if own is not None else None
    return target if newest is not None and last is not None and newest.release(2) <= last else ""


def newest_possible(environment: Environment, matrix: Matrix) -> Version | None:
    """The toolkit that a build uses, otherwise the newest one that the text names, that is for the system, or that the
    driver runs.
    """
    from envkit.compat.driver import branch_of

    if place := build_nvcc(environment):
        return place[0]
    if told := [toolkit.version for toolkit in toolkits(environment)]:
        return max(told)
    if image := Version.find(named(seen(environment, "nvcc-too-old-for-gpu", "detail-image"), "cuda") or ""):
        return image
    if newest := _newest_for_system(environment, matrix):
        return newest
    if environment.driver.driver_cuda_version.known:
        return environment.driver.driver_cuda_version.get()
    driver = installed(environment)
    branch = branch_of(driver, matrix, driver_platform(environment)) if driver is not None else None
    return branch.driver_cuda_version if branch is not None else None


def _newest_for_system(environment: Environment, matrix: Matrix) -> Version | None:
    """The last toolkit made for this release of a distribution; None for one that may yet get newer ones."""
    system = environment.system.os.value
    made = [row for row in matrix.toolkits if system is not None and system.os_id in (row.os_ids or ())]
    newest = max((row.version for row in made), default=None)
    return newest if newest is not None and newest < _newest(matrix) else None


def _newest(matrix: Matrix) -> Version:
    return max(row.version for row in matrix.toolkits)


def no_longer(environment: Environment, matrix: Matrix) -> str:
    """The target that nvrtc refused because its release has dropped it; '' where it is too old for it, or is not asked.

    Where no toolkit is named, a GPU that the newest one has left behind was dropped.
    """
    from envkit.compat.gpu import target_span

    if not (said := seen(environment, "nvcc-too-old-for-gpu", "nvrtc")):
        return ""
    asked = capability_of_target(named(said, "arch") or "")
    owns = [asked] if asked is not None else [own for _, own in capable_gpus(environment, matrix)]
    newest = newest_possible(environment, matrix) or _newest(matrix)
    lasts = [(last, own) for own in owns if (last := target_span(own, matrix)[1]) is not None]
    left = [own for last, own in lasts if last < newest.release(2)]
    return f"{left[0].major}{left[0].minor}" if left and len(left) == len(owns) else ""
