"""Asks the Docker engine through its SDK, and prints as JSON what matters of its answers:

    {"url": "unix:///var/run/docker.sock", "version": {"Version": "26.1.0", "ApiVersion": "1.45"},
     "info": {"Runtimes": ["nvidia", "runc"], "DefaultRuntime": "runc", "CDISpecDirs": ["/etc/cdi"], …}}

or `{"url": …, "error": "…"}` when the engine does not answer.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping
from typing import Any

from envkit.facts import Observed, Problem, found, missing

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


def nearest_socket(variables: Mapping[str, str]) -> Observed[str]:
    """The URL of the engine that a client would use: DOCKER_HOST, else the first socket that is there."""
    chosen = variables.get("DOCKER_HOST")
    if chosen:
        return found(chosen, "DOCKER_HOST")
    runtime = variables.get("XDG_RUNTIME_DIR", f"/run/user/{os.geteuid()}")
    home = variables.get("HOME", "")
    paths = ["/var/run/docker.sock", f"{runtime}/docker.sock", f"{home}/.docker/desktop/docker.sock"]
    for path in paths:
        try:
            if not stat.S_ISSOCK(os.stat(path).st_mode):
                continue
        except OSError:
            continue
        if not os.access(path, os.R_OK | os.W_OK):
            return missing(Problem.DENIED, path, "this user may not use the engine's socket")
        return found(f"unix://{path}", path)
    return missing(Problem.ABSENT, paths[0], "no engine socket")


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
