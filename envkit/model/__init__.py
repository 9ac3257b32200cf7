"""What was observed about a machine, as plain data: every fact is a value with its source, or the reason there is none.

Nothing here reads a machine. A fact that nobody looked for is `Problem.NOT_LOOKED`; zero, empty and None are never
used to say "unknown". Sources that may disagree (kernel module and library version) are separate facts.
"""

from __future__ import annotations

from envkit.model.devices import CallResult, DeviceNode, Driver, DriverLibrary, Gpu, PcieLink, PciGpu
from envkit.model.environment import PASTED, Environment
from envkit.model.observed import Observed, Problem, found, missing, unseen
from envkit.model.software import (
    CudaLink,
    CudaToolkit,
    Cudnn,
    Distribution,
    FrameworkInstall,
    HostCompiler,
    LibraryUse,
    Nvcc,
    PythonEnvironment,
)
from envkit.model.surroundings import (
    COMPLAINT,
    OTHER_MAKER,
    READS_LIKE,
    Containers,
    DockerEngine,
    Measurement,
    Message,
    NodeDevices,
    SystemPackage,
)
from envkit.model.system import DkmsEntry, Identity, Kernel, MachineKind, ModuleFile, OsRelease, System

__all__ = [
    "COMPLAINT",
    "OTHER_MAKER",
    "PASTED",
    "READS_LIKE",
    "CallResult",
    "Containers",
    "CudaLink",
    "CudaToolkit",
    "Cudnn",
    "DeviceNode",
    "Distribution",
    "DkmsEntry",
    "DockerEngine",
    "Driver",
    "DriverLibrary",
    "Environment",
    "FrameworkInstall",
    "Gpu",
    "HostCompiler",
    "Identity",
    "Kernel",
    "LibraryUse",
    "MachineKind",
    "Measurement",
    "Message",
    "ModuleFile",
    "Nvcc",
    "NodeDevices",
    "Observed",
    "OsRelease",
    "PciGpu",
    "PcieLink",
    "Problem",
    "PythonEnvironment",
    "System",
    "SystemPackage",
    "found",
    "missing",
    "unseen",
]
