"""The fix for reports whose fix did not work in the reading of batch 41, and what stays as it was beside them."""

from __future__ import annotations

import pytest

from envkit.base.shell_lines import continued
from tests.checks.fix_said import assert_fix

_LLAMA = (
    "AVX = 1 | AVX2 = 1 | AVX512 = 0 | FMA = 1 | NEON = 0 | F16C = 1 | FP16_VA = 0 | WASM_SIMD = 0 | BLAS = 0 | "
    "SSE3 = 1 | VSX = 0 |\nIt installed llama-cpp-python on Ubuntu 22.04, n_gpu_layers=35, and the RTX 3080 is idle.\n"
)
_OFF_BUS = "NVRM: GPU 0000:01:00.0: GPU has fallen off the bus.\n"
_GROUP = (
    "qemu-system-x86_64: vfio 0000:01:00.0: group 1 is not viable\n"
    "01:00.0 VGA compatible controller [0300]: NVIDIA Corporation GP107M [GeForce GTX 1050 Ti Mobile] [10de:1c8c]\n"
    "\tKernel driver in use: vfio-pci\n"
    "01:00.1 Audio device [0403]: NVIDIA Corporation GP107GL High Definition Audio Controller [10de:0fb9] (rev a1)\n"
    "\tKernel driver in use: snd_hda_intel\n"
    "Fedora 30\n"
)
_CUBLAS = "RuntimeError: libcublas.so: cannot open shared object file: No such file or directory\n"
_CUPY = (
    'File "{}/cupy/__init__.py", line 18, in <module>\n'
    "ImportError: libcudart.so.11.0: cannot open shared object file: No such file or directory\nPython 3.10\n"
)
_LIBSTDCXX = (
    "ImportError: /usr/lib/x86_64-linux-gnu/libstdc++.so.6: version `GLIBCXX_3.4.30' not found (required by "
    "/home/u/mambaforge/envs/seg/lib/python3.10/site-packages/torch/lib/libtorch_python.so)\n"
)
_TLS = "OSError: /usr/lib/aarch64-linux-gnu/libgomp.so.1: cannot allocate memory in static TLS block\n"
_CC = (
    r'File "D:\x\venv\lib\site-packages\triton\runtime\build.py", line 52, in _build' + "\n"
    "RuntimeError: Failed to find C compiler. Please specify via CC environment variable.\nWindows 10\n"
)
_RADEON = "Windows 10, Radeon RX 5700 XT\n{}RuntimeError: Found no NVIDIA driver on your system.\n"
_NO_TORCH = (
    "× Failed to build `flash-attn==2.7.4.post1`\nModuleNotFoundError: No module named 'torch'\n"
    "hint: This error likely indicates that `flash-attn@2.7.4.post1` depends on `torch`, but doesn't declare it\n"
)
_POETRY = "Unable to find installation candidates for torch (2.4.1{})\npoetry install, {}\n"
_PLAN = "[TensorRT] ERROR: The engine plan file is not compatible with this version of TensorRT, expecting library version 5.1.5 got 5.1.6, please rebuild.\n"  # noqa: E501 - a message is one line
_MPI = (
    "mpirun -np 8 -x NCCL_SOCKET_IFNAME=enp65s0d1 -mca pml ob1 python train.py\n"
    "[node16][[40213,1],2][btl_tcp_endpoint.c:796:mca_btl_tcp_endpoint_complete_connect] connect() to 172.17.0.1 "
    "failed: Connection refused (111)\nNCCL WARN socketStartConnect: Connect to 10.0.0.5<38847> failed\n"
)
_MIXED = (
    "Fedora 27\nakmod-nvidia.x86_64  3:384.98-1.fc27  @rpmfusion-nonfree-updates\n"
    "nvidia-driver.x86_64  2:387.34-2.fc27  @fedora-nvidia\n"
)
_REFUSED = (
    "NVRM: The NVIDIA GPU 0000:05:00.0 (PCI ID: 10de:26b9)\n"
    "NVRM: installed in this system is not supported by the\nNVRM: NVIDIA 570.86.15 driver release.\n"
)


@pytest.mark.parametrize(
    ("text", "check", "parts", "without"),
    [
        (_OFF_BUS + "It was at 93C in the temperature column.", "gpu-fallen-off-bus", ["overheats", "-l 5"], ["RMA"]),
        (_OFF_BUS + "It was at 63C in the temperature column.", "gpu-fallen-off-bus", ["RMA"], ["overheats"]),
        (
            _OFF_BUS + "lspci: Region 1: Memory at <unassigned> (64-bit, prefetchable)",
            "bar-not-assigned",
            ["Above 4G"],
            ["RMA", "riser"],
        ),
        (_OFF_BUS + "The card hangs on an OCuLink cable.", "gpu-fallen-off-bus", ["cable", "externally"], ["riser"]),
        (_OFF_BUS, "gpu-fallen-off-bus", ["riser", "swap the card"], ["externally", "Above 4G"]),
        (
            _GROUP + "Using optirun when necessary",
            "passthrough-blocked",
            ["/0000:01:00.1/driver_override", "nothing at boot"],
            ["ids=", "sudo reboot"],
        ),
        (_GROUP, "passthrough-blocked", ["ids=10de:1c8c,10de:0fb9", "no longer use this GPU"], ["driver_override"]),
        (
            _CUBLAS + "/usr/local/cuda-10.2/lib64/libcublas.so\n/usr/local/cuda-10.2/lib64/libcublas.so.10\n",
            "libcudart-missing",
            ["export LD_LIBRARY_PATH=/usr/local/cuda-10.2/lib64", "nothing has to be installed"],
            ["ldconfig -p"],
        ),
        (_CUBLAS + "/usr/local/cuda/lib64/stubs/libcublas.so\n", "libcudart-missing", [], ["/stubs"]),
        (_CUBLAS + "/usr/local/cuda/lib64/libcurand.so\n", "libcudart-missing", [], ["libcublas.so is there"]),
        (
            _CUPY.format("/home/u/v/lib/python3.10/site-packages") + "/opt/cuda/lib64/libcudart.so.12\n",
            "libcudart-missing",
            ["install cupy-cuda12x==", "uninstall -y cupy"],
            ["nvidia-cuda-runtime-cu11"],
        ),
        (
            _CUPY.format("/usr/lib/python3.10/site-packages") + "/opt/cuda/lib64/libcudart.so.12\n",
            "libcudart-missing",
            ["cupy-env/bin/python -m pip install cupy-cuda12x=="],
            ["uninstall"],
        ),
        (
            _CUPY.format("/home/u/v/lib/python3.10/site-packages"),
            "libcudart-missing",
            ["nvidia-cuda-runtime-cu11"],
            ["cupy-cuda12x"],
        ),
        (
            _LIBSTDCXX + "$ echo $LD_LIBRARY_PATH\n/usr/lib/x86_64-linux-gnu:/usr/local/cuda/lib64\n",
            "libstdcxx-too-old",
            ["export LD_LIBRARY_PATH=/usr/local/cuda/lib64"],
            ["force-reinstall"],
        ),
        (
            _LIBSTDCXX + "$ echo $LD_LIBRARY_PATH\n/usr/local/cuda/lib64\n",
            "libstdcxx-too-old",
            ["conda install"],
            ["export"],
        ),
        (_TLS + "In JupyterLab, a notebook", "static-tls-full", ["kernel.json", "kernelspec list"], ["%env"]),
        (_TLS, "static-tls-full", ["export LD_PRELOAD="], ["kernelspec list"]),
        (_CC + "torch 2.4.0+cu121", "triton-needs-compiler", ["triton-windows==3.1", "uninstall -y triton"], ["-U"]),
        (_CC, "triton-needs-compiler", ["install triton-windows", "newest torch"], ["triton-windows=="]),
        (
            _RADEON.format("  torch.cuda.set_device(rank)\n"),
            "no-gpu-on-pci",
            ["git log", "leave its packages"],
            ["torch-directml"],
        ),
        (_RADEON.format(""), "no-gpu-on-pci", ["torch-directml", "Copy the program's folder"], ["git log"]),
        (
            "$ uv sync\n" + _NO_TORCH,
            "build-isolation-hides-torch",
            ['no-build-isolation-package = ["flash-attn"]', "uv sync --no-install-package flash-attn"],
            ["uv add"],
        ),
        (
            "$ pip install flash-attn\n" + _NO_TORCH,
            "build-isolation-hides-torch",
            ["pip install --no-build-isolation"],
            ["uv sync"],
        ),
        (
            _POETRY.format("+cu124", "on a Mac"),
            "python-no-wheel",
            ["sys_platform == 'darwin'", "poetry lock"],
            ["env use"],
        ),
        (_POETRY.format("+cu124", "on Linux"), "python-no-wheel", [], ["darwin"]),
        (_PLAN + "site-packages/torch2trt/torch2trt.py", "engine-built-elsewhere", ["torch2trt(model"], ["--onnx"]),
        (_PLAN, "engine-built-elsewhere", ["trtexec"], ["torch2trt"]),
        (_MPI, "nccl-wrong-interface", ["btl_tcp_if_include enp65s0d1", "oob_tcp_if_include"], ["drop that"]),
        (
            _MIXED + "$ dkms status\nnvidia, 387.34, 4.14.13-300.fc27.x86_64, x86_64: installed\n",
            "driver-repos-mixed",
            ["dnf remove akmod-nvidia", "dkms install --force nvidia/387.34", "excludepkgs"],
            ["apt-get", "dpkg"],
        ),
        (_MIXED, "driver-repos-mixed", ["dnf distro-sync", "excludepkgs"], ["apt-get", "dkms install"]),
        (
            _REFUSED + "gpu-operator; each instance has one nvidia-1153 device",
            "vm-gpu-unsupported-by-release",
            ["guest driver", "DRIVER_TYPE=vgpu"],
            ["bare metal"],
        ),
        (_REFUSED + "nvidia-driver-570 is installed", "vm-gpu-unsupported-by-release", ["bare metal"], ["DRIVER_TYPE"]),
        (_LLAMA + "The driver is 535.", "cpu-only-wheel", ["install --cuda 12.2", "GGML_CUDA=on"], []),
        (_LLAMA, "cpu-only-wheel", ["GGML_CUDA=on"], ["install --cuda"]),
    ],
)
def test_the_fix_is_for_what_the_report_shows(text: str, check: str, parts: list[str], without: list[str]) -> None:
    assert_fix(text, check, parts, without)


_ROCM = "Linux Mint 21.2, Radeon RX 6800, rocm-smi lists it. {}RuntimeError: Found no NVIDIA driver on your system.\n"
_IN_COLAB = (
    "{}[h264_nvenc @ 0x5] Driver does not support the required nvenc API version. Required: 9.1 Found: 9.0\n"
    "The minimum required Nvidia driver for nvenc is 435.21 or newer\nDriver Version: 418.67\nUbuntu 18.04\n"
)
_NO_CL = (
    "UserWarning: Error checking compiler version for cl: [WinError 2] The system cannot find the file specified\n"
    "Windows 10, torch {}\n"
)


@pytest.mark.parametrize(
    ("text", "check", "parts", "without"),
    [
        (
            _ROCM.format("torch 2.4.1+cu121. "),
            "no-gpu-on-pci",
            ["torch==2.4.1 torchvision==0.19.1", "whl/rocm6.1"],
            ["X.Y"],
        ),
        (_ROCM.format(""), "no-gpu-on-pci", ["Get Started"], ["whl/rocm6"]),
        (
            _IN_COLAB.format("Google Colab notebook\n"),
            "driver-too-old-for-runtime",
            ["hosted notebook"],
            ["nvidia-driver-", "reboot"],
        ),
        (_IN_COLAB.format(""), "driver-too-old-for-runtime", ["nvidia-driver-"], ["hosted notebook"]),
        (_NO_CL.format("2.0.1+cu118"), "build-tools-missing", ["VC.14.39", "-vcvars_ver=14.39"], []),
        (_NO_CL.format("2.7.1+cu128"), "build-tools-missing", ["VCTools"], ["vcvars_ver"]),
    ],
)
def test_the_fix_is_for_the_place(text: str, check: str, parts: list[str], without: list[str]) -> None:
    assert_fix(text, check, parts, without)


@pytest.mark.parametrize(
    ("command", "lines"),
    [
        (r'xcopy /y "%CUDA_PATH%\extras\*" "C:\Program Files\Microsoft Visual Studio\2022\MSBuild\Microsoft\VC"', 1),
        ("python -m pip install torch==2.7.1 torchvision==0.22.1 torchaudio==2.7.1 --extra-index-url https://x.org", 2),
    ],
)
def test_a_command_for_windows_stays_on_one_line(command: str, lines: int) -> None:
    assert len(continued(command, 70)) == lines
