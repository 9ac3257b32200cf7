"""The processor as a benchmark counts it: its name, its physical cores, and how many of them this process may use."""

from __future__ import annotations

from envkit._startup.records import record
from envkit.host.base import Host
from envkit.model import Observed, Problem, found, missing

STATUS = "/proc/self/status"
_MOST = 1 << 16  # processors: more than any kernel knows
_V2, *_V1 = QUOTAS = (  # of cgroups of version 2 in one file, of version 1 in two
    "/sys/fs/cgroup/cpu.max",
    "/sys/fs/cgroup/cpu/cpu.cfs_quota_us",
    "/sys/fs/cgroup/cpu/cpu.cfs_period_us",
)


@record
class Cpu:
    """A processor. `cores` are physical ones; None where the kernel does not say."""

    name: str
    sockets: int
    cores: int | None
    usable: int | None  # logical ones that this process may run on
    quota: float | None  # cores' worth of time that its cgroup is given

    @property
    def threads(self) -> int:
        """How many threads can run at once without sharing a core: the least of what is known, one or more."""
        known = [count for count in (self.cores, self.usable, self.quota) if count]
        return max(1, int(min(known, default=1)))


def cpu_of(host: Host) -> Cpu:
    """The processor of this machine."""
    blocks = [_fields(block) for block in (host.read_text("/proc/cpuinfo").value or "").split("\n\n") if block.strip()]
    places = {(block.get("physical id"), block.get("core id")) for block in blocks if "core id" in block}
    sockets = {block.get("physical id") for block in blocks if "physical id" in block}
    name = next((block["model name"] for block in blocks if "model name" in block), "unknown processor")
    return Cpu(name, max(1, len(sockets)), len(places) or None, _allowed(host), _quota(host))


def usable_processors(host: Host) -> Observed[int]:
    """How many processors this process may use: those that it may run on, and what its cgroup's quota is worth."""
    counts = [count for count in (_allowed(host), _quota(host)) if count]
    return found(max(1, int(min(counts))), STATUS) if counts else missing(Problem.ABSENT, STATUS)


def _fields(block: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in block.splitlines())
    return {name.strip(): value.strip() for name, sign, value in pairs if sign}


def near_processors(host: Host, pci_address: str) -> tuple[int, ...]:
    """The processors of the memory node that a device is next to; none where the kernel does not say."""
    path = f"/sys/bus/pci/devices/{pci_address.lower()}/local_cpulist"
    return _listed((host.read_text(path).value or "").strip()) or ()


def _allowed(host: Host) -> int | None:
    """How many processors this process may run on."""
    listed = _listed(_fields(host.read_text(STATUS).value or "").get("Cpus_allowed_list", ""))
    return len(listed) if listed else None


def _listed(text: str) -> tuple[int, ...] | None:
    """The processors in a list such as 0-3,8; None for what is not a list."""
    found: list[int] = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        if not (first.isdigit() and (last or first).isdigit()) or int(last or first) >= _MOST:
            return None
        found += range(int(first), int(last or first) + 1)
    return tuple(found)


def _quota(host: Host) -> float | None:
    """The limit of the cgroup, in processors."""
    words = (host.read_text(_V2).value or "").split()
    if not words:
        words = [(host.read_text(path).value or "").strip() for path in _V1]
    if len(words) < 2 or not (words[0].isdigit() and words[1].isdigit()) or int(words[1]) == 0:
        return None
    return int(words[0]) / int(words[1])
