"""What a machine says of itself and what a user pastes of it are read by the same code, and give the same facts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import envkit
from envkit.ingest import parse_text
from envkit.probe import cuda, driver, os_release
from tests.fakes.memory_host import MemoryHost

ROOT = Path(envkit.__file__).parent
MODULE_LINES = [
    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  384.81  Sat Sep  2 02:43:11 PDT 2017",
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  (x@y)  Sun Jul 27",
    "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  540.3.0  Release Build  (buildbrain@mobile)",
    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  96.43.23  Wed Jun 27",
]
BANNERS = {
    "Cuda compilation tools, release 12.4, V12.4.131": "12.4.131",
    "Cuda compilation tools, release 9.0, V9.0.176": "9.0.176",
    "Cuda compilation tools, release 4.2, V0.2.1221": "4.2",
}
RELEASES = [
    'ID=ubuntu\nID_LIKE=debian\nVERSION_ID="22.04"\nPRETTY_NAME="Ubuntu 22.04.4 LTS"\n',
    'ID="rocky"\nID_LIKE="rhel centos fedora"\nVERSION_ID="9.4"\nPRETTY_NAME="Rocky Linux 9.4 (Blue Onyx)"\n',
    'ID="centos"\nVERSION_ID="7"\nPRETTY_NAME="CentOS Linux 7 (Core)"\nID_LIKE="rhel fedora"\n',
    'ID="amzn"\nVERSION_ID="2023"\nPRETTY_NAME="Amazon Linux 2023.6.20241010"\nID_LIKE="fedora"\n',
    "ID=debian\nVERSION_ID='12'\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n",
]
# What only the one pattern of an address, of the module's line and of the compilers' banner holds.
ONE_PLACE = {
    r"\]\{\{?2\}\}?:": {"base/pci.py"},
    r"Kernel Module \(": {"probe/kernel.py"},
    r"release (?:\(\?|\\d)": {"probe/cuda_tools.py"},
}


@pytest.mark.parametrize("line", MODULE_LINES)
def test_the_modules_line(line: str) -> None:
    probed = driver.probe(MemoryHost({driver.VERSION_FILE: f"{line}\nGCC version: gcc 12\n"}))
    pasted = parse_text(f"$ cat /proc/driver/nvidia/version\n{line}\n").driver
    assert pasted.kernel_module.get() == probed["driver.kernel_module"].get()
    assert pasted.open_kernel_module.get() is probed["driver.open_kernel_module"].get() is ("Open" in line)


@pytest.mark.parametrize(("banner", "version"), BANNERS.items())
def test_the_compilers_banner(banner: str, version: str) -> None:
    host = MemoryHost({"/usr/bin/nvcc": "x"}, commands={"/usr/bin/nvcc --version": f"nvcc: NVIDIA\n{banner}\n"})
    on_disk = MemoryHost({"/usr/local/cuda/bin/nvcc": b"\x7fELF" + b"\0" * 99 + banner.encode() + b"\0"})
    pasted = parse_text(f"$ nvcc --version\n{banner}\n").nvcc.get()
    carried = [toolkit.version for toolkit in cuda.toolkits(on_disk).get()]
    assert [str(one) for one in (pasted.version, cuda.nvcc(host).get().version, *carried)] == [version] * 3


@pytest.mark.parametrize("text", RELEASES)
def test_the_release_file(text: str) -> None:
    probed = os_release.distribution(MemoryHost({"/etc/os-release": text})).get()
    assert parse_text(text).system.os.get() == probed


@pytest.mark.parametrize("pattern", ONE_PLACE)
def test_no_second_pattern_is_written(pattern: str) -> None:
    sources = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in ROOT.rglob("*.py")}
    assert {name for name, source in sources.items() if re.search(pattern, source)} == ONE_PLACE[pattern]
