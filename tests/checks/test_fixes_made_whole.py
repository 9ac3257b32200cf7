"""Fixes that named the right direction and stopped there: they are whole now, for their class and not beyond it."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Finding, Status
from tests.checks.software import findings_of


def _fails(text: str) -> list[Finding]:
    return [one for one in findings_of(text) if one.status is Status.FAIL]


def _said(text: str, check: str) -> str:
    found = next(one for one in _fails(text) if one.id == check)
    assert found.remedy is not None
    return f"{found.remedy.advice} {' '.join(found.remedy.commands)}"


_BOOT = "Secure Boot is enabled, and the nvidia module: Key was rejected by service\n"
_NO_KERNEL = (
    "Server error: CUDA error: no kernel image is available for execution on the device\n"
    "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
)
_XAVIER = "# R35 (release), REVISION: 4.1, GCID: 33958178, BOARD: t186ref, EABI: aarch64\n"
_FOUND = "Found compatible container dustynv/opencv:4.8.1-r36.2.0, ImportError: libnvrm.so\n"
_NANO = "# R32 (release), REVISION: 7.4, GCID: 33514132, BOARD: t210ref, EABI: aarch64\n"
_MDEV = (
    "/var/lib/dkms/nvidia/460.32.04/build/nvidia-vgpu-vfio/nvidia-vgpu-vfio.c:162:25: error: initialization of 'int "
    "(*)(struct mdev_device *)' from incompatible pointer type 'int (*)(struct kobject *, struct mdev_device *)'\n"
)
_HOST = "#error -- unsupported GNU version! gcc versions later than {} are not supported!\nUbuntu {}\n"
_ABI = "ImportError: /v/lib/python3.10/site-packages/{}.so: undefined symbol: _ZN2at4_ops10zeros_like4callE\n"
_TOO_OLD = "The NVIDIA driver on your system is too old (found version 11040).\n"
_WEBUI = 'File "/home/user/stable-diffusion-webui/venv/lib/python3.10/site-packages/torch/cuda/__init__.py"\n'


@pytest.mark.parametrize(
    ("text", "check", "said", "unsaid"),
    [
        # an image with modules of its own has a command for its key; a plain Fedora has that of akmods
        (f"Bazzite. {_BOOT}", "secure-boot-unsigned-module", "ujust enroll-secure-boot-key", "kmodgenca"),
        (f"Fedora 41, akmods. {_BOOT}", "secure-boot-unsigned-module", "kmodgenca", "ujust"),
        # no wheel has cuDNN 7: on Windows its DLL comes from NVIDIA's archive, on Linux from envkit's plan
        (
            "dynamic library (cudnn64_7.dll) that Paddle depends on is not configured correctly. (error code is 126)\n",
            "cudnn-missing",
            "cudnn-archive",
            "envkit install",
        ),
        # another build of the program's own PyTorch, in the direction that the GPU needs
        (f"Windows 11, Zotac 5070 12 GB. Managed Server\n{_NO_KERNEL}", "arch-newer-than-build", "whl/cu128", "cmake"),
        (f"Windows 10, GTX 1060, managed server\n{_NO_KERNEL}", "arch-dropped-by-framework", "whl/cu126", "cmake"),
        (f"RTX 5090\n{_NO_KERNEL.splitlines()[0]}\n", "arch-newer-than-build", "a newer CUDA", "an older CUDA"),
        # the image of the same name for the board's release
        (_NANO + _FOUND, "jetson-container-of-other-release", "dustynv/opencv:r32.7.1", "git clone"),
        (_XAVIER + _FOUND, "jetson-container-of-other-release", "dustynv/opencv:r35.4.1", "r32"),
        # the compiler's error is there: the log tells no more
        (_MDEV, "dkms-build-failed", "do not match this kernel", "tail -n 40"),
        (
            "Building for 5.11.17-051117-generic\ndpkg: error processing package nvidia-dkms-465 (--configure):\n",
            "dkms-build-failed",
            "mainline kernel",
            "tail -n 40",
        ),
        # an old nvcc is deaf to the variable
        (_HOST.format(6, "18.04"), "gcc-too-new-for-nvcc", "ln -sfn /usr/bin/gcc-6", "conda"),
        (_HOST.format(11, "22.04"), "gcc-too-new-for-nvcc", "gcc-11", "ln -sfn"),
        # a name that no library of the CUDA that is there has
        (
            "Could not load dynamic library 'libcusolver.so.10'; dlerror: libcusolver.so.10. CUDA is 11.2.\n",
            "tf-cannot-dlopen",
            "tensorflow==2.5",
            "envkit resolve",
        ),
        (
            "Could not load dynamic library 'libcusolver.so.11'; dlerror: libcusolver.so.11. CUDA is 11.2.\n",
            "tf-cannot-dlopen",
            "",
            "belongs to CUDA",
        ),
        # the extension that the message names, compiled against this torch
        (
            _ABI.format("selective_scan_cuda.cpython-310-x86_64-linux-gnu"),
            "extension-abi-mismatch",
            "--no-build-isolation",
            "--upgrade",
        ),
        (_ABI.format("foreign_thing"), "extension-abi-mismatch", "wheel whose name matches", "--no-build-isolation"),
        # which of the two TensorRT releases is older
        (
            "The engine plan file is not compatible with this version of TensorRT, expecting library version 8.0.0 got "
            "8.0.1, please rebuild.\n",
            "engine-built-elsewhere",
            "tensorrt==8.0.1",
            "tensorrt==8.0.0",
        ),
        (
            "The engine plan file is not compatible with this version of TensorRT, expecting library version 8.6.1 got "
            "8.0.1, please rebuild.\n",
            "engine-built-elsewhere",
            "Rebuild",
            "Or keep the engine",
        ),
        # the torch that a program pins, and the xFormers of that torch
        (
            f"RTX 3090, since I installed xformers:\n{_TOO_OLD}{_WEBUI}",
            "driver-too-old-for-runtime",
            "xformers==0.0.23.post1",
            "torch==2.7",
        ),
        (f"RTX 3090\n{_TOO_OLD}torch 2.3.0+cu121\n", "driver-too-old-for-runtime", "torch==2.3.0", "xformers"),
        (
            "RuntimeError: CUDA Setup failed despite GPU being available.\n",
            "extension-abi-mismatch",
            "libcudart.so",
            "--upgrade",
        ),
        # InfiniBand is tried when the sockets have connected: their interface is not at fault
        (
            "mpirun -x NCCL_SOCKET_IFNAME=eth0: NCCL WARN NET/IB : Got completion with error 12, opcode 1, len 0\n",
            "nccl-wrong-interface",
            "NCCL_IB_GID_INDEX",
            "Specify an interface",
        ),
        # an environment of conda takes the CUDA that the driver runs
        (
            "driver 440.64, Quadro RTX 5000\n  File numba/cuda/cudadrv/nvvm.py, line 345, in get_arch_option\n"
            "    return 'compute_%d%d' % arch\nTypeError: not enough arguments for format string\n"
            "cudatoolkit               11.0.221             h6bb024c_0\n",
            "driver-too-old-for-runtime",
            "cudatoolkit<=10.2",
            "apt-get",
        ),
        (
            "1>Compiling CUDA source file kernel.cu...\n1>nvcc.exe -gencode=arch=compute_52,code=sm_52\nGTX 1060\n"
            "no kernel image is available for execution on the device\n",
            "cuda-architecture-not-chosen",
            "compute_61,sm_61",
            "cmake",
        ),
        (
            "make -j4\nc++: fatal error: Killed signal terminated program cc1plus\n"
            "Mem:           3964        1420        1988          23         555        2380\n",
            "build-out-of-memory",
            "swapon",
            "-j2",
        ),
        (
            "make -j4\nc++: fatal error: Killed signal terminated program cc1plus\n"
            "Mem:          64211        1420        1988          23         555        2380\n",
            "build-out-of-memory",
            "-j",
            "swapon",
        ),
        (
            "ollama: CPU does not have AVX or AVX2, disabling GPU support\n",
            "cpu-lacks-instructions",
            "Update Ollama",
            "faulthandler",
        ),
        (
            "### TensorFlow version\n\n2.16.1\n\npip install tensorflow[and-cuda]\nW Cannot dlopen some GPU libraries. "
            "Please make sure the missing libraries mentioned above are installed properly\n",
            "tf-cannot-dlopen",
            "nvidia.__path__",
            "envkit resolve",
        ),
        (
            "onnxruntime                   1.19.0\nonnxruntime-gpu               1.19.0\nonly CPUExecutionProvider\n",
            "onnxruntime-two-packages",
            "onnxruntime-gpu==1.19.0",
            "1.26",
        ),
    ],
)
def test_the_fix_goes_all_the_way(text: str, check: str, said: str, unsaid: str) -> None:
    given = _said(text, check)
    assert said in given and unsaid not in given, given
