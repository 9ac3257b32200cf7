"""Scripts with a driver, and the /sys of the machine that they are for."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from envkit.base.settings import Mirrors
from envkit.install.options import ScriptOptions
from tests.install.plans import plan, scripted


def script(cuda: str = "12.4.1", os_id: str = "debian12", gpu: str = "8.6", **options: Any) -> str:
    """The script for this plan with `--with-driver`."""
    found = plan(cuda, os_id=os_id, gpus=(gpu,), with_driver=True)
    return scripted(found, replace(ScriptOptions(with_driver=True), **options), Mirrors())


def packages(text: str) -> list[list[str]]:
    """First branch, last branch, stream and names of each entry of DRIVER_PACKAGES."""
    (line,) = re.findall(r"^DRIVER_PACKAGES=\((.*)\)$", text, re.M)
    return [entry.split("|") for entry in re.findall(r'"([^"]*)"', line)]


def machine(folder: Path, *modules: str, secure_boot: bool = False) -> None:
    """A /sys with an NVIDIA GPU, these loaded modules, and Secure Boot on or off."""
    device = folder / "root/sys/bus/pci/devices/0000:01:00.0"
    device.mkdir(parents=True)
    (device / "vendor").write_text("0x10de\n")
    (device / "class").write_text("0x030000\n")
    for module in modules:
        (folder / "root/sys/module" / module).mkdir(parents=True)
    variables = folder / "root/sys/firmware/efi/efivars"
    variables.mkdir(parents=True)
    (variables / "SecureBoot-8be4").write_bytes(bytes((6, 0, 0, 0, int(secure_boot))))
