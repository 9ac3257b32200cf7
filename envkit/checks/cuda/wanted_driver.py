"""The driver that a program asks for, against the one that is there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from envkit.base.versions import Version
from envkit.checks.engine.messages import complained, seen
from envkit.checks.nvidia_driver.driver_state import cuda_works, driver_platform, installed
from envkit.model import Environment, Message

if TYPE_CHECKING:
    from envkit.tables import Matrix

_ID = "driver-too-old-for-runtime"
_WANTED = f"{_ID}/told-wants-driver"  # tells what is needed, which is a fault only where the driver is older
_NEEDS = f"{_ID}/told-needs-cuda"  # the same for a CUDA version
_NAMES = ("driver", "driver_2", "driver_3", "driver_4", "driver_5")

OLD_FOR_VIDEO = "The NVIDIA driver is too old for the program's video encoder (NVENC)"
KEEP_FOR_VIDEO = (
    "To keep the driver, use the last release or image of the program that worked with it: newer ones were built with "
    "headers for a newer NVENC API (nv-codec-headers)."
)


def of_a_package(messages: tuple[Message, ...]) -> bool:
    """True where the driver lacks a function that something other than the framework calls."""
    return all(message.values.get("symbol") and "libtorch" not in message.text for message in messages)


def too_old_messages(environment: Environment, matrix: Matrix) -> tuple[Message, ...]:
    """The messages that say that the driver is too old, and those that name a newer one, or a CUDA that it lacks."""
    wanted = wanted_driver(environment)
    return tuple(
        message
        for message in seen(environment, _ID)
        if message.signature not in (_WANTED, _NEEDS)
        or (message.signature == _WANTED and wanted is not None and _named(message) == wanted)
        or (message.signature == _NEEDS and _beyond(environment, matrix, message))
    )


def _beyond(environment: Environment, matrix: Matrix, message: Message) -> bool:
    """Whether something fails, and the driver there runs no program of the CUDA version that the message names."""
    from envkit.compat.driver import driver_floors

    own, cuda = installed(environment), Version.find(message.values.get("cuda", ""))
    if own is None or cuda is None or cuda_works(environment):
        return False
    if not (complained(environment) or seen(environment, "framework-sees-no-gpu")):
        return False
    lowest = driver_floors(cuda, matrix, driver_platform(environment)).lowest
    return lowest is not None and own < lowest


def wanted_driver(environment: Environment) -> Version | None:
    """The newest driver that the text says is needed, where something fails and the driver there is older."""
    own = installed(environment)
    if own is None or cuda_works(environment) or not complained(environment):
        return None
    newest = max(_all(seen(environment, _ID, _WANTED.rpartition("/")[2])), default=None)
    return newest if newest is not None and own < newest else None


def _all(messages: Iterable[Message]) -> Iterable[Version]:
    return (version for message in messages if (version := _named(message)) is not None)


def _named(message: Message) -> Version | None:
    return next((Version.find(message.values[name]) for name in _NAMES if message.values.get(name)), None)
