"""What hosts, hypervisors, clusters, and installers print, what people say of them, and what is no fault."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Status
from tests.checks.software import findings_of


def first(text: str) -> str | None:
    """The first failure; the first warning where nothing fails."""
    found = [each for status in (Status.FAIL, Status.WARN) for each in findings_of(text) if each.status is status]
    return found[0].id if found else None


@pytest.mark.parametrize(
    ("cause", "text"),
    [
        (
            "passthrough-blocked",
            "kvm: vfio: Cannot reset device 0000:0a:00.0, depends on group 24 which is not owned. RTX 3090",
        ),
        ("passthrough-blocked", "vfio-pci: probe of 0000:01:00.0 failed with error -22, GTX 1070"),
        ("passthrough-blocked", "virsh start: Unknown PCI header type '127' for device '0000:01:00.0', RTX 2070"),
        (
            "vgpu-not-started",
            "vfio 00000000-0000-0000-0000-000000000102: failed to read device config space: Bad address",
        ),
        (
            "vgpu-unlicensed",
            "nvidia-gridd[1120]: Error: Failed to fetch the allocated licenses. Error: communication failure",
        ),
        (
            "installer-module-in-use",
            "ERROR: An NVIDIA kernel module 'nvidia-drm' appears to already be loaded in your kernel.",
        ),
        ("installer-module-in-use", "ERROR: You appear to be running an X server; please exit X before installing."),
        ("slurm-gres-unknown", "squeue: my job with --gres=gpu:4 waits for (QOSMaxGRESPerUser)"),
        (
            "slurm-gres-misconfigured",
            "reason: gres/gpu GRES core specification 0-63 for node g1 doesn't match socket boundaries",
        ),
        (
            "repository-key-replaced",
            "Public key for cuda-drivers-550.54.14-1.x86_64.rpm is not installed. Failing package is: cuda",
        ),
        (
            "driver-repos-mixed",
            "Problem: nothing provides 'nvidia-kmp = 550.54' needed by the to be installed nvidia-gl-G06-550",
        ),
        ("external-power-missing", "NVRM: Xid (PCI:0000:0a:00): 54, pid=311, CMDre 00000000"),
        ("no-gpu-on-pci", "c5.xlarge: RuntimeError: Found no NVIDIA driver on your system."),
        ("no-gpu-on-pci", "n2-standard-8 on GCP: torch.cuda.is_available() False, no NVIDIA driver"),
        ("gpu-kernel-timeout", "GTX 1080: the reconstruction dies, TDR, the card takes more than 2 seconds"),
        ("wsl-libcuda-missing", "In WSL: Failed to properly shut down NVML: Driver Not Loaded"),
        (
            "secure-boot-unsigned-module",
            "I dismissed the MOK screen and the nvidia module isn't loaded, nvidia-smi fails",
        ),
        ("dkms-build-failed", "builder for '/nix/store/0a1b-nvidia-x11-535.43.02-6.7.1.drv' failed with exit code 2"),
        ("fabric-manager-not-running", "DGX A100: system not yet initialized. I forgot the fabric manager"),
        (
            "kubernetes-gpu-unhealthy",
            "Allocate failed due to no healthy devices present; cannot allocate unhealthy devices nvidia.com/gpu",
        ),
        ("module-missing-for-running-kernel", "После обновления ядра nvidia-smi не работает"),
        ("gpu-reading-failed", "nvidia-smi: the fan of GPU 0 shows ERR!"),
    ],
)
def test_the_cause_is_named(cause: str, text: str) -> None:
    assert first(text) == cause


@pytest.mark.parametrize(
    "text",
    [
        "Proxmox host: the RTX 3060 is bound to vfio-pci and the VM works great",
        "vGPU, licensed. When the license server is down for a while, does the VM keep its speed?",
        "The .run installer said the kernel module was already loaded, so I rebooted and it installed fine",
        "Capacity: cpu 8; nvidia.com/gpu: 4, Allocatable nvidia.com/gpu: 4. Pods run.",
        "I boot the older kernel because of my wifi card; nvidia works in both",
        "ERR! never appears any more in nvidia-smi since the RMA, fan and power are shown",
        "TdrDelay was set to 60 for Blender years ago, all works on the GTX 1080",
        "e2-standard-4 is our login VM, the GPU nodes are a2-highgpu-1g and work well",
        "Nach dem Kernel-Update läuft nvidia-smi wie vorher, alles gut",
        "NCCL INFO Bootstrap : Using docker0:172.17.0.1<0> on a single node, all_reduce runs at 20 GB/s",
        "With the power cap of 250 W the 3090 is a bit slower, that's what we want",
        "MIG mode is enabled, seven 1g.10gb instances, all used by pods",
        'The issue with "no kernel image is available for execution on the device" was fixed by installing cu128.',
    ],
)
def test_who_tells_of_no_fault_is_not_accused(text: str) -> None:
    assert first(text) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("squeue: my job with --gres=gpu:4 waits for (QOSMaxGRESPerUser)", "choose a QOS"),
        ("Public key for cuda-drivers-550.54.14-1.x86_64.rpm is not installed", "D42D0685"),
        ("Signature verification failed for file 'repomd.xml' from repository 'cuda-opensuse15-x86_64'.", "zypper"),
        (
            "In the LXC container: An NVIDIA kernel module 'nvidia-uvm' appears to already be loaded in your kernel",
            "only the libraries",
        ),
        (
            "nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: cannot open shared "
            "object file",
            "on the host",
        ),
    ],
)
def test_the_remedy_is_for_this_case(text: str, words: str) -> None:
    found = next(each for each in findings_of(text) if each.status is Status.FAIL)
    assert found.remedy is not None
    assert words in found.remedy.advice
