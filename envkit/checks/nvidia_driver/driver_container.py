"""What the GPU operator's driver container says: it builds the module itself, without DKMS."""

from __future__ import annotations

from envkit.checks.engine.managers import managers
from envkit.checks.engine.messages import named, seen
from envkit.model import Environment

_HEADERS = "kernel-headers-missing"


def title_in_container(environment: Environment) -> str:
    """The title where the GPU operator's driver container, which has no DKMS, builds the module; '' elsewhere."""
    messages = seen(environment, _HEADERS)
    in_container = any(message.signature == f"{_HEADERS}/driver-container" for message in messages)
    if not in_container and "gpu-operator" not in managers(environment):
        return ""
    kernel = named(messages, "kernel") or environment.system.kernel.value
    return f"The driver container finds no headers for the node's kernel{f' ({kernel})' if kernel else ''}"
