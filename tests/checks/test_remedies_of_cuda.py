"""Fixes of CUDA's libraries and compilers that say all that the reporter needs."""

from __future__ import annotations

import pytest

from tests.checks.fix_said import assert_fix

_NO_FILE = "OSError: {}: cannot open shared object file: No such file or directory\n"
_DLL = "ImportError: Could not find 'cudart64_90.dll'. TensorFlow requires that this DLL be installed in %PATH%\n"


@pytest.mark.parametrize(
    ("text", "parts", "without"),
    [
        (
            "pip3 install mxnet-cu101\n" + _NO_FILE.format("libnccl.so.2"),
            ["nvidia-nccl-cu11", "export LD_LIBRARY_PATH"],
            ["its own environment"],
        ),
        (
            "pip install mxnet-cu112\n" + _NO_FILE.format("libcusolver.so.11"),
            ["nvidia-cusolver-cu11", "nvidia-cufft-cu11", "nvidia-cudnn-cu11==8.*"],
            [],
        ),
        (
            "pip install mxnet-cu101mkl\n" + _NO_FILE.format("libcudart.so.10.1"),
            ["mxnet-cu101 has 10.1", "envkit install --cuda 10.1"],
            [],
        ),
        (
            'File "/usr/lib/python3.7/site-packages/mxnet/base.py", line 204\n'
            + _NO_FILE.format("libcudart.so.10.0")
            + "$ pacman -Q mxnet cuda\nmxnet 1.4.0-1.1\ncuda 10.1.105-6\n",
            ["sudo pacman -Syu", "/var/cache/pacman/pkg"],
            ["envkit install"],
        ),
        (
            "export LD_LIBRARY_PATH=/usr/local/cuda-10.1/lib64\n" + _NO_FILE.format("libcublas.so.10"),
            ["find /usr/local /usr/lib -name 'libcublas.so.10'", "ldconfig"],
            ["envkit install"],
        ),
        (_DLL, ["v9.0\\bin", "cudnn64_7.dll", "cuda-toolkit-archive"], ["pip install"]),
        (
            "bitsandbytes on Windows 11: CUDA_SETUP: WARNING! libcudart.so not found in any environmental path.\n",
            ["bitsandbytes>=0.43.0"],
            ["No wheel"],
        ),
        (
            "cupy-cuda111 9.6.0\n/usr/local/cuda/lib64/libnvrtc.so.11.5.119\n"
            'File "/home/u/.local/lib/python3.8/site-packages/cupy/__init__.py", line 18, in <module>\n'
            + _NO_FILE.format("libnvrtc.so.11.1"),
            ["install cupy-cuda11x==", "uninstall -y cupy"],
            ["nvidia-cuda-nvrtc-cu11"],
        ),
        (
            "poetry install with torch ^2.0: import torch ends in OSError: libcurand.so.10 cannot be opened\n",
            ["poetry show torch", "poetry add torch=="],
            ["No wheel"],
        ),
        (
            "onnxruntime lists the provider, but: Failed to create CUDAExecutionProvider. Ubuntu 20.04\n",
            ["libonnxruntime_providers_cuda.so", "--cuda 11.8 --cudnn 8"],
            ["No wheel"],
        ),
    ],
)
def test_a_library_comes_the_way_that_its_program_calls_for(text: str, parts: list[str], without: list[str]) -> None:
    assert_fix(text, "libcudart-missing", parts, without)


@pytest.mark.parametrize(
    ("text", "parts", "without"),
    [
        (
            "GPU版一运行就报找不到 CUDNN 库。bin 里有的是 cudnn64_7.dll。报错里说找不到 cudnn64_8.dll\n",
            ["nvidia-cudnn-cu12==8.*", "/**/*.dll"],
            ["libcudnn.so", "LD_LIBRARY_PATH"],
        ),
        ("WIN 下装了 PaddlePaddle2 GPU,run_check 报错说找不到 cudnn\n", ["where.exe"], ["libcudnn.so"]),
        (
            "Could not locate cudnn_ops_infer64_8.dll, but it's in CUDA\\v11.6\\bin. paddle 2.4.2\n",
            ["v11.6\\bin", "WindowsApps", "add_dll_directory"],
            ["pip install"],
        ),
        ("用 whisper 转录时要找 libcudnn_ops.so.9.1.0,可是我装的是 cudnn 8.9\n", ["nvidia-cudnn-cu12==9.*"], ["ln -s"]),
        (
            "(whisper) C:\\vl>pip list\nctranslate2               4.5.0\ntorch                     2.0.0+cu118\n"
            "Could not locate cudnn_ops64_9.dll. Please make sure it is in your library path!\n",
            ["nvidia-cudnn-cu12==9.*"],
            ["-cu11"],
        ),
        (
            "uv sync\nUninstalled 14 packages in 1.02s\n - nvidia-cudnn-cu12==9.5.1.17\n"
            "ImportError: libcudnn.so.9: cannot open shared object file: No such file or directory\n",
            ["uv pip install -e .", "--inexact"],
            ["uv add"],
        ),
        (
            "paddlepaddle-gpu 1.8.1\nLD_LIBRARY_PATH=/usr/lcoal/cuda-10.1/lib64\nError: Cannot load cudnn shared "
            "library. Cannot invoke method cudnnGetVersion\n",
            ["typo", "export LD_LIBRARY_PATH=/usr/local/cuda-10.1/lib64"],
            ["ln -sf"],
        ),
        (
            "FROM an nvidia/cuda 11.x cudnn8 runtime image + pip install paddlepaddle-gpu\n(PreconditionNotMet) Cannot "
            "load cudnn shared library. Cannot invoke method cudnnGetVersion.\n",
            ["-runtime/-devel"],
            ["ln -sf"],
        ),
        (
            "Win10, RTX 3070 Ti, paddlepaddle-gpu 2.4.2: The third-party dynamic library (cudnn64_7.dll) that Paddle "
            "depends on is not configured correctly. (error code is 126)\n",
            ["paddlepaddle-gpu==", "no code for this GPU"],
            ["Download"],
        ),
    ],
)
def test_cudnn_comes_the_way_that_the_text_calls_for(text: str, parts: list[str], without: list[str]) -> None:
    assert_fix(text, "cudnn-missing", parts, without)


@pytest.mark.parametrize(
    ("text", "parts", "without"),
    [
        (
            "CUDA failed with error CUDA driver version is insufficient for CUDA runtime version, from ctranslate2 "
            "4.5.0 on a Tesla T4, driver 470.256.02 (nvidia-smi: CUDA 11.4).\n",
            ["ctranslate2==3.24.0", "nvidia-cudnn-cu11==8.*"],
            ["torch==", "reboot"],
        ),
        (
            "DSLCudaRuntimeError: cudaErrorInsufficientDriver (error code: 35)\n"
            "| NVIDIA-SMI 570.133.20             Driver Version: 570.133.20     CUDA Version: 12.8     |\n"
            "pip list\ncuda-python              13.1.0\ntorch                    2.8.0+cu128\n",
            ["cuda-python==12.*"],
            ["torch==", "uninstall"],
        ),
        (
            "pip install -e . of vllm\n/tmp/pip-build-env-6fb626c8/overlay/lib/python3.10/site-packages/torch/cuda/"
            "__init__.py: RuntimeError: The NVIDIA driver on your system is too old (found version 11080).\n",
            ["--no-build-isolation -e .", "use_existing_torch.py"],
            ["torch==", "reboot"],
        ),
        (
            'cargo build --features cuda\nField "compute_cap" is not a valid field to query.\nRTX 3090\n',
            ["export CUDA_COMPUTE_CAP=86"],
            ["reboot", "stands for"],
        ),
        (
            "can vllm run with CUDA 11.6? it shows that the NVIDIA driver is too old and updating is not convenient.\n",
            ["+cu118"],
            ["reboot", "apt-get"],
        ),
        (
            "went from pytorch 1.0 to 1.2, torch.version.cuda is 10.0 now. the nvidia driver is too old it says.\n",
            ["torch==1.2.0+cu92"],
            ["torch==1.2.0 "],
        ),
    ],
)
def test_a_driver_stays_where_one_package_asks_for_more(text: str, parts: list[str], without: list[str]) -> None:
    assert_fix(text, "driver-too-old-for-runtime", parts, without)


@pytest.mark.parametrize(
    ("text", "parts", "without"),
    [
        (
            "RuntimeError: The current installed version of g++ (10.2.1) is greater than the maximum required version "
            "by CUDA 11.3 (10.0.0). Please make sure to use an adequate version of g++ (>=5.0.0, <=10.0.0).\n",
            ["gcc-9 g++-9"],
            ["gcc-10"],
        ),
        (
            "building torch7 on Ubuntu 18.04: unsupported GNU version, gcc versions later than 6 are not supported.\n",
            ["gcc-6 g++-6"],
            ["the message allows"],
        ),
        (
            "Ubuntu 14.04 + CUDA 8, gcc 5 from the toolchain ppa (gcc --version says 5.4.1).\n#error -- unsupported "
            "GNU version! gcc versions later than 5 are not supported!\n",
            ["gcc-4.8 g++-4.8"],
            ["GCC 5 "],
        ),
    ],
)
def test_a_gcc_is_named_that_this_nvcc_takes(text: str, parts: list[str], without: list[str]) -> None:
    assert_fix(text, "gcc-too-new-for-nvcc", parts, without)


@pytest.mark.parametrize(
    ("text", "parts", "without"),
    [
        (
            "Windows 10, pip install flash-attn: flash_attn was requested, but nvcc was not found\n",
            ["winget install --id Nvidia.CUDA --version RELEASE", "torch.version.cuda", "sdpa"],
            ["prebuilt"],
        ),
        (
            "bend run-cu prints: CUDA runtime not available!\nIf you've installed CUDA and nvcc after HVM, please "
            "reinstall HVM.\nnvcc: command not found\n",
            ["cargo install --force", "nvidia-smi |"],
            ["import torch"],
        ),
        (
            "Windows 11\nset CUDACXX=C:\\mingw64\\bin\\g++.exe\npip install llama-cpp-python\nCMake Error: Error "
            "required internal CMake variable not set. Missing variable is: _CMAKE_CUDA_WHOLE_FLAG\n",
            ["--only-binary=:all:"],
            ["prebuilt"],
        ),
    ],
)
def test_a_toolkit_is_named_for_the_build_that_lacks_it(text: str, parts: list[str], without: list[str]) -> None:
    assert_fix(text, "toolkit-missing", parts, without)


@pytest.mark.parametrize(
    ("check", "text", "parts", "without"),
    [
        (
            "cudnn-older-than-build",
            "Windows\nLoaded runtime CuDNN library: 5005 (compatibility version 5000) but source was compiled with "
            "5105 (compatibility version 5100). `where cudnn64_5.dll` lists two files\n",
            ["where.exe cudnn64_5.dll", "Path"],
            ["envkit install"],
        ),
        (
            "cudnn-older-than-build",
            "[cudnn init] libcudnn v5 with header v7 unmatched!\n",
            ["--cudnn 7 --run", "ls -d /usr/local/cuda*"],
            [],
        ),
        (
            "cudnn-dropped-arch",
            "luajit: cudnn/init.lua:162: Error in CuDNN: CUDNN_STATUS_ARCH_MISMATCH (cudnnCreate)\n",
            ["nvidia-smi -L", "without cuDNN"],
            ["envkit resolve"],
        ),
        (
            "cudnn-dropped-arch",
            "GTX 1070, driver 581.57, container. CUDNN failure 5000: CUDNN_STATUS_EXECUTION_FAILED ; onnxruntime\n"
            "2.0.0   libcudnn9-cuda-12   9.8.0.87-1\n2.1.0   libcudnn9-cuda-12   9.14.0.64-1\n",
            ["libcudnn9-cuda-12=9.10."],
            ["torch=="],
        ),
        (
            "cuda-architecture-not-chosen",
            "A100, docker build. nvcc -DTORCH_EXTENSION_NAME=_C -gencode arch=compute_50,code=sm_50\nptxas "
            "/tmp/tmpxft_0000040d_00000000-11_attention_kernels.compute_50.ptx, line 905; error   : Feature '.bf16' "
            "requires .target sm_53 or higher\n",
            ["TORCH_CUDA_ARCH_LIST=8.0"],
            ["CMAKE_CUDA_ARCHITECTURES"],
        ),
        (
            "nvcc-vs-torch-mismatch",
            "The detected CUDA version (8.0) mismatches the version that was used to compile PyTorch (9.0)\n$ ls -d "
            "/usr/local/cuda*\n/usr/local/cuda-8.0\n/usr/local/cuda-9.0\n",
            ["CUDA_HOME=/usr/local/cuda-9.0"],
            ["envkit install"],
        ),
        (
            "nvcc-vs-torch-mismatch",
            "deepspeed: Installed CUDA version 12.2 does not match the version torch was compiled with 11.7\n",
            ["DS_SKIP_CUDA_CHECK=1", "--cuda 11.7"],
            [],
        ),
        (
            "jax-library-load",
            "installed jax[cuda12_pip]: CUDA backend failed to initialize: Unable to load cuDNN. Is it installed?\n",
            ["unset LD_PRELOAD", "jax.devices()"],
            [],
        ),
        (
            "tf-cannot-dlopen",
            "Could not load dynamic library 'libcudart.so.11.0'; dlerror: libcudart.so.11.0: cannot open shared object "
            "file: No such file or directory\nSkipping registering GPU devices...\n"
            "/home/user/anaconda3/envs/tf/lib/libcudart.so.11.0\n",
            ["export LD_LIBRARY_PATH=/home/user/anaconda3/envs/tf/lib"],
            ["envkit install"],
        ),
        (
            "ptxas-missing-or-old",
            "jax 0.4.37\nnvidia-cuda-nvcc-cu12    12.6.85\njaxlib                   0.4.36\nptxas fatal   : "
            "Unsupported .version 8.4; current version is '8.2'\nptxas fatal   : Ptx assembly aborted due to errors\n"
            "pip list\njax-cuda12-plugin        0.4.36\n",
            ["nvidia.cuda_nvcc"],
            [],
        ),
    ],
)
def test_a_library_that_does_not_fit_is_replaced_where_it_is(
    check: str, text: str, parts: list[str], without: list[str]
) -> None:
    assert_fix(text, check, parts, without)
