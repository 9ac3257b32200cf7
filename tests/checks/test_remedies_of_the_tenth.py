"""The fix for reports whose fix was judged not to work in the tenth reading, and what stays as it was beside them."""

from __future__ import annotations

import pytest

from tests.checks.fix_said import assert_fix
from tests.checks.remedies_given import REPORTS


@pytest.mark.parametrize(
    ("report", "check", "parts", "without"),
    [
        ("37/b37-02", "driver-dropped-gpu", ["branch 340", "use a newer card"], ["modprobe nvidia"]),
        ("37/b37-06", "visual-studio-without-cuda", [r"(x86)\Microsoft Visual Studio\2019\Community"], ["2022"]),
        (
            "37/b37-19",
            "toolkit-missing",
            ["-runtime/-devel/", "docker build -t my/sglang ."],
            ["colon", "envkit install"],
        ),
        ("37/b37-24", "operator-driver-beside-host", ["microk8s helm3 upgrade", "driver.enabled=false"], ["$ helm"]),
        ("37/b37-31", "gpu-refused-in-vm", ["OVMF", "mbr2gpt"], ["465", "hide the hypervisor"]),
        ("37/b37-32", "vm-gpu-unsupported-by-release", ["-grid.run", "talosctl upgrade"], ["bare metal"]),
        ("37/b37-34", "nccl-wrong-interface", ["ip route del 192.168.0.0/20 dev enp37s0f0", "/24"], ["^lo"]),
        ("37/b37-35", "bar-not-assigned", ["QWordMemory", "iasl -d"], ["update-grub\n", "/etc/default/grub"]),
        ("37/b37-36", "cuda-visible-devices-invalid", ["export NVIDIA_VISIBLE_DEVICES=all"], ["--gpus-per-node"]),
        ("37/b37-38", "tf-cannot-dlopen", ["module load cudnn/8.6.0.163", "LD_LIBRARY_PATH"], ["pip install"]),
        (
            "37/b37-39",
            "gpu-assertion-failed",
            ["num_classes=2", "background", "%env CUDA_LAUNCH_BLOCKING=1"],
            ["token ID"],
        ),
        ("38/b38-04", "module-missing-for-running-kernel", ["6.8.0-1024-aws", "--dkms"], ["dkms autoinstall"]),
        ("38/b38-05", "driver-too-old-for-runtime", ["gpu-driver-version=latest", "Dockerfile", "whl/cu118"], []),
        ("38/b38-06", "vgpu-unlicensed", ["lacks nvidia-gridd", "nodepool snapshot"], ["ClientConfigToken"]),
        ("38/b38-09", "container-no-gpu-injected", ["containerOptions = '--nv'"], []),
        ("38/b38-12", "cudnn-missing", ["$CONDA_PREFIX/lib"], ["find /", "ln -sf"]),
        ("38/b38-13", "engine-built-elsewhere", ["/usr/src/tensorrt/bin/trtexec", "--fp16"], []),
        ("38/b38-15", "kubernetes-mig-layout", ['"strategy": "mixed"'], ["kubectl label"]),
        ("38/b38-26", "nvjitlink-symbol", ["-e /opt/conda/lib"], ["grep -v cuda"]),
        ("38/b38-29", "build-isolation-hides-torch", ["uv pip install --no-build-isolation flash-attn"], ["uv add"]),
        ("38/b38-35", "gpu-assertion-failed", ["num_embeddings", "gaps"], ["number of classes"]),
        ("38/b38-36", "windows-runtime-missing", ["Microsoft.VCRedist", "Only if"], []),
        ("38/b38-37", "wsl-libcuda-missing", ["19043", "21H2"], ["preview build"]),
        ("38/b38-22", "tf-cannot-dlopen", ["os.add_dll_directory(r'C:", "python.org"], ["conda install"]),
        ("38/b38-30", "nvcc-vs-torch-mismatch", ["--cuda 11.3", "gcc-10"], []),
        ("38/b38-38", "cudnn-missing", ["nv24.08", "L4T 36.4.3"], ["nvidia-cudnn-cu12"]),
        ("38/b38-19", "arch-newer-than-build", ["a tag that is newer than xprobe/xinference:v1.6.1", "cu128"], []),
        ("38/b38-20", "arch-newer-than-build", ["torch==1.7.1+cu110", "dist/cu110/torch1.7/index.html"], []),
        ("31/b31-19", "ptxas-missing-or-old", ["--cuda 11.8", "first on PATH"], ["nvidia-cuda-nvcc-cu12"]),
        ("38/b38-10", "driver-capabilities-missing", ["docker-compose up -d"], ["docker compose"]),
        ("38/b38-03", "dkms-build-failed", ["470.256.02", "6.2.6-76060206-generic"], ["555", "580"]),
        ("36/b36-08", "engine-built-elsewhere", ["nvcr.io/nvidia/tensorrt:23.04-py3 trtexec"], ["import tensorrt"]),
        ("36/b36-20", "libdevice-not-found", ["jit_compile", "WSL 2"], ["winget"]),
        ("34/b34-04", "rm-init-adapter-failed", ["VBIOS", "FSP"], ["power cables"]),
        ("34/b34-26", "nvml-library-missing", ["LXC", "--no-kernel-module"], ["snap"]),
        ("34/b34-28", "engine-built-elsewhere", ["/usr/src/tensorrt/bin/trtexec"], []),
        ("34/b34-40", "nccl-wrong-interface", ["169.254", "NCCL_SOCKET_IFNAME=NAME"], ["^lo"]),
        ("33/b33-02", "glibc-newer-than-toolkit", ["CUDA 13.2", "2.42"], ["13.0"]),
        ("31/b31-10", "build-out-of-memory", ["make -j1"], ["-j1)"]),
        ("31/b31-11", "build-isolation-hides-torch", ["--no-build-isolation ."], ["rerun your install"]),
        ("30/b30-09", "build-isolation-hides-torch", ["--no-build-isolation flash-attn==2.7.0.post2"], []),
        ("31/b31-21", "cpu-only-wheel", ["--use_cuda", "onnxruntime_gpu"], ["onnxruntime-gpu["]),
        ("31/b31-22", "engine-built-elsewhere", ["trtcache", "delete that directory"], ["trtexec"]),
        ("31/b31-37", "nccl-wrong-interface", ["export FI_PROVIDER=efa"], ["^lo"]),
        ("35/b35-11", "gpu-kernel-timeout", ["reg add HKLM\\System", "overclocking"], []),
        ("38/b38-33", "cuda-broken-after-suspend", ["systemctl stop ollama", "rmmod nvidia_uvm"], []),
        ("38/b38-39", "ranks-share-a-gpu", ["2 times", "--ntasks-per-node=1"], ["torchrun"]),
    ],
)
def test_the_fix_is_whole(report: str, check: str, parts: list[str], without: list[str]) -> None:
    assert_fix((REPORTS / f"batch-{report}.txt").read_text("utf-8"), check, parts, without)


_NO_TOOLSET = "CMake Error at CMakeDetermineCompilerId.cmake:491 (message):\n  No CUDA toolset found.\nWindows 11\n"
_NO_ROUTE = "NCCL WARN socketStartConnect: Connect to 192.168.3.15<46811> failed : Connection timed out\n"
_CODE_43 = "Windows has stopped this device because it has reported problems. (Code 43), a Windows guest of Proxmox\n"
_NO_WINDOW = "pci 0000:01:00.0: BAR 1: no space for [mem size 0x2000000000 64bit pref], nvidia: probe failed\n"
_DKMS = (
    "Error! Bad return status for module build on kernel: {} (x86_64)\nConsult /var/lib/dkms/nvidia/{}/build/make.log"
)
_ASSERT = "CUDA error: device-side assert triggered\n"


@pytest.mark.parametrize(
    ("text", "check", "parts", "without"),
    [
        (f"{_NO_TOOLSET}Visual Studio 2022 BuildTools\n", "visual-studio-without-cuda", ["2022"], ["2019"]),
        (_NO_TOOLSET, "visual-studio-without-cuda", ["2022", "2019"], []),  # nothing tells which
        (  # one of the interfaces is in another subnet
            f"{_NO_ROUTE}192.168.0.0 0.0.0.0 255.255.255.0 U 100 0 0 eth0\n"
            "10.0.0.0 0.0.0.0 255.255.255.0 U 100 0 0 eth1\n",
            "nccl-wrong-interface",
            ["Specify an interface"],
            ["ip route"],
        ),
        (_CODE_43, "gpu-refused-in-vm", ["465"], ["OVMF"]),  # nothing is hidden yet
        (f"{_CODE_43}-cpu host,kvm=off works\n", "gpu-refused-in-vm", ["465"], ["OVMF"]),  # nothing tells the firmware
        (_NO_WINDOW, "bar-not-assigned", ["pci=realloc"], ["QWordMemory"]),  # not tried yet
        (
            "nvidia-container-cli: device error: 4: unknown device\ndocker run --gpus device=4 IMAGE\n",
            "cuda-visible-devices-invalid",
            ["nvidia-smi -L"],
            ["NVIDIA_VISIBLE_DEVICES=all", "cgroup"],
        ),
        (_ASSERT, "gpu-assertion-failed", ["number of classes", "token ID"], ["num_embeddings"]),
        (
            "modprobe: FATAL: Module nvidia not found in directory /lib/modules/6.8.0-45-generic\nUbuntu 22.04\n"
            "/lib/modules/6.8.0-31-generic/updates/dkms/nvidia.ko\n",
            "module-missing-for-running-kernel",
            ["dkms autoinstall"],
            [".run"],
        ),
        ("vGPU Software Licensed Product\nLicense Status : Unlicensed\n", "vgpu-unlicensed", ["token"], ["lacks"]),
        (
            "ERROR: [TRT]: 6: The engine plan file is generated on an incompatible device, expecting compute 8.6 got "
            "compute 7.5, please rebuild. model.engine\n",
            "engine-built-elsewhere",
            ["trtexec --onnx=model.onnx"],
            ["/usr/src/tensorrt"],
        ),
        (
            "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 31000\n#SBATCH --ntasks-per-node=4\n"
            "srun python train.py\n",
            "ranks-share-a-gpu",
            ["torchrun"],
            ["--ntasks-per-node=1"],
        ),
        (  # other functions than rsqrt
            'mathcalls.h(79): error: exception specification is incompatible with that of previous function "cospi"\n',
            "glibc-newer-than-toolkit",
            ["CUDA 13.0"],
            ["13.2"],
        ),
        (  # a GCC that the toolkit accepts
            "RuntimeError: The detected CUDA version (11.5) mismatches the version that was used to compile PyTorch "
            "(12.1). Ubuntu 22.04, torch 2.3.0+cu121, nvcc release 11.5\n",
            "nvcc-vs-torch-mismatch",
            ["--cuda 12.1"],
            ["GCC"],
        ),
        (  # a base image has no tag for a framework
            "FROM nvidia/cuda:12.1.0-devel-ubuntu22.04\ndocker run --gpus all nvidia/cuda:12.1.0-devel-ubuntu22.04\n"
            "NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch "
            "installation.\nCUDA error: no kernel image is available for execution on the device\ntorch 2.5.1+cu121\n",
            "arch-newer-than-build",
            ["cu128"],
            ["a tag that is newer"],
        ),
        (  # a card of today
            "NVIDIA Corporation TU104 [GeForce RTX 2080]\nmodprobe: ERROR: could not insert 'nvidia': No such device\n",
            "driver-module-not-loaded",
            ["refuses every GPU"],
            ["340"],
        ),
        (  # the last release that is known for its branch does not fit either
            _DKMS.format("6.12.1", "470.256.02"),
            "dkms-build-failed",
            ["last branch for Kepler"],
            ["470.256.02 or newer"],
        ),
        (  # a list does have a colon
            "/bin/sh: 1: /usr/local/cuda:/usr/local/cuda-12.4/bin/nvcc: not found\nCUDA_HOME is set, the build fails\n",
            "toolkit-missing",
            ["contains a colon"],
            [],
        ),
    ],
)
def test_what_is_near(text: str, check: str, parts: list[str], without: list[str]) -> None:
    assert_fix(text, check, parts, without)
