"""Asks the Docker engine through its SDK, and prints as JSON what matters of its answers:

    {"url": "unix:///var/run/docker.sock", "version": {"Version": "26.1.0", "ApiVersion": "1.45"},
     "info": {"Runtimes": ["nvidia", "runc"], "DefaultRuntime": "runc", "CDISpecDirs": ["/etc/cdi"], …}}

or `{"url": …, "error": "…"}` when the engine does not answer.
"""

from __future__ import annotations

import sys
from typing import Any

_INFO = (
    "DefaultRuntime",
    "CDISpecDirs",
    "DiscoveredDevices",
    "SecurityOptions",
    "OperatingSystem",
    "CgroupDriver",
    "CgroupVersion",
    "DockerRootDir",
    "Driver",
)
_TIMEOUT_S = 4


def main() -> None:
    """Print the answer of the engine whose URL is the last argument."""
    from envkit.host.child_output import answer_with

    answer_with(lambda: _ask(sys.argv[-1]))


def _ask(url: str) -> dict[str, Any]:
    import docker
    from docker.errors import DockerException

    try:
        client = docker.DockerClient(base_url=url, timeout=_TIMEOUT_S)
        version, info = client.version(), client.info()
    except (DockerException, OSError, ValueError) as error:
        return {"url": url, "error": str(error)}
    kept = {name: info[name] for name in _INFO if name in info}
    kept["Runtimes"] = sorted(info.get("Runtimes") or {})
    wanted = ("Version", "ApiVersion", "Os", "Arch")
    return {"url": url, "version": {name: version[name] for name in wanted if name in version}, "info": kept}
