"""Container engines, system packages, messages of logs, and measurements."""

from __future__ import annotations

from collections.abc import Mapping

from envkit._startup.records import field, record
from envkit.base.versions import Version
from envkit.model.observed import Observed, unseen
from envkit.model.privacy import FilePath, FreeData, FreeText, Name, Plain, Quoted


@record
class DockerEngine:
    """What the Docker engine answers about itself."""

    version: Version | None
    api_version: Version | None = None
    runtimes: tuple[Name, ...] = ()
    default_runtime: Name = ""
    cdi_spec_dirs: tuple[FilePath, ...] | None = None
    rootless: bool | None = None
    operating_system: Plain = ""
    cgroup_driver: Plain = ""
    root_dir: FilePath = ""
    snap: bool | None = None


@record
class NodeDevices:
    """The devices of one kind that a Kubernetes node has, and those among them that pods can be given."""

    resource: Plain  # nvidia.com/gpu
    capacity: int
    allocatable: int


@record
class Containers:
    """Container engines and the NVIDIA container toolkit."""

    docker: Observed[DockerEngine] = field(default_factory=unseen)
    docker_client: Observed[Version] = field(default_factory=unseen)
    buildx: Observed[FilePath] = field(default_factory=unseen)
    container_toolkit: Observed[Version] = field(default_factory=unseen)
    daemon_json: Observed[Mapping[Plain, FreeData]] = field(default_factory=unseen)
    cdi_specs: Observed[tuple[FilePath, ...]] = field(default_factory=unseen)  # files with kind nvidia.com/gpu
    cdi_missing_paths: Observed[tuple[FilePath, ...]] = field(default_factory=unseen)  # a spec names them, not there
    toolkit_config: Observed[Mapping[Plain, FreeText]] = field(default_factory=unseen)  # keys of config.toml
    podman: Observed[Version] = field(default_factory=unseen)
    injected: Observed[bool] = field(default_factory=unseen)  # inside a container: the driver was mounted in
    node_devices: Observed[tuple[NodeDevices, ...]] = field(default_factory=unseen)  # of Kubernetes nodes
    device_links: Observed[bool] = field(default_factory=unseen)  # /dev/char holds links to the driver's nodes
    image: Observed[Name] = field(default_factory=unseen)  # the one that a text starts or names in a manifest
    host_listed: Observed[FreeText] = field(default_factory=unseen)  # what started it, below the host's packages
    started_by: Observed[FreeText] = field(default_factory=unseen)  # the docker run command of a text, on one line


@record
class SystemPackage:
    """An installed system package that has to do with GPUs."""

    name: Name
    version: Plain
    manager: Plain  # dpkg, rpm
    state: Plain = "installed"
    origin: Name = ""

    @property
    def whole(self) -> bool:
        """True for one that is installed to the end, held back from upgrades or not."""
        return self.state in ("installed", "hold")


COMPLAINT = "stated-failure"  # the signature of a failure that is stated in no known words: no check has this id
OTHER_MAKER = "other-maker"  # the signature of a GPU that is not NVIDIA's, whose maker is the value `maker`
READS_LIKE = "reads-like"  # the signature of what known reports a text resembles, whose cause is the value `cause`


@record
class Message:
    """A known error message seen in a log or in a pasted text. `values` are what it names (versions, counts …)."""

    signature: Plain  # key in the signatures table
    text: FreeText  # the line as it stood
    line: int = 0
    values: Mapping[Plain, Quoted] = field(default_factory=dict)
    file: FilePath = ""  # where several files were pasted together
    start: int = 0  # where in `text` the message begins: in a line of prose, other words are before it


@record
class Measurement:
    """One result of `--deep`: a framework import, a kernel, a convolution or a copy."""

    name: Plain
    subject: FreeText
    passed: bool | None
    value: float | None = None
    unit: Plain = ""
    detail: FreeText = ""
