"""The kinds of causes that batch 33 missed or named wrongly: on other machines, in other words, and what is none."""

from __future__ import annotations

import pytest

from tests.checks.remedies_given import REPORTS
from tests.checks.test_causes_of_the_eighth import first_failure
from tests.checks.test_remedies_suited import told

_SYMBOL = "ImportError: /opt/venv/lib/python3.10/site-packages/my_ops.so: undefined symbol: "
_ROOT = 'root = "/run/nvidia/driver"'
_NO_NVML = "nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1"
_TRT = "ImportError: libnvinfer.so.7: cannot open shared object file: No such file or directory"
_GNU = "#error -- unsupported GNU version! gcc versions later than 9 are not supported!"


@pytest.mark.parametrize(
    ("cause", "text"),
    [
        ("libstdcxx-too-old", f"{_SYMBOL}_ZSt28__throw_bad_array_new_lengthv"),
        ("libstdcxx-too-old", f"{_SYMBOL}_ZSt21ios_base_library_initv"),
        ("libstdcxx-too-old", f"{_SYMBOL}__cxa_call_terminate"),
        ("kernel-headers-missing", "nvidia-open-dkms got installed but there were no headers, nothing was built"),
        ("dkms-build-failed", "On kernel 6.12, DKMS could not compile the nvidia module, 535.183.01"),
        (
            "dkms-build-failed",
            "run-parts: /etc/kernel/header_postinst.d/dkms exited with return code 11\n"
            "dpkg: error processing package linux-headers-6.12.9-amd64, nvidia-legacy-390xx-kernel-dkms is installed",
        ),
        ("cudnn-older-than-build", "caffe 编译报错，cudnn 版本太旧"),
        ("cudnn-older-than-build", "TensorFlow 2.9 bricht ab: cuDNN ist zu alt"),
        ("jax-library-load", "jax 0.2: RuntimeError: Unimplemented: DNN library is not found."),
        (
            "several-toolkits-in-path",
            "import cupy fails with a DLL error. Windows 10, both CUDA versions are installed.",
        ),
        (
            "wsl-container-toolkit-too-old",
            "compose on WSL: [TRT] [W] Unable to determine GPU memory usage: named symbol not found",
        ),
        (
            "jetson-container-of-other-release",
            "docker: Error response from daemon: manifest for dustynv/ros:humble-pytorch-r35.5.0 not found: "
            "manifest unknown",
        ),
        ("jetson-container-of-other-release", f"Xavier NX, docker run: {_TRT}\ndpkg: TensorRT 8.2.1 on the host"),
        ("toolkit-root-elsewhere", f"{_NO_NVML}\n[nvidia-container-cli]\n{_ROOT}"),
        ("driver-capabilities-missing", "Unreal in a container: no Vulkan ICD found, nvidia-smi works"),
        ("cuda-visible-devices-invalid", "os.environ['CUDA_VISIBLE_DEVICES'] = '3' in main.py, it finds no GPU"),
        ("cpu-only-wheel", "'CMAKE_ARGS' is not recognized as an internal or external command, llama-cpp-python"),
        ("bad-cuda-env-vars", "'TORCH_CUDA_ARCH_LIST' is not recognized as an internal or external command"),
        (
            "bad-cuda-env-vars",
            "\"CUDA_VISIBLE_DEVICES\": 'CUDA_VISIBLE_DEVICES' 不是内部或外部命令，也不是可运行的程序",
        ),
        ("bad-cuda-env-vars", "I set CUDA_VISIBLE_DEVICE=1 and it still runs on GPU 0"),
        ("torch-replaced-by-dependency", "mamba install faiss: it replaces pytorch with the cpu build"),
        ("libcuda-stub-loaded", "The build box has only the CUDA stubs; torch.cuda.is_available() crashes"),
        ("cuda-architecture-not-chosen", "nvcc fatal   : Unsupported gpu architecture 'compute_91'"),
        ("toolkit-dropped-arch", "nvcc fatal   : Unsupported gpu architecture 'compute_35'"),
        ("codec-not-on-gpu", "[hevc_nvenc @ 0x55e0] 10 bit encode not supported, GTX 960"),
        ("codec-not-on-gpu", "[av1_cuvid @ 0x7f10] Codec av1_cuvid is not supported. (GTX 1660)"),
        ("arch-dropped-by-framework", "2 x Tesla K20Xm: no kernel image is available for execution on the device"),
        ("gcc-too-new-for-nvcc", f"host_config.h has this error:\n{_GNU}"),
        ("toolkit-missing", "编译 flash-attn 报错，nvcc 找不到"),
        ("bad-cuda-env-vars", "Jobs always use the same card: echo $CUDA_VISABLE_DEVICES prints 0"),
        ("bad-cuda-env-vars", "ObjectNotFound: (NCCL_DEBUG=INFO:String) [], CommandNotFoundException"),
        ("bad-cuda-env-vars", "无法将“CUDA_VISIBLE_DEVICES=0”项识别为 cmdlet、函数、脚本文件或可运行程序的名称。"),
        ("bad-cuda-env-vars", "CUDA_VISIBLE_DEVICES is not a command at my Windows prompt. What do I install?"),
        ("bad-cuda-env-vars", "bash: CUDA_VISIBLE_DEVICES: command not found"),
        ("bad-cuda-env-vars", "C:\\work>set CUDA_VISIBLE_DEVICES=1 python train.py\nC:\\work>"),
        (
            "kernel-headers-missing",
            "linux-lts with nvidia-dkms, the lts headers were not installed and there's no module",
        ),
        ("libcudart-missing", "import mxnet (mxnet-cu101) ends in OSError: [WinError 126]"),
        ("libcudart-missing", "cupy on Windows: ImportError: DLL load failed while importing device: module not found"),
        (
            "windows-runtime-missing",
            "ImportError: DLL load failed while importing _pywrap_tensorflow_internal: not found",
        ),
        ("tf-cannot-dlopen", "Colab, pip install tensorflow==2.11: the GPU isn't found, no GPU in the list"),
        ("driver-too-old-for-runtime", "训练都在 cpu 上跑，提示 driver 版本太低，torch 2.1"),
        ("bad-cuda-env-vars", "import torch\nos.environ['CUDA_VISIBLE_DEVICES'] = '2'\nIt always takes GPU 0."),
        ("bad-cuda-env-vars", "os.environ['CUDA_VISIBLE_DEVICES'] has no effect, all GPUs are in use"),
        (
            "gcc-too-new-for-nvcc",
            "nvcc fatal   : The version ('150000') of the host compiler ('clang') is not supported",
        ),
        ("docker-no-nvidia-runtime", "k3s: the plugin can't register, the node has no nvidia.com/gpu"),
        ("codec-not-on-gpu", "MX250: [h264_nvenc @ 0x1] OpenEncodeSessionEx failed: unsupported device (2)"),
        (
            "cpu-only-wheel",
            "I log in from my MacBook Pro to a server with an A100. Torch not compiled with CUDA enabled",
        ),
        ("jax-library-load", 'I saw "DNN library is not found" in the log of our jax job'),
    ],
)
def test_the_cause_is_named(cause: str, text: str) -> None:
    assert first_failure(text) == cause


@pytest.mark.parametrize(
    "text",
    [
        "g++ prints _ZSt28__throw_bad_array_new_lengthv when I demangle with c++filt",
        "nvidia-dkms was built; the response has no headers",
        "DKMS cannot build the module vboxdrv of virtualbox, the nvidia module loads, kernel 6.12",
        "cuDNN 版本是 8.9，训练正常，theano 可以用",
        "Two CUDA versions are installed for different projects, import tensorflow works and the GPU is used",
        "In WSL docker works, [TRT] [I] Init CUDA: CPU +12, GPU +0",
        "docker pull dustynv/jetson-inference:r32.7.1 is done, the image runs",
        f"the GPU operator's driver container is ready, {_ROOT}, pods get their GPU",
        "docker: vulkaninfo lists the NVIDIA Vulkan driver",
        "os.environ['CUDA_VISIBLE_DEVICES'] = '1' picks the second card, as it should",
        "On Windows I use set CUDA_VISIBLE_DEVICES=0 and then python train.py",
        "CUDA_VISIBLE_DEVICES=1 python train.py uses the second card",
        "conda install openblas leaves pytorch at the cuda build",
        "The image links against the stubs while it is built, and at run time the driver's libcuda is found",
        "[hevc_nvenc @ 0x55e0] encoder initialized, 10 bit",
        "In host_defines.h of CUDA 9.0 the check was:\n#error -- unsupported GNU version! gcc versions later than 6",
        "В host_config.h из 9.0 проверка была:\n#error -- unsupported GNU version! gcc versions later than 6",
        "K20Xm for sale. Or a Jetson Nano?",
        "echo $CUDA_VISIBLE_DEVICES prints 0, jobs use that card",
        "os.environ['CUDA_VISIBLE_DEVICES'] = '2'\nimport torch\nIt always takes GPU 2, as it should.",
        "nvcc -ccbin clang: the host compiler clang 14 is supported",
        "k3s: the node shows nvidia.com/gpu: 1, pods run on it",
        "CUDA_VISIBLE_DEVICES is a variable that Windows programs read as well",
        "C:\\work>set CUDA_VISIBLE_DEVICES=1\nC:\\work>python train.py\nusing cuda:0",
        "C:\\work>set CUDA_VISIBLE_DEVICES=1 && python train.py\nusing cuda:0",
        "linux-lts, the lts headers are installed, dkms built the nvidia module",
        "In Colab: !pip install tensorflow==2.15.0, the GPU is listed",
        "GTX 1080 Ti, HandBrake: No NVENC capable devices found, other programs encode on it",
        "[h264_cuvid @ 0x6] Codec h264_cuvid is not supported. RTX 3050 Ti",
        "MacBook Pro 16in, AssertionError: Torch not compiled with CUDA enabled",
        "macOS, AssertionError: Torch not compiled with CUDA enabled. With --cpu it is slow.",
        'Does jax need cuDNN? I read "DNN library is not found" somewhere.',
    ],
)
def test_what_only_looks_like_it_is_no_failure(text: str) -> None:
    assert first_failure(text) == ""


@pytest.mark.parametrize(
    ("report", "check", "parts", "without"),
    [
        ("05", "cuda-architecture-not-chosen", ["compute_20", "sm_21"], ["envkit install"]),
        ("07", "dkms-build-failed", ["nvidia-tesla-418-kernel-dkms", "nvidia-detect"], ["--purge '*nvidia*'"]),
        ("13", "jax-library-load", ["cuDNN"], []),
        ("15", "several-toolkits-in-path", ["Path", "where"], ["rm -rf", "LD_LIBRARY_PATH"]),
        ("22", "jetson-container-of-other-release", ["dustynv/jetson-inference:r32.7.1"], ["autotag"]),
        ("23", "jetson-container-of-other-release", ["libnvinfer", "JetPack"], ["l4t-pytorch"]),
        ("25", "toolkit-root-elsewhere", ["driver.enabled=false", "ldconfig.real"], ["apt-get"]),
        ("26", "driver-capabilities-missing", ["graphics", "icd.d"], []),
        ("27", "cuda-visible-devices-invalid", ["delete that line"], ["sed -i"]),
        ("29", "bad-cuda-env-vars", ["set CUDA_VISIBLE_DEVICES=", "$env:"], ["export"]),
        ("30", "bad-cuda-env-vars", ["CUDA_VISIBLE_DEVICES", "grep -rnw CUDA_VISIBLE"], []),
        ("38", "codec-not-on-gpu", ["RTX 40", "h264_nvenc"], ["apt-get"]),
        ("46", "libstdcxx-too-old", ["conda install", "$CONDA_PREFIX/lib"], ["apt-get"]),
    ],
)
def test_the_fix_is_that_of_the_machine(report: str, check: str, parts: list[str], without: list[str]) -> None:
    given = told((REPORTS / f"batch-33/b33-{report}.txt").read_text(), check)
    said = "\n".join((given.advice, *given.commands))
    assert [part for part in parts if part not in said] == []
    assert [part for part in without if part in said] == []
