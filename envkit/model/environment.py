"""Everything that was observed about one machine."""

from __future__ import annotations

from collections.abc import Mapping

from envkit._startup.records import field, record
from envkit.model.devices import Driver, Gpu, PciGpu
from envkit.model.observed import Observed, unseen
from envkit.model.privacy import FilePath, FreeText, Interface, Plain, Url, VariableValue
from envkit.model.software import CudaLink, CudaToolkit, Cudnn, HostCompiler, Nvcc, PythonEnvironment
from envkit.model.surroundings import Containers, Measurement, Message, SystemPackage
from envkit.model.system import Identity, Kernel, System

PASTED = "pasted text"  # the origin of what a text tells


@record
class Environment:
    """Everything observed about one machine; what a check may read."""

    origin: FilePath = "this machine"  # this machine, a capture, a facts file, a text, a root
    collected_at: Plain = ""
    identity: Identity = field(default_factory=Identity)
    system: System = field(default_factory=System)
    kernel: Kernel = field(default_factory=Kernel)
    pci_gpus: Observed[tuple[PciGpu, ...]] = field(default_factory=unseen)
    driver: Driver = field(default_factory=Driver)
    gpus: Observed[tuple[Gpu, ...]] = field(default_factory=unseen)
    cuda_toolkits: Observed[tuple[CudaToolkit, ...]] = field(default_factory=unseen)
    nvcc: Observed[Nvcc] = field(default_factory=unseen)
    cudnns: Observed[tuple[Cudnn, ...]] = field(default_factory=unseen)
    host_compilers: Observed[tuple[HostCompiler, ...]] = field(default_factory=unseen)
    pythons: Observed[tuple[PythonEnvironment, ...]] = field(default_factory=unseen)
    containers: Containers = field(default_factory=Containers)
    variables: Observed[Mapping[Plain, VariableValue]] = field(default_factory=unseen)  # CUDA_*, LD_*, NCCL_* …
    packages: Observed[tuple[SystemPackage, ...]] = field(default_factory=unseen)
    repositories: Observed[tuple[Url, ...]] = field(default_factory=unseen)  # package sources that carry NVIDIA
    network_interfaces: Observed[tuple[Interface, ...]] = field(default_factory=unseen)
    messages: Observed[tuple[Message, ...]] = field(default_factory=unseen)
    measurements: Observed[tuple[Measurement, ...]] = field(default_factory=unseen)
    package_changes: Observed[tuple[FreeText, ...]] = field(default_factory=unseen)  # of the driver, since boot
    nccl_config: Observed[Mapping[Plain, VariableValue]] = field(default_factory=unseen)  # nccl.conf files
    cuda_link: Observed[CudaLink] = field(default_factory=unseen)  # /usr/local/cuda, when it is a link
    cuda_home: Observed[FilePath] = field(default_factory=unseen)  # where CUDA_HOME leads; absent: unset, or nowhere
    traceback_python: Observed[FilePath] = field(default_factory=unseen)  # whose site-packages a text's tracebacks name
    managed_by: Observed[tuple[Plain, ...]] = field(default_factory=unseen)  # uv, kubernetes, slurm, comfyui …

    @property
    def pasted(self) -> bool:
        """True where a text tells of the machine: `pasted text`, `pasted text of gpu01` where it tells of several."""
        return self.origin.startswith(PASTED)
