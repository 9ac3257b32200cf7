"""A mounted root: links stay inside it, and nothing of the running kernel is taken for its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from envkit.facts import Problem
from envkit.host.root import RootHost


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
