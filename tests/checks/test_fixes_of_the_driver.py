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
        ("24/b24-17", "dkms-build-failed", ["registry of your own"], []),
        ("10/b10-09", "driver-library-mismatch", ["modinfo -F version nvidia", "apt-mark hold", "nvidia-smi"], []),
        ("14/b14-15", "driver-library-mismatch", ["nixos-rebuild boot", "--rollback"], ["modprobe"]),
        ("19/b19-06", "driver-library-mismatch", ["dracut --force", "prints 390.25"], ["modprobe -r"]),
        ("20/b20-03", "gsp-firmware-missing", ["rpm-ostree rollback"], ["initramfs"]),
        ("23/b23-05", "driver-library-mismatch", ["*.so.384.81", "*.so.387.26", "sudo ldconfig"], ["modprobe"]),
        ("33/b33-35", "driver-library-mismatch", ["dpkg --purge", "ubuntu-drivers install"], ["modprobe"]),
        ("35/b35-33", "driver-library-mismatch", ["sdbootutil add-all-kernels --no-reuse-initrd"], ["sudo dracut"]),
        ("7/b7-07", "driver-library-mismatch", ["nix-env -e nvidia-x11"], ["buildInputs"]),
        ("8/b8-30", "driver-library-mismatch", ["nvidia-opencl-dev", "docker build"], ["modprobe"]),
        ("3/b3-38", "gpu-fallen-off-bus", ["thermal paste"], []),
        ("11/b11-19", "gpu-fallen-off-bus", ["remove that patch"], ["RMA"]),
        ("12/b12-23", "gpu-fallen-off-bus", ["setpci -s PORT CAP_EXP+30.w=2:f"], []),
        ("1/b1-05", "secure-boot-unsigned-module", ["efibootmgr --bootnext"], ["mokutil --import"]),
        ("14/b14-50", "secure-boot-unsigned-module", ["mokutil --import /var/lib/dkms/mok.pub"], ["shim-signed"]),
        ("19/b19-01", "secure-boot-unsigned-module", ["nvidia-pubkeys"], ["dkms build"]),
        ("25/b25-31", "secure-boot-unsigned-module", ["--module-signing-secret-key"], ["MokManager"]),
        ("9/b9-43", "secure-boot-unsigned-module", ["Boot 5.15.0-46-generic"], ["mokutil --import"]),
        ("12/b12-24", "module-missing-for-running-kernel", ["run the script again"], []),
        ("19/b19-04", "module-missing-for-running-kernel", ["dkms install --force"], ["autoinstall"]),
        ("8/b8-24", "module-missing-for-running-kernel", ["dnf remove -y dkms", "akmods --force"], ["VERSION"]),
        ("11/b11-36", "driver-module-not-loaded", ["pacman -S --needed linux-cachyos-headers"], []),
        ("11/b11-46", "driver-module-not-loaded", ["dkms install nvidia/450.80.02"], []),
        ("17/b17-06", "driver-dropped-gpu", ["cuda-drivers-390*", "versionlock"], []),
        ("20/b20-04", "driver-dropped-gpu", ["install -y nvidia-driver-470-server"], []),
        ("9/b9-42", "driver-dropped-gpu", ["hardware.nvidia.open = false", "nixos-rebuild boot"], []),
        ("2/b2-27", "cuda-compat-on-unsupported-hw", ["newer driver on the host", "cuda-compat-*"], []),
        ("5/b5-39", "driver-lib-mismatch-803", ["export LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu"], []),
        ("25/b25-33", "driver-repos-mixed", ["dpkg --purge", "--fix-broken install -y"], []),
        ("15/b15-31", "driver-not-installed", ["cos/daemonset-preloaded.yaml"], ["never mix"]),
        ("15/b15-32", "proprietary-module-on-blackwell", ["pacman -S --needed nvidia-open-dkms"], []),
        ("19/b19-05", "kernel-headers-missing", ["-headers/"], ["apt-get", "linux-generic"]),
        ("17/b17-07", "device-nodes-missing", ["boot.kernelModules"], ["systemctl enable"]),
        ("18/b18-38", "profiling-counters-restricted", ["configmap kernel-module-params"], ["modprobe.d"]),
        ("9/b9-39", "dkms-build-failed", ["linux-kbuild", "linux-image-amd64"], ["550"]),
    ],
)
def test_the_fix_is_whole(report: str, check: str, parts: list[str], without: list[str]) -> None:
    assert_fix((REPORTS / f"batch-{report}.txt").read_text("utf-8"), check, parts, without)
