"""Which Docker engine a client would talk to; apart from its child, which starts sooner without these imports."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping

from envkit.model import Observed, Problem, found, missing


def nearest_socket(variables: Mapping[str, str]) -> Observed[str]:
    """The URL of the engine that a client would use: DOCKER_HOST, otherwise the first socket that is there."""
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
            return missing(Problem.DENIED, path, "this user is not allowed to use the engine's socket")
        return found(f"unix://{path}", path)
    return missing(Problem.ABSENT, paths[0], "no engine socket")
