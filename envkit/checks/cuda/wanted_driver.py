"""The driver that a program asks for, against the one that is there."""

from __future__ import annotations

from collections.abc import Iterable

from envkit.base.versions import Version
from envkit.checks.engine.messages import complained, seen
from envkit.checks.nvidia_driver.driver_state import cuda_works, installed
from envkit.model import Environment, Message

_ID = "driver-too-old-for-runtime"
_WANTED = f"{_ID}/told-wants-driver"  # tells what is needed, which is a fault only where the driver is older
_NAMES = ("driver", "driver_2", "driver_3", "driver_4", "driver_5")


def too_old_messages(environment: Environment) -> tuple[Message, ...]:
    """The messages that say that the driver is too old, and those that name a newer one than is there."""
    wanted = wanted_driver(environment)
    return tuple(
        message
        for message in seen(environment, _ID)
        if message.signature != _WANTED or (wanted is not None and _named(message) == wanted)
    )


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
