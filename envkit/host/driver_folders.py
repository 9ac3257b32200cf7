"""Where systems that keep the driver apart from their own files have its libraries: the loader does not look there."""

from __future__ import annotations

import glob

from envkit.host.trust import is_trusted

APART = (
    "/run/nvidia/driver/usr/lib/*-linux-gnu",  # the driver container of a Kubernetes operator
    "/run/nvidia/driver/usr/lib64",
    "/home/kubernetes/bin/nvidia/lib64",  # Container-Optimized OS
    "/usr/lib/nvidia/tesla",  # Bottlerocket
    "/opt/nvidia/current/usr/lib64",  # Flatcar
    "/usr/local/glibc/usr/lib",  # Talos
)


def folder_apart(library: str) -> str | None:
    """The folder of these that holds `library` and that nobody but root can change; None where there is none."""
    folders = (folder for pattern in APART for folder in glob.glob(pattern))
    return next((folder for folder in folders if is_trusted(f"{folder}/{library}")), None)
