"""Whether an environment marker of a requirement holds inside an image, or on another target."""

from __future__ import annotations

from envkit.base import requirements
from envkit.base.versions import Version

# What the machine that builds says of itself.
_OF_THE_HOST = ("platform_release", "platform_version", "implementation_version")
_OF_PYTHON = ("python_version", "python_full_version")


_SYSTEMS = {"linux": ("Linux", "linux", "posix"), "windows": ("Windows", "win32", "nt")}


def holds(
    marker: str, python: Version | None, architecture: str, platform: str = "linux", extra: str = ""
) -> bool | None:
    """Whether the marker holds with that CPython on a platform; None where that cannot be told."""
    if not marker:
        return True
    if any(name in marker for name in _OF_THE_HOST):
        return None
    if python is None and any(name in marker for name in _OF_PYTHON):
        return None
    system, name, kind = _SYSTEMS[platform]
    environment = {
        "platform_system": system,
        "sys_platform": name,
        "os_name": kind,
        "platform_machine": "AMD64" if platform == "windows" else architecture,
        "platform_python_implementation": "CPython",
        "implementation_name": "cpython",
        "extra": extra,
    }
    if python is not None:
        environment |= {"python_version": str(python.release(2)), "python_full_version": str(python.release(3))}
    return requirements.holds(requirements.marker(marker), environment)
