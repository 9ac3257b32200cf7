"""A mounted root: links stay inside it, and nothing of the running kernel is taken for its own."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from envkit.host.root import RootHost
from envkit.model import Problem


@pytest.fixture
def root(tmp_path: Path) -> Path:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("of this machine")
    root = tmp_path / "root"
    for folder in ("etc", "usr/lib", "usr/bin", "proc", "usr/local/cuda-12.4"):
        (root / folder).mkdir(parents=True)
    (root / "usr/lib/os-release").write_text("ID=debian\n")
    (root / "etc/os-release").symlink_to("/usr/lib/os-release")
    (root / "usr/local/cuda").symlink_to("cuda-12.4")
    (root / "usr/local/cuda-12.4/version.txt").write_text("CUDA Version 12.4.131\n")
    (root / "etc/escape").symlink_to("../../../outside/secret")
    (root / "etc/absolute").symlink_to(outside / "secret")
    (root / "etc/circle").symlink_to("circle")
    (root / "proc/version").write_text("Linux version of somebody else\n")
    (root / "usr/bin/nvcc").write_text("#!/bin/sh\n")
    return root


def test_absolute_links_are_resolved_inside(root: Path) -> None:
    host = RootHost(str(root))
    assert host.read_text("/etc/os-release").get() == "ID=debian\n"
    assert host.real_path("/usr/local/cuda/version.txt").get() == "/usr/local/cuda-12.4/version.txt"
    assert host.glob("/usr/local/cuda*/version.txt") == (
        "/usr/local/cuda-12.4/version.txt",
        "/usr/local/cuda/version.txt",
    )


@pytest.mark.parametrize("path", ["/etc/escape", "/etc/absolute", "/etc/circle"])
def test_no_link_leads_out(root: Path, path: str) -> None:
    host = RootHost(str(root))
    assert host.read_text(path).problem is Problem.ABSENT
    assert not host.status(path).known


def test_the_running_kernel_is_not_the_roots(root: Path) -> None:
    host = RootHost(str(root))
    for answer in (host.read_text("/proc/version"), host.list_dir("/sys/bus/pci/devices"), host.query("nvml")):
        assert answer.problem is Problem.NOT_LOOKED
    assert host.glob("/dev/nvidia*") == ()
    assert host.run(["true"]).problem is Problem.NOT_LOOKED
    assert host.identity() == {}
    assert host.variables() == {}


def test_programs_are_looked_for_in_the_usual_folders(root: Path) -> None:
    host = RootHost(str(root))
    assert host.which("nvcc").get() == "/usr/bin/nvcc"
    assert host.which("gcc").problem is Problem.ABSENT


_EXCHANGE = """
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
one, other = (name.encode() for name in sys.argv[1:3])
print("ready", flush=True)
while True:
    libc.renameat2(-100, one, -100, other, 2)
"""


def test_a_tree_that_changes_meanwhile_leads_nowhere_else(root: Path) -> None:
    """A running container's folder: a link to a folder outside takes the place of one inside, again and again."""
    outside = root.parent / "outside"
    (outside / "os-release").write_text("ID=outside\n")
    (root / "etc/os-release").unlink()
    (root / "etc/os-release").write_text("ID=inside\n")
    (root / "other").symlink_to("../outside")
    host = RootHost(str(root))
    words = [sys.executable, "-c", _EXCHANGE, str(root / "etc"), str(root / "other")]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as exchanging:
        assert exchanging.stdout is not None and exchanging.stdout.readline()
        told = {host.read_text("/etc/os-release").value for _ in range(3000)}
        listed = {host.list_dir("/etc").value for _ in range(300)}
        exchanging.kill()
    assert told <= {"ID=inside\n", None}
    assert all(names is None or "secret" not in names for names in listed)


def test_pipes_sockets_and_devices_are_not_opened(root: Path) -> None:
    os.mkfifo(root / "etc/fifo")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(root / "etc/socket"))
    host = RootHost(str(root))
    for name in ("fifo", "socket"):
        assert host.read_text(f"/etc/{name}").problem is Problem.UNPARSABLE
        assert host.read_range(f"/etc/{name}", 0, 10).problem is Problem.UNPARSABLE
    assert host.status("/etc/fifo").get().kind == "other"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make a device node")
def test_a_device_is_told_by_its_type_alone(root: Path) -> None:
    """No driver has this number: opening it would fail in another way."""
    os.mknod(root / "etc/device", 0o666 | stat.S_IFCHR, os.makedev(195, 250))
    for host in (RootHost(str(root)), RootHost("/")):
        read = host.read_text("/etc/device" if host.origin != "/" else str(root / "etc/device"))
        assert (read.problem, read.detail) == (Problem.UNPARSABLE, "not a regular file")


def test_a_maze_of_links_ends(root: Path) -> None:
    """Each link takes thousands of turns and leads to the next."""
    for index in range(39):
        (root / f"etc/maze{index}").symlink_to("../etc/" * 500 + f"maze{index + 1}")
    (root / "etc/maze39").write_text("out")
    began = time.monotonic()
    assert RootHost(str(root)).read_text("/etc/maze0").problem is Problem.ABSENT
    assert time.monotonic() - began < 5.0
    assert RootHost(str(root)).read_text("/etc/maze36").get() == "out"
