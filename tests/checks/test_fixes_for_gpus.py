"""The fix fits what the text shows of the machine, its links, and what was tried already."""

from __future__ import annotations

import pytest

from tests.checks.fix_said import assert_fix

_REFUSED = "gpu2:398:451 [0] include/socket.h:403 NCCL WARN Connect to {}<35941> failed : Connection refused\n"
_TWO = "gpu1:411:466 [0] NCCL INFO NET/Socket : Using [0]eno1:10.1.4.21<0> [1]virbr0:192.168.122.1<0>\n"
_GIDS = (
    "mlx5_2  1       0       fe80:0000:0000:0000:e8f1:b2ff:fe07:55d1                 v1      net1\n"
    "mlx5_2  1       3       0000:0000:0000:0000:0000:ffff:0a01:0019 10.1.0.25       v2      net1\n"
)
_GLOO = (
    "(RayWorkerWrapper pid=1978) Warning: Unable to resolve hostname to a (local) address. Using the loopback address "
    "as fallback. Manually set the network interface to bind to with GLOO_SOCKET_IFNAME.\n"
    "[rank8]:[E ProcessGroupGloo.cpp:144] Gloo connectFullMesh failed with [tcp/pair.cc:144] no error\n"
)
_BUS = "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).\n"


@pytest.mark.parametrize(
    ("text", "check", "parts", "without"),
    [
        (
            _TWO + _REFUSED.format("192.168.122.1"),
            "nccl-wrong-interface",
            ["export NCCL_SOCKET_IFNAME=eno1"],
            ["^lo"],
        ),
        (
            "$ mpirun -np 4 -x NCCL_DEBUG=INFO python train.py\n"
            "node-a:4289:4343 [0] NCCL INFO NET : Using interface lo:127.0.0.1<0>\n"
            "node-a:4289:4343 [0] NCCL INFO NET : Using interface eth0:10.20.7.239<0>\n" + _REFUSED.format("10.0.0.1"),
            "nccl-wrong-interface",
            ["mpirun -x NCCL_SOCKET_IFNAME=eth0"],
            ["export"],
        ),
        (
            "(RayTrainWorker pid=83500) " + _TWO + _REFUSED.format("192.168.122.1"),
            "nccl-wrong-interface",
            ["runtime_env", "before ray start"],
            [],
        ),
        (_REFUSED.format("10.0.0.1"), "nccl-wrong-interface", ["^lo,docker"], ["runtime_env"]),
        (
            "NCCL INFO NCCL_SOCKET_IFNAME set by environment to =enp90s0np0\n"
            "bootstrap.cc:45 NCCL WARN Bootstrap : no socket interface found\n",
            "nccl-wrong-interface",
            ["without =", "NCCL_SOCKET_IFNAME=enp90s0np0"],
            ["^lo"],
        ),
        (
            "nvidia-docker run --rm -it --network none -v /raid:/raid pytorch:18.07-py3\n"
            "include/socket.h:311 WARN Socket creation failed : Address family not supported by protocol\n",
            "nccl-wrong-interface",
            ["nvidia-docker run --network=host --rm -it -v /raid:/raid pytorch:18.07-py3"],
            ["--network none pytorch"],
        ),
        (
            _GLOO + "NCCL_SOCKET_IFNAME=eth0 vllm serve /models",
            "nccl-wrong-interface",
            ["ray stop", "export GLOO_SOCKET_IFNAME=eth0"],
            ["^lo"],
        ),
        (
            "w1:946:988 [0] NCCL WARN NET/IB : Got completion with error 12, opcode 1, len 0, vendor err 129\n" + _GIDS,
            "nccl-wrong-interface",
            ["export NCCL_IB_GID_INDEX=3"],
            ["NCCL_IB_DISABLE"],
        ),
        (
            "w2:412:439 [0] misc/ibvwrap.cc:187 NCCL WARN Call to ibv_modify_qp failed with error No such device\n"
            + _GIDS,
            "nccl-wrong-interface",
            ["export NCCL_IB_HCA=mlx5_2", "In every container"],
            ["GID_INDEX"],
        ),
        (
            _BUS + "T4 profile of the JupyterHub",
            "shm-too-small",
            ["extraVolumeMounts", "num_workers=0"],
            ["docker run"],
        ),
        (
            _BUS + "nvidia-docker run -it -v /data:/data my/pytorch python train.py",
            "shm-too-small",
            ["nvidia-docker run --shm-size=8g -it -v /data:/data my/pytorch python train.py"],
            ["--gpus"],
        ),
        (
            _BUS + "Started as `docker run --gpus all --rm -it video /bin/bash`, then torchrun.",
            "shm-too-small",
            ["docker run --shm-size=8g --gpus all --rm -it video /bin/bash"],
            [],
        ),
    ],
)
def test_fix_is_the_one_for_what_the_text_shows(text: str, check: str, parts: list[str], without: list[str]) -> None:
    assert_fix(text, check, parts, without)


_OFF = "The PC turns off as soon as training starts, RTX 3090, 750 W PSU. {}"
_SLEPT = "After suspend, every CUDA program fails: RuntimeError: CUDA unknown error. nvidia-smi is fine. {}"
_ECC = "RuntimeError: CUDA error: uncorrectable ECC error encountered\n{}"
_GDR = (
    "n1:3120:3155 [0] NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'\n"
    "n1:3120:3155 [0] NCCL INFO NCCL version {}+cuda12.4\n{}"
)
_LOADED = "nvidia_peermem         16384  0\n"
_802 = (
    "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized\n"
    "NVIDIA H100 80GB HBM3, Ubuntu 22.04\n{}"
)
_UNLICENSED = (
    "NVIDIA A10-24Q\n    vGPU Software Licensed Product\n        License Status                    : Unlicensed "
    "(Restricted)\n{}"
)
_BAR = (
    "NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:\n"
    "NVRM: BAR1 is 0M @ 0x0 (PCI:0000:0a:00.0)\n{}"
)
_MIG = (
    "GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-5f0d6c7c-0000-0000-0000-000000000000)\n"
    "  MIG 2g.20gb     Device  0: (UUID: MIG-1b0c3a3e-0000-5f4b-0000-000000000001)\n"
    "  MIG 2g.20gb     Device  1: (UUID: MIG-3dd4c1f7-0000-5b21-0000-000000000002)\n"
    "$ echo $CUDA_VISIBLE_DEVICES\n0,1\n{}"
)
_LOCKED = (
    "misc/ibvwrap.cc:278 NCCL WARN Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory\n"
    "$ ulimit -l\n8192\n{}"
)


@pytest.mark.parametrize(
    ("text", "check", "parts", "without"),
    [
        (
            _OFF.format("With nvidia-smi -pl 240 it survived the night."),
            "power-supply-overloaded",
            ["sudo nvidia-smi -pl 240"],
            ["WATTS"],
        ),
        (
            _OFF.format(
                "\nname, power.limit [W], power.max_limit [W]\nNVIDIA GeForce RTX 3070 Ti, 290.00 W, 320.00 W\n"
                "NVIDIA GeForce RTX 3060, 170.00 W, 170.00 W\n"
            ),
            "power-supply-overloaded",
            ["nvidia-smi -i 0 -pl 200", "nvidia-smi -i 1 -pl 120"],
            ["WATTS"],
        ),
        (_SLEPT.format(""), "cuda-broken-after-suspend", ["fuser -v /dev/nvidia-uvm", "tee"], ["ollama"]),
        (
            _SLEPT.format("sudo rmmod nvidia_uvm && sudo modprobe nvidia_uvm brings it back."),
            "cuda-broken-after-suspend",
            ["system-sleep/nvidia-uvm"],
            ["PreserveVideoMemory"],
        ),
        (
            _SLEPT.format("\n$ docker exec -it ollama ollama run llama3.2\n"),
            "cuda-broken-after-suspend",
            ["docker stop ollama", "docker start ollama"],
            ["systemctl stop ollama"],
        ),
        (_ECC.format("GPU 0: NVIDIA A100 80GB PCIe"), "ecc-uncorrectable", ["--gpu-reset -i 0"], ["INDEX"]),
        (
            _ECC.format("Tesla K40c: then I must restart the computer, then again."),
            "ecc-uncorrectable",
            ["RMA", "serial"],
            ["--gpu-reset"],
        ),
        (_GDR.format("2.20.5", _LOADED), "peermem-not-loaded", ["nvidia-nccl-cu12==2.23.4"], ["modprobe"]),
        (
            _GDR.format("2.23.4", "nvidia-peer-memory, 1.0, 4.15.0-46-generic, x86_64: installed\n"),
            "peermem-not-loaded",
            ["modprobe nv_peer_mem", "modules-load.d"],
            ["git clone"],
        ),
        (
            _GDR.format(
                "2.27.3",
                f"{_LOADED}filename:       /lib/modules/6.8.0-90-generic/kernel/drivers/infiniband/core/ib_core.ko\n",
            ),
            "peermem-not-loaded",
            ["DMA-BUF", "loading it again changes nothing"],
            ["modprobe nvidia-peermem"],
        ),
        (_GDR.format("2.27.3", ""), "peermem-not-loaded", ["modprobe nvidia-peermem"], ["DMA-BUF"]),
        (
            _802.format("driver 570.133.20, installed with the runfile"),
            "fabric-manager-not-running",
            ["cuda-keyring_1.1-1_all.deb", "nvidia-fabricmanager-570=570.133.20-*"],
            [],
        ),
        (_802.format("driver 570.133.20"), "fabric-manager-not-running", ["=570.133.20-*"], ["cuda-keyring"]),
        (
            _802.format(
                "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  575.57.08  Release Build\n"
                "nvidia-fabricmanager-580/unknown,now 580.95.05-1 amd64 [installed]\n"
            ),
            "fabric-manager-version-mismatch",
            ["nvidia-fabricmanager-575=575.57.08-*"],
            [],
        ),
        (
            _UNLICENSED.format(
                "nvidia-gridd[812]: Failed to renew license from x (Error: Could not connect to license server)"
            ),
            "vgpu-unlicensed",
            ["journalctl -u nvidia-gridd", "not a new token"],
            ["ClientConfigToken"],
        ),
        (
            _UNLICENSED.format("AKS, Azure: the new nodes of the node pool"),
            "vgpu-unlicensed",
            ["az aks nodepool"],
            ["ClientConfigToken"],
        ),
        (_UNLICENSED.format(""), "vgpu-unlicensed", ["ClientConfigToken"], ["az aks"]),
        (_BAR.format("VM with two H100. BIOS boot, not EFI."), "bar-not-assigned", ["EFI firmware"], ["update-grub"]),
        (_BAR.format("Clean Arch install"), "bar-not-assigned", ["grub-mkconfig"], ["update-grub"]),
        (
            _BAR.format("In the guest, Memory at <unassigned>. 'Above 4G decoding' is disabled in the BIOS."),
            "bar-not-assigned",
            ["Above 4G", "CSM"],
            ["update-grub"],
        ),
        (_MIG.format(""), "mig-one-instance-visible", ["$uuid PROGRAM"], ["ollama"]),
        (_MIG.format("ollama finds one of them only"), "mig-one-instance-visible", ["OLLAMA_HOST"], ["PROGRAM"]),
        (
            _LOCKED.format("I edited /etc/security/limits.conf, no change."),
            "memlock-too-low",
            ["root soft memlock unlimited", "do not apply to root"],
            [],
        ),
        (
            _LOCKED.format("As a user through the batch system it fails."),
            "memlock-too-low",
            ["LimitMEMLOCK=infinity", "daemon"],
            [],
        ),
        (
            "can't get back to hybrid on my laptop: lspci has only the Iris Xe, no NVIDIA GPU, Fedora 41. There is a "
            "/lib/udev/rules.d/50-remove-nvidia.rules",
            "optimus-gpu-off",
            ["sudo mv /lib/udev/rules.d/50-remove-nvidia.rules", "envycontrol -s hybrid"],
            ["prime-select"],
        ),
        (
            "SelectGpuId():cu-device.cc:159 Device 0: all CUDA-capable devices are busy or unavailable.",
            "compute-mode-exclusive",
            ["--use-gpu=wait"],
            ["nvidia-smi -c"],
        ),
    ],
)
def test_fix_is_the_one_for_who_runs_the_machine(text: str, check: str, parts: list[str], without: list[str]) -> None:
    assert_fix(text, check, parts, without)
