"""What kind of kernel a system runs: its metapackages are named after that."""

from __future__ import annotations

from envkit._startup.regex import regex
from envkit.model import Environment

_DEBIAN_KERNEL = regex(r"\d{1,2}\.\d{1,3}\.\d{1,3}-\d{1,3}-(?P<flavor>[a-z0-9-]{3,40})")


def debian_flavor(environment: Environment) -> str:
    """How Debian calls this kind of kernel, `cloud-amd64` of 5.10.0-25-cloud-amd64; '' elsewhere."""
    release = environment.system.os.value
    match = _DEBIAN_KERNEL.fullmatch(environment.system.kernel.value or "")
    return match["flavor"] if match and release is not None and release.id == "debian" else ""
