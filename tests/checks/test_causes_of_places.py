"""Causes below the frameworks: old cards, containers, clusters, virtual machines, links; and what is none."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Status
from tests.checks.test_causes_of_batch_34 import failures, first
from tests.checks.test_fixes_of_reports import fails
from tests.checks.test_what_a_text_shows import fix

_SILENT = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."
_LOWER = "sinfo -R: gres/gpu count reported lower than configured (0 < 8)"
_FAULT_31 = (
    "NVRM: Xid (PCI:0000:0c:00): 31, pid=114, Ch 00000053, intr 10000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_2 "
    "faulted @ 0x0_00000000. Fault is of type FAULT_PDE ACCESS_TYPE_READ"
)
_ALLOCATE = (
    "Pod Allocate failed due to requested number of devices unavailable for nvidia.com/gpu. Requested:1, Available: 0"
)
_NO_EXEC = 'standard_init_linux.go:228: exec user process caused "exec format error"'


@pytest.mark.parametrize(
    ("cause", "text"),
    [
        (
            "driver-dropped-gpu",
            f"{_SILENT}\n01:00.0 VGA compatible controller: NVIDIA Corporation GT218 [GeForce 210] (rev a2)\n"
            "ii  nvidia-driver-470  470.256.02-0ubuntu0.22.04.1 amd64  NVIDIA driver metapackage",
        ),
        ("arch-dropped-by-framework", "A 9600 GT, CUDA 6.5: the miner says that there's no suitable CUDA device."),
        ("arch-dropped-by-framework", "GT 630M laptop, CUDA miner: invalid device function"),
        ("device-nodes-missing", "After a reboot docker has no CUDA until I have run nvidia-smi on the host."),
        ("jetson-container-of-other-release", f"Jetson Orin, docker run x/y: {_NO_EXEC}"),
        ("slurm-gres-misconfigured", f"{_LOWER}\ngres.conf is AutoDetect=nvml, nvidia-smi shows all of them"),
        ("gpu-count-mismatch", f"{_LOWER}\ngres.conf is AutoDetect=nvml"),
        (
            "device-node-permission",
            "Orin Nano: deviceQuery passes as root in the container. With --user 1000: returned 100, no CUDA-capable",
        ),
        ("bar-not-assigned", "Tesla T4: Failed moving device BAR: failed allocating new MMIO range: 0x1"),
        ("driver-capabilities-missing", "In podman nvidia-smi has CUDA Version: N/A and torch says False"),
        ("vgpu-unlicensed", "Desktop with a GRID vGPU profile is OK for some 20 minutes. After 20 minutes it crawls."),
        ("passthrough-blocked", "Virtual PCI Express Port: Failed to Power on with Error"),
        ("uvm-module-not-loaded", "nvidia-smi OK, no CUDA device in torch. Disabling HMM of nvidia_uvm fixes it."),
        ("library-release-mismatch", "transport/net_ib.cc:81 NCCL WARN NET/IB : collective mismatch error"),
        ("driver-too-old-for-runtime", "NVIDIA-SMI 418.67  Driver Version: 418.67\nconda install pytorch "
         "cudatoolkit=10.2 -c pytorch, then\nGPU available: False"),
        ("kubernetes-gpu-unhealthy", f"{_ALLOCATE}\nRestarting the kubelet helps for a few days."),
        ("gpu-count-mismatch", _ALLOCATE),
        ("nouveau-loaded", "nvidia finds no adapter. After unloading nouveau and modprobe nvidia it works"),
        ("driver-dropped-gpu", f"{_SILENT}\n01:00.0 VGA compatible controller: NVIDIA Corporation GT218 [GeForce 210]\n"
         "nvidia-390, 390.157, 5.4.0-190-generic, x86_64: installed"),
        ("memlock-too-low", "UCX ERROR ibv_create_cq(cqe=4096) failed: Cannot allocate memory"),
        ("model-larger-than-gpu", "RTX 3090: allocating 39979.48 MiB on device 0: cudaMalloc failed: out of memory\n"
         "error loading model: unable to allocate CUDA0 buffer"),
        ("no-gpu-on-pci", "The 4080 in my eGPU box is never detected, lspci prints nothing of NVIDIA."),
        ("power-supply-overloaded", "A training run on the 3090 brought down the whole PC, no line in the log."),
        ("container-no-gpu-injected", "compose: no CUDA in the service. As soon as I add devices with gpu it works."),
        ("secure-boot-unsigned-module", "Ubuntu asked for a password, I dismissed the blue screen at the reboot; "
         "nvidia-smi can't communicate with the driver"),
        ("ecc-uncorrectable", "Jobs on GPU 3 fail with an uncorrectable ECC error, the other cards are good."),
        ("acs-blocks-p2p", "4x V100: p2pBandwidthLatencyTest stalls at the second matrix"),
    ],
)  # fmt: skip
def test_the_cause_is_named(cause: str, text: str) -> None:
    found = first(text)
    assert found is not None
    assert (found[0], found[1]) == (cause, Status.FAIL)


@pytest.mark.parametrize(
    "text",
    [
        "CUDA out of memory in the backward pass. GPU 0 has a total capacity of 14.58 GiB of which 1 GiB is free. "
        "Of the allocated memory 13.32 GiB is allocated by PyTorch, from_pretrained was fine",
        "RTX 4090: allocating 9979.48 MiB on device 0: cudaMalloc failed: out of memory\nerror loading model: x",
        "Somebody brought down our GPU training server for maintenance. It's back, all RTX A6000 work.",
        "The blue screen of the installer asked for a password, I enrolled the key and nvidia-smi works.",
        "When I add a second volume in compose the container starts with --gpus all as before. No CUDA trouble.",
        "Our RTX 4090 trains with CUDA, an old GT 210 is for the display only. There's no suitable case for both.",
        "We replaced the riser of our rig after Xid 79 errors. Four weeks without one since.",
        "A30-24C vGPU: for the first 20 minutes the temperature rises, then it stays at 60 C.",
        "docker exec x nvidia-smi shows CUDA Version: 12.4, the CPU load is low",
        "After a reboot I always run nvidia-smi on the host. The containers work.",
        f"Nothing breaks, but dmesg has a line when I close the browser:\n{_FAULT_31}",
        "p2pBandwidthLatencyTest prints 24 GB/s for each pair. Is that OK for two A6000?",
        "conda install pytorch cudatoolkit=11.3 -c pytorch runs on driver 470.82, torch.cuda.is_available() is True",
    ],
)
def test_what_only_looks_like_it_is_no_failure(text: str) -> None:
    assert failures(text) == []


def test_a_program_that_faults_is_told_apart_from_a_card_that_does() -> None:
    found = first(f"The game crashes every hour, GTX 1080\n{_FAULT_31}")
    assert found is None or found[0] == "gpu-illegal-memory-access"


def test_memory_management_is_turned_off_and_the_module_loaded_again() -> None:
    given = fix(fails("CUDA finds no device, nvidia-smi is OK. nvidia_uvm with uvm_disable_hmm=1 works.")[0])
    assert "uvm_disable_hmm=1" in given


@pytest.mark.parametrize("card", ["GeForce 210", "GeForce GTX 260"])
def test_of_a_card_that_no_known_cuda_serves_none_is_named(card: str) -> None:
    told = f"01:00.0 VGA compatible controller: NVIDIA Corporation GT200 [{card}] (rev a2)\n"
    found = fails(
        f"{told}$ nvcc --version\nCuda compilation tools, release 8.0, V8.0.61\nThe build of the program fails\n"
    )
    assert [fix(each) for each in found if each.id == "toolkit-dropped-arch" and "None" not in fix(each)]
