"""Physical cores and quotas, from what the kernel writes."""

from __future__ import annotations

import pytest

from envkit.model import Problem
from envkit.probe.cpu import cpu_of, near_processors, usable_processors
from tests.fakes.memory_host import MemoryHost

TWO_SOCKETS = "".join(
    f"processor\t: {number}\nmodel name\t: Xeon\nphysical id\t: {number % 2}\ncore id\t: {number // 4}\n\n"
    for number in range(8)
)


@pytest.mark.parametrize(
    ("files", "threads"),
    [
        ({"/proc/cpuinfo": TWO_SOCKETS}, 4),
        ({"/proc/cpuinfo": TWO_SOCKETS, "/sys/fs/cgroup/cpu.max": "200000 100000\n"}, 2),
        ({"/proc/cpuinfo": TWO_SOCKETS, "/sys/fs/cgroup/cpu.max": "max 100000\n"}, 4),
        ({"/proc/cpuinfo": TWO_SOCKETS, "/sys/fs/cgroup/cpu.max": "50000 100000\n"}, 1),
        ({"/proc/cpuinfo": TWO_SOCKETS, "/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "300000\n",
          "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n"}, 3),
        ({"/proc/cpuinfo": TWO_SOCKETS, "/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
          "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n"}, 4),
        ({"/proc/cpuinfo": TWO_SOCKETS, "/proc/self/status": "Cpus_allowed_list:\t0,5-6\n"}, 3),
        ({"/proc/self/status": "Cpus_allowed_list:\tnonsense\n"}, 1),
        ({}, 1),
    ],
)  # fmt: skip
def test_threads_that_share_no_core(files: dict[str, str], threads: int) -> None:
    assert cpu_of(MemoryHost(files)).threads == threads


@pytest.mark.parametrize(
    ("files", "usable"),
    [
        ({"/proc/self/status": "Cpus_allowed_list:\t0-7\n", "/sys/fs/cgroup/cpu.max": "150000 100000\n"}, 1),
        ({"/proc/self/status": "Cpus_allowed_list:\t0-7\n", "/sys/fs/cgroup/cpu.max": "max 100000\n"}, 8),
        ({"/sys/fs/cgroup/cpu.max": "50000 100000\n"}, 1),
    ],
)
def test_processors_that_a_process_may_use(files: dict[str, str], usable: int) -> None:
    assert usable_processors(MemoryHost(files)).get() == usable


def test_what_the_kernel_does_not_tell_is_no_number() -> None:
    assert usable_processors(MemoryHost({"/proc/cpuinfo": TWO_SOCKETS})).problem is Problem.ABSENT


@pytest.mark.parametrize(
    ("text", "near"),
    [("0-1,8\n", (0, 1, 8)), ("", ()), ("nonsense", ()), ("0-99999999999", ())],
)
def test_processors_next_to_a_device(text: str, near: tuple[int, ...]) -> None:
    host = MemoryHost({"/sys/bus/pci/devices/0000:65:00.0/local_cpulist": text})
    assert near_processors(host, "0000:65:00.0") == near
    assert near_processors(host, "") == ()
