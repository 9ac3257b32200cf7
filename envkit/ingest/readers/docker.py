"""`docker info`, `docker version`, `nvidia-ctk --version`, daemon.json and CDI's list: the container engine.

Server Version: 27.3.1
Cgroup Driver: systemd
Runtimes: io.containerd.runc.v2 nvidia runc
Default Runtime: runc
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.ingest.clues import Clue, Fact, reader
from envkit.ingest.text import Text
from envkit.model import DockerEngine

_INFO = regex(
    r"^ {0,8}(?P<key>Server Version|Runtimes|Default Runtime|Operating System|Cgroup Driver|Docker Root Dir"
    r"|CDI spec directories|rootless|Context): ?(?P<value>[^\n]{0,200})$|^ {1,8}(?P<flag>rootless)$",
    re.MULTILINE,
)
_CLIENT = regex(r"^Docker version (?P<version>\d{1,9}\.\d{1,9}(?:\.\d{1,9})?)", re.MULTILINE)
_KEYS = ("Server Version", "Runtime", "Operating System", "Cgroup Driver", "Root Dir", "CDI", "rootless", "Context")
_TOOLKIT = regex(
    r"(?:NVIDIA Container Toolkit CLI version|NVIDIA Container Runtime Hook version"
    r"|nvidia-container-toolkit version) (?P<version>\d{1,9}\.\d{1,9}\.\d{1,9})"
)
_PODMAN = regex(r"^podman version (?P<version>\d{1,9}\.\d{1,9}(?:\.\d{1,9})?)", re.MULTILINE)


@reader("docker info")
def read(text: Text) -> Iterator[Clue]:
    """The engine as `docker info` describes it, and tools' versions."""
    if text.holds("Runtimes:") and (text.holds("Server Version:") or text.holds("Default Runtime:")):
        yield from _engine(text)
    for pattern, path, *needles in (
        (_CLIENT, "containers.docker_client", "Docker version"),
        (
            _TOOLKIT,
            "containers.container_toolkit",
            "Container Toolkit CLI",
            "Runtime Hook",
            "container-toolkit version",
        ),
        (_PODMAN, "containers.podman", "podman version"),
    ):
        for match in text.matches(pattern, *needles):
            yield Fact(path, Version.parse(match["version"]), match.start())


def _engine(text: Text) -> Iterator[Clue]:
    told: dict[str, str] = {}
    offset = -1
    for match in text.matches(_INFO, *_KEYS):
        offset = match.start() if offset < 0 else offset
        told.setdefault(match["key"] or match["flag"], (match["value"] or "").strip())
    root = told.get("Docker Root Dir", "")
    engine = DockerEngine(
        Version.find(told.get("Server Version", "")),
        runtimes=tuple(told.get("Runtimes", "").split()),
        default_runtime=told.get("Default Runtime", ""),
        rootless=True if "rootless" in told else None,
        operating_system=told.get("Operating System", ""),
        cgroup_driver=told.get("Cgroup Driver", ""),
        root_dir=root,
        snap="/snap/" in root if root else None,
    )
    yield Fact("containers.docker", engine, offset)
