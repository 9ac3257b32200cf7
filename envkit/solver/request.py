"""What the user asks for, parsed; and the machine that it is asked for."""

from __future__ import annotations

from envkit._startup.records import record
from envkit.base.versions import ComputeCapability, Version, VersionSpec, called


@record
class RequestWords:
    """What the user asks for, in the words of the options of these names; parsing makes a `Request` of it."""

    frameworks: tuple[str, ...] = ()
    cuda: str | None = None
    cudnn: str | None = None
    python: str | None = None
    os_id: str | None = None
    arch: str | None = None
    gpus: tuple[str, ...] = ()
    driver: str | None = None


@record
class Companion:
    """A package that was asked for by its own name and is made for a framework: `vllm==0.9.1` for PyTorch."""

    package: str
    asked: str = ""  # what was written after the name
    release: str = ""  # the one in the data that was taken for it; '' where any will do
    extra: str = ""  # the extra that it is installed with, where it is that which needs the framework

    @property
    def named(self) -> str:
        """What pip is told to install, without its release: `sglang[all]`."""
        return f"{self.package}[{self.extra}]" if self.extra else self.package


@record
class FrameworkRequest:
    """A framework by our name, and the versions that are acceptable (None: any)."""

    name: str
    spec: VersionSpec | None = None
    companions: tuple[Companion, ...] = ()  # through which it was asked for

    @property
    def open_companions(self) -> tuple[Companion, ...]:
        """Those that any release will do of, as long as it is made for the build."""
        return tuple(one for one in self.companions if not one.release)

    def meeting(self, spec: VersionSpec | None) -> FrameworkRequest:
        """The same framework in other versions, and any release of the packages next to it."""
        return FrameworkRequest(self.name, spec, tuple(Companion(one.package) for one in self.companions))

    def __str__(self) -> str:
        if self.spec is None:
            return self.name
        text = str(self.spec)
        return f"{self.name}{'' if text[0] in '<>!~' else '=='}{text}"


@record
class TargetGpu:
    """A GPU that the plan must work on; `name` is '' when only its capability was given."""

    compute_capability: ComputeCapability
    name: str = ""
    last_driver_branch: int | None = None
    data_center: bool = False
    memory_gb: float | None = None
    architecture: str | None = None  # of the processor that it is built onto, where there is but one
    platform: str | None = None  # jetson
    first_driver: Version | None = None  # no older one knows it

    @property
    def called(self) -> str:
        """The GPU in a sentence."""
        return called(str(self), self.compute_capability)

    def __str__(self) -> str:
        return (
            f"{self.name} (sm_{self.compute_capability.major}{self.compute_capability.minor})"
            if self.name
            else (self.compute_capability.sm)
        )


@record
class Request:
    """A whole request with its target. None means: not given, so the resolver chooses or does not judge it."""

    frameworks: tuple[FrameworkRequest, ...] = ()
    cuda: VersionSpec | None = None
    cudnn: VersionSpec | None = None
    python: VersionSpec | None = None
    os_id: str | None = None
    architecture: str = "x86_64"
    gpus: tuple[TargetGpu, ...] = ()
    driver: Version | None = None
    glibc: Version | None = None  # of the target, where it is not the OS's own
    platform: str = "linux"  # linux, windows, wsl, jetson
    container: bool = False  # True: an image is built, the driver stays on the host
    with_driver: bool = False  # a driver will be installed, so the present one is no limit
    needs_toolkit: bool = False  # install a system CUDA toolkit even when the wheel carries CUDA
    no_gpu: bool = False  # the target was looked at, and has none
    asked: frozenset[str] = frozenset()  # names of the fields that the user set, the rest were read or defaulted

    @property
    def last_driver_branch(self) -> int | None:
        """The newest driver branch that still supports every GPU; None where current ones do, or that is not known."""
        return min((gpu.last_driver_branch for gpu in self.gpus if gpu.last_driver_branch is not None), default=None)

    @property
    def companions(self) -> tuple[tuple[str, Companion], ...]:
        """The packages that were asked for by their own names, each with its framework."""
        return tuple((one.name, companion) for one in self.frameworks for companion in one.companions)
