"""The fix of a report about NVIDIA's driver holds each step for the reporter's own system."""

from __future__ import annotations

import pytest

from tests.checks.fix_said import assert_fix
from tests.checks.remedies_given import REPORTS


@pytest.mark.parametrize(
    ("report", "check", "parts", "without"),
    [
        ("1/b1-01", "dkms-build-failed", ["sudo CC=gcc-12 dpkg --configure -a"], ["These commands are for"]),
        ("13/b13-29", "dkms-build-failed", ["1i #include <linux/vmalloc.h>", "dkms install dxgkrnl/f6f9c9ab2"], []),
        ("14/b14-05", "dkms-build-failed", ["aur.archlinux.org/nvidia-390xx-utils.git"], ["boot the previous"]),
        ("16/b16-02", "dkms-build-failed", ["install -y nvidia-driver-390", "dpkg --configure -a"], ["Arch", "Void"]),
        ("19/b19-03", "dkms-build-failed", ["IGNORE_CC_MISMATCH=1", "-k 4.8.12_1"], ["last branch"]),
        ("20/b20-02", "dkms-build-failed", ["6.6.21-1-lts works", "makepkg -si"], []),
        ("21/b21-04", "dkms-build-failed", ["install -y nvidia-driver", "dpkg --configure -a"], ["Arch", "Void"]),
        ("23/b23-01", "dkms-build-failed", ["525.147.05", "boot kernel linux-lts"], []),
        ("35/b35-34", "dkms-build-failed", ["xbps-install -Su", "xbps-reconfigure -f linux4.15"], ["pacman", "Debian"]),
        ("5/b5-04", "dkms-build-failed", ["rm -r /var/lib/dkms/nvidia/390.48", "dkms autoinstall"], ["470"]),
        ("9/b9-39", "dkms-build-failed", ["linux-kbuild", "linux-image-amd64"], ["550"]),
    ],
)
def test_the_fix_is_whole(report: str, check: str, parts: list[str], without: list[str]) -> None:
    assert_fix((REPORTS / f"batch-{report}.txt").read_text("utf-8"), check, parts, without)
