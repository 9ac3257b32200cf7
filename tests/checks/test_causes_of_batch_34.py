"""The kinds of causes that batch 34 missed or named wrongly: on other machines, in other words, and what is none."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Status
from tests.checks.remedies_given import REPORTS
from tests.checks.software import findings_of
from tests.checks.test_remedies_suited import told

_UNBUILT = "AssertionError: Torch not compiled with CUDA enabled"
_DRIVERLESS = "RuntimeError: Found no NVIDIA driver on your system."
_ENTRY = "could not select device driver 'nvidia' with capabilities: [[gpu]]"
_LIBRARY = "CUDA runtime library `libcufft.so.11` was loaded from a system path, `/opt/cuda/lib64/libcufft.so.11`."
_OPEN_ONLY = "NVRM: Open nvidia.ko is only ready for use on Data Center GPUs."
_GLIBC = "/lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.34' not found"


def first(text: str) -> tuple[str, Status] | None:
    found = [each for each in findings_of(text) if each.status in (Status.FAIL, Status.WARN)]
    return (found[0].id, found[0].status) if found else None


def failures(text: str) -> list[str]:
    return [each.id for each in findings_of(text) if each.status is Status.FAIL]


@pytest.mark.parametrize(
    ("cause", "text"),
    [
        ("device-node-permission", "RTX 3060, CUDA unused: the user immich is not part of the group video. No CUDA"),
        ("device-node-permission", "NVIDIA card unused: the account ollama must be added to the group render"),
        ("container-no-gpu-injected", "compose: the deploy block doesn't work, no GPU. With runtime: nvidia it does"),
        (
            "container-no-gpu-injected",
            "compose 1.28.6, deploy.resources.reservations.devices: is_available() is False. With runtime: nvidia it's "
            "True.",
        ),
        ("extension-without-operators", "ModuleNotFoundError: No module named 'cumm.core_cc', Windows 11"),
        ("arch-newer-than-build", "The RTX 5080 is not supported by this torch, Fooocus doesn't run"),
        ("torchvision-mismatch", "After I upgraded torch to 2.4.0, torchvision does not import any more"),
        ("nccl-wrong-interface", "Last NCCL warning(error) log entry (may be unrelated) 'no socket interface found'"),
        ("rm-init-adapter-failed", f"{_OPEN_ONLY}\nRTX 3070, Ubuntu 22.04, 515.43.04"),
        ("rm-init-adapter-failed", "GH200 from HPE: with driver 570 nvidia-smi does not find any GPU, 550 is fine."),
        ("package-not-offered", "E: Unable to locate package linux-modules-nvidia-535-6.8.0-31-lowlatency"),
        (
            "device-nodes-missing",
            "slurmd could not find /dev/nvidia0 at boot. After nvidia-smi once as root all is good",
        ),
        ("device-nodes-missing", "slurmd: fatal: can't stat gres.conf file /dev//nvidia0: No such file or directory"),
        ("ld-library-path-shadows-wheels", f"Warning: {_LIBRARY}"),
        (
            "ld-library-path-shadows-wheels",
            "I installed cudnn 8.9.7 with conda, torch still loads cudnn 8.5.0. It fails",
        ),
        ("ld-library-path-shadows-wheels", "pip 装了 cudnn 9.1.0，tensorflow 却显示 8.9，报错"),
        ("dkms-build-failed", "dkms: autoinstall for kernel: 6.12.4-arch1-1 failed! nvidia/550.135"),
        ("dkms-build-failed", "linux-cachyos 7.0 gives an error in the dkms install of nvidia 595"),
        ("toolkit-missing", "export CUDA_HOME=/usr/local/cuda-11.3:$CUDA_HOME, setup.py does not find nvcc"),
        (
            "driver-capabilities-missing",
            "NixOS on WSL2, --device nvidia.com/gpu=all: nvidia-smi fails of missing libraries",
        ),
        ("power-reading-impossible", "RTX 5090 Laptop: a fixed 590 W, power limit 175 W, the clocks stay near idle"),
        ("mig-change-refused", "mig-parted: The following GPUs could not be reset: GPU 0: In use by another client"),
    ],
)
def test_the_cause_is_named(cause: str, text: str) -> None:
    assert first(text) == (cause, Status.FAIL)


@pytest.mark.parametrize(
    "text",
    [
        "Jellyfin with VAAPI on an Intel Arc A380: user jellyfin isn't in the group render",
        "The compose file has deploy.resources.reservations.devices, runtime: nvidia is not needed.",
        "spconv.core_cc imports, the voxels are generated",
        "Are the 50 series cards supported by the latest PyTorch build? I want to buy one.",
        "I updated torch and torchvision together and there is no torchvision error any more.",
        "NCCL INFO Bootstrap : Using eth0:10.0.0.4<0>, one socket interface found",
        f"NVreg_OpenRmEnableUnsupportedGpus=1 is set ({_OPEN_ONLY}), nvidia-smi shows the RTX 3070",
        "GH200: with driver 570 nvidia-smi finds both GPUs.",
        "Get:1 linux-modules-nvidia-535-6.8.0-31-generic, installed",
        "Radeon: could not find /dev/kfd, rocminfo fails after reboot",
        f"nsys profile julia train.jl\nWarning: {_LIBRARY}",
        "conda installed cudnn 8.9.7 and torch shows 8907, all fine",
        "dkms: autoinstall for kernel: 6.8.0 failed! virtualbox/7.0.10, the nvidia module is loaded and works",
        "export LD_LIBRARY_PATH=/usr/local/cuda/lib64:$LD_LIBRARY_PATH; nvcc 12.1 builds flash-attn",
        "NixOS on WSL2: docker run --device nvidia.com/gpu=all nvidia-smi lists the card",
        "RTX 4090: the power is constant at 450 W, the limit is 450 W, the clock is at 2700 MHz",
        "| 41%   61C    P2             438W /  450W |   20012MiB /  24564MiB |     98%      Default |",
        "mig-parted: MIG configuration applied successfully",
        "torch 2.6 and the CUDA 12.8 build on an RTX 5090: does that work?",
    ],
)
def test_what_only_looks_like_it_is_no_failure(text: str) -> None:
    assert failures(text) == []


@pytest.mark.parametrize(
    ("machine", "words"),
    [
        ("Mac M1 here. ", "mps"),
        ("I have a M3 Pro. ", "mps"),
        ("M2 Ultra, 192 GB: ", "mps"),
        ("OSX 13.2, conda: ", "mps"),
        ("苹果电脑 M2 芯片：", "mps"),
        ("/Users/me/miniconda3/envs/tts/lib/python3.10/site-packages/torch/cuda/__init__.py: ", "mps"),
        ("Auf meinem Mac kommt: ", "mps"),
        ("昇腾 910B3：", "npu"),
        ("Ascend NPU, CANN 8.0: ", "npu"),
        ("Cambricon MLU370: ", "maker"),
        ("海光 DCU Z100：", "maker"),
        ("摩尔线程 S4000：", "maker"),
        ("天数智芯 BI-V100：", "maker"),
        ("Habana Gaudi2: ", "maker"),
        ("Cloud TPU v3-8: ", "maker"),
        ("Snapdragon X Elite: ", "CPU"),
        ("Raspberry Pi 5: ", "CPU"),
        ("Strix Halo: ", "ROCm"),
        ("I've got a 7900xtx. ", "ROCm"),
        ("MI300X: ", "ROCm"),
        ("torch 2.5.1+xpu, Meteor Lake: ", "xpu"),
    ],
)
@pytest.mark.parametrize("message", [_UNBUILT, _DRIVERLESS])
def test_a_machine_of_another_maker_is_told_nothing_of_nvidia(machine: str, words: str, message: str) -> None:
    text = machine + message
    assert first(text) == ("no-gpu-on-pci", Status.WARN)
    assert failures(text) == []
    assert words in told(text, "no-gpu-on-pci").advice


@pytest.mark.parametrize(
    ("text", "words", "without"),
    [
        (f"RX 6700 XT with docker: {_ENTRY}", "/dev/kfd", "whl/rocm"),
        (f"Mac Studio, docker: {_ENTRY}", "Containers on a Mac", "nvidia-ctk"),
        ("W7900: flash-attn stops, CUDA_HOME environment variable is not set", "build for ROCm", "uninstall"),
        ("Ascend 910B: flash-attn stops, CUDA_HOME environment variable is not set", "torch_npu", "toolkit-12"),
    ],
)
def test_docker_and_builds_that_ask_for_cuda_are_answered_by_the_machine(text: str, words: str, without: str) -> None:
    given = told(text, "no-gpu-on-pci")
    said = "\n".join((given.advice, *given.commands))
    assert words in said
    assert without not in said


@pytest.mark.parametrize(
    "text",
    [
        f"RTX 3060, Windows 11: {_UNBUILT}",
        f"AMD Ryzen 7 5800X with an RTX 4070: {_UNBUILT}",
        f"Laptop with Radeon 780M and RTX 4050: {_UNBUILT}",
        f"Ryzen AI 9 HX 370 notebook with a GeForce 4060: {_UNBUILT}",
        f"It works on my Mac, on the Linux server with a V100: {_UNBUILT}",
        f"C:\\Users\\me\\venv: {_UNBUILT}",
        f"/c/Users/me/venv/lib: {_UNBUILT}",
        f"/mnt/c/Users/me/venv/lib: {_UNBUILT}",
    ],
)
def test_an_nvidia_machine_that_names_another_one_keeps_its_fault(text: str) -> None:
    assert first(text) == ("cpu-only-wheel", Status.FAIL)


@pytest.mark.parametrize(
    ("report", "check", "parts", "without"),
    [
        ("05", "power-reading-impossible", ["rpm-ostree rollback"], ["nvidia-smi -pl"]),
        ("08", "device-node-permission", ["usermod -aG video ollama"], ["$USER"]),
        ("09", "container-no-gpu-injected", ["runtime: nvidia"], ["reservations: {devices"]),
        ("12", "extension-without-operators", ["spconv", "cumm"], ["--no-build-isolation"]),
        ("21", "nccl-wrong-interface", ["without ^", "ip -br addr"], ["export NCCL_SOCKET_IFNAME=^lo"]),
        ("22", "rm-init-adapter-failed", ["machine.kernel.modules", "talosctl"], ["/etc/modprobe.d"]),
        ("23", "package-not-offered", ["system extensions", "driver.enabled=false"], ["apt-cache"]),
        ("44", "toolkit-missing", ["CUDA_HOME=/usr/local/cuda"], ["envkit install"]),
        ("46", "driver-capabilities-missing", ["mount-nvidia-executables = false"], ["docker run"]),
        ("49", "rm-init-adapter-failed", ["VBIOS", "vbios_version"], ["power cables"]),
    ],
)
def test_the_fix_is_that_of_the_machine(report: str, check: str, parts: list[str], without: list[str]) -> None:
    given = told((REPORTS / f"batch-34/b34-{report}.txt").read_text(), check)
    said = "\n".join((given.advice, *given.commands))
    assert [part for part in parts if part not in said] == []
    assert [part for part in without if part in said] == []


@pytest.mark.parametrize(
    ("text", "check", "words"),
    [
        (
            "gpu-operator: E: Unable to locate package linux-objects-nvidia-550-5.14.el9",
            "package-not-offered",
            "Ubuntu",
        ),
        (f"apptainer build: {_GLIBC} (required by /.singularity.d/libs/faked)", "glibc-too-old", "ignore-fakeroot"),
        (f"apptainer exec --nv: {_GLIBC} (required by /.singularity.d/libs/libGLX.so.0)", "glibc-too-old", "nvccli"),
        ("Mac M1: No matching distribution found for triton==2.1.0", "python-no-wheel", "leave it out"),
        ("Python 3.13: No matching distribution found for triton==2.1.0", "python-no-wheel", "has wheels for"),
        (
            "No module named 'spconv.core_cc'. torch 2.1.0+cu118, Python 3.10, Linux",
            "extension-without-operators",
            "spconv-cu118",
        ),
    ],
)
def test_the_fix_fits_the_case(text: str, check: str, words: str) -> None:
    given = told(text, check)
    assert words in "\n".join((given.advice, *given.commands))
