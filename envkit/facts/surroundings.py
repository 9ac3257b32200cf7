"""Container engines, system packages, messages of logs, and measurements."""

from __future__ import annotations

from collections.abc import Mapping

from envkit.facts.observed import Observed, unseen
from envkit.records import field, record
from envkit.versions import Version


@record
class DockerEngine:
    """What the Docker engine answers about itself."""

    version: Version | None
    api_version: Version | None = None
    runtimes: tuple[str, ...] = ()
    default_runtime: str = ""
    cdi_spec_dirs: tuple[str, ...] | None = None
    rootless: bool | None = None
    operating_system: str = ""
    cgroup_driver: str = ""
    root_dir: str = ""
    snap: bool | None = None


@record
class Containers:
    """Container engines and the NVIDIA container toolkit."""

    docker: Observed[DockerEngine] = field(default_factory=unseen)
    docker_client: Observed[Version] = field(default_factory=unseen)
    buildx: Observed[str] = field(default_factory=unseen)
    container_toolkit: Observed[Version] = field(default_factory=unseen)
    daemon_json: Observed[Mapping[str, object]] = field(default_factory=unseen)
    cdi_specs: Observed[tuple[str, ...]] = field(default_factory=unseen)  # files with kind nvidia.com/gpu
    cdi_missing_paths: Observed[tuple[str, ...]] = field(default_factory=unseen)  # paths that a spec names, not there
    toolkit_config: Observed[Mapping[str, str]] = field(default_factory=unseen)  # keys of config.toml
    podman: Observed[Version] = field(default_factory=unseen)
    injected: Observed[bool] = field(default_factory=unseen)  # inside a container: the driver was mounted in
    device_links: Observed[bool] = field(default_factory=unseen)  # /dev/char holds links to the driver's nodes


@record
class SystemPackage:
    """An installed system package that has to do with GPUs."""

    name: str
    version: str
    manager: str  # dpkg, rpm
    state: str = "installed"
    origin: str = ""


@record
class Message:
    """A known error message seen in a log or in a pasted text. `values` are what it names (versions, counts …)."""

    signature: str  # key in the signatures table
    text: str  # the line as it stood
    line: int = 0
    values: Mapping[str, str] = field(default_factory=dict)


@record
class Measurement:
    """One result of `--deep`: a framework import, a kernel, a convolution or a copy."""

    name: str
    subject: str
    passed: bool | None
    value: float | None = None
    unit: str = ""
    detail: str = ""
