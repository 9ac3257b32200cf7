"""Platforms by the names that `--os` and the tables use."""

from __future__ import annotations

WINDOWS = "windows"  # platforms that `--os` names
WSL = "wsl"
JETSON = "jetson"  # the platform of a GPU or a machine
WINDOWS_DRIVERS = (WINDOWS, WSL)  # platforms whose driver is the Windows one

ARCHITECTURES = ("x86_64", "aarch64")  # of processors, by the names that Linux gives them
