"""What else there is where no build of a framework fits, and what the frameworks are, as tables."""

from __future__ import annotations

from envkit._startup.records import record
from envkit.base.versions import ComputeCapability
from envkit.tables.loader import table


@table("other_ways.csv", "framework", "way")
@record
class OtherWay:
    """A vendor's build, a container or the CPU, for the GPUs from one compute capability to another.

    Where both are blank it does not matter which GPU there is.
    """

    framework: str
    versions: str  # releases of which it stands for
    platforms: tuple[str, ...]
    architectures: tuple[str, ...]
    from_capability: ComputeCapability | None
    to_capability: ComputeCapability | None
    way: str
    sources: tuple[str, ...]

    def is_for(self, gpu: ComputeCapability) -> bool:
        """Whether a GPU lies in its range."""
        low, high = self.from_capability, self.to_capability
        number = gpu.numbers
        return (low is None or number >= low.numbers) and (high is None or number <= high.numbers)


@table("software_notes.csv", "packages", "note")
@record
class SoftwareNote:
    """What to know of releases of packages next to something; a blank cell means whatever there is."""

    packages: tuple[str, ...]  # mmcv, mmcv-full
    versions: str  # of the packages: <2.4
    torch: str  # and of what is asked for next to them: <1.3
    cuda: str
    driver: str
    platforms: tuple[str, ...]
    architectures: tuple[str, ...]
    note: str
    sources: tuple[str, ...]


@table("runtime_code.csv", "framework", "how")
@record
class RuntimeCode:
    """What is known of builds on GPUs although no list of their code exists; `how` follows their name."""

    framework: str
    versions: str  # releases of which it stands; '' for all
    cuda: str  # and the CUDA of their builds
    first_capability: ComputeCapability | None
    last_capability: ComputeCapability | None  # None: as far as its CUDA goes
    runs: bool
    how: str
    sources: tuple[str, ...]


@table("framework_traits.csv", "framework")
@record
class FrameworkTraits:
    """What a framework is to its users, in their words; None is not known."""

    framework: str
    language: tuple[str, ...] | None
    graph: str | None
    multi_gpu: str | None
    deployment: str | None
    archived_since: str | None  # 2023-09
    sources: tuple[str, ...]
