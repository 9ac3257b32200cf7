"""Fixes of frameworks for what a text names: its package manager, its program, its place, and its GPU."""

from __future__ import annotations

import pytest

from tests.checks.fix_said import assert_fix

_KERNEL = "CUDA error: no kernel image is available for execution on the device\n"
_NO_TORCH = "  Getting requirements to build wheel ... error\n      ModuleNotFoundError: No module named 'torch'\n"
_NUMPY = "A module that was compiled using NumPy 1.x cannot be run in\nNumPy 2.0.2 as it may crash.\n"
_NMS = "RuntimeError: No such operator torchvision::nms\n"
_NOT_COMPILED = "AssertionError: Torch not compiled with CUDA enabled\n"


@pytest.mark.parametrize(
    ("text", "parts", "without"),
    [
        # the parameter or the wrapper of the Python bindings names llama-cpp-python as well as its own name does
        ("LlamaCpp in langchain with n_gpu_layers=25 still uses the cpu, BLAS = 0\n", ["GGML_CUDA=on"], ["torch=="]),
        ("privateGPT: BLAS=0 and no GPU usage, nvcc 12.6 is there\n", ["GGML_CUDA=on"], ["torch=="]),
        # an old release is kept, with the option and the way of its time
        (
            "Ubuntu 22.04, RTX 3060, `pip install llama-cpp-python`, version 0.1.55, n_gpu_layers=10, BLAS = 0\n",
            ["CMAKE_ARGS=-DLLAMA_CUBLAS=on FORCE_CMAKE=1", "llama-cpp-python==0.1.55"],
            ["cmake.args"],
        ),
        # conda's CPU build: by its build string and its channels, not by pip
        (
            "mamba resolves pytorch=1.8.1 + cudatoolkit=10.2 to py3.9_cpu_0. Why isn't it the CUDA one?\n",
            ["'pytorch=1.8.1=*cuda10.2*'", "cudatoolkit=10.2"],
            ["pip install", "conda remove"],
        ),
        (
            "conda list, RTX 3080, is_available() False\ncpuonly                   1.0                0    pytorch\n"
            "pytorch                   1.9.0               py3.8_cpu_0  [cpuonly]  pytorch\n"
            "conda install pytorch=1.9.0 cudatoolkit=11.3\n",
            ["conda remove cpuonly", "'pytorch=1.9.0=*cuda11.1*'"],
            ["pip install"],
        ),
        (
            "torch has cuda 12.1, but conda install pyg -c pyg wants pyg-2.5.0-py311_torch_2.2.0_cpu\n",
            ["'pyg=2.5.0=*cu*'"],
            ["torch=="],
        ),
        # MXNet's package is named after the CUDA of the system
        (
            "GTX 1060, CUDA 8.0 is there, pip install mxnet: GPU support is disabled. Compile MXNet with USE_CUDA=1\n",
            ["mxnet-cu80"],
            ["mxnet-cu91"],
        ),
        # programs that bring a Python are named by it
        (
            f"run_nvidia_gpu.bat ends with\n{_NOT_COMPILED}",
            [".\\python_embeded\\python.exe -m pip install"],
            ["own Python:"],
        ),
        (
            f"** Platform: Windows\n** Python executable: C:\\SD\\ComfyUI\\venv\\Scripts\\python.exe\n{_NOT_COMPILED}",
            ["C:\\SD\\ComfyUI\\venv\\Scripts\\python.exe -m pip install"],
            ["\npython -m pip"],
        ),
        # torch computes on the GPU, and only an operator of torchvision does not
        (
            "Could not run 'torchvision::nms' with arguments from the 'CUDA' backend.\nEverything else works.\n",
            ["uninstall -y torchvision torchaudio"],
            ["uninstall -y torch "],
        ),
        # what chose the CPU build would choose it again
        (
            "RTX 3090: uv pip install -U vllm --torch-backend=auto\n + torch==2.7.1+cpu\n",
            ["in place of auto"],
            [],
        ),
    ],
)
def test_a_cpu_build_is_replaced_by_what_brought_it(text: str, parts: list[str], without: list[str]) -> None:
    assert_fix(text, "cpu-only-wheel", parts, without)


@pytest.mark.parametrize(
    ("text", "parts", "without"),
    [
        (
            f"vLLM 0.9.1 on a GTX 1080 Ti, torch 2.7.0+cu126\n{_KERNEL}",
            ["7.0 and higher", "ARCHITECTURES=61"],
            ["PACKAGE"],
        ),
        (
            f"libtorch example, GeForce GTX 780, driver 440.33\n{_KERNEL}",
            ["libtorch-shared-with-deps-1.3.0.zip"],
            ["pip"],
        ),
        (
            f"K20Xm\n{_KERNEL}frame #2: 0x7f in /opt/dorado-0.4.3/bin/../lib/libdorado_torch_lib.so\n",
            ["PyTorch of its own"],
            ["torch=="],
        ),
        (f"ollama, GTX 1070, since pacman -Syu\n{_KERNEL}", ["pacman -R ollama-cuda", "install.sh"], []),
    ],
)
def test_an_old_gpu_gets_the_way_of_its_program(text: str, parts: list[str], without: list[str]) -> None:
    assert_fix(text, "arch-dropped-by-framework", parts, without)


@pytest.mark.parametrize(
    ("text", "check", "parts", "without"),
    [
        # what failed is built again as it was asked for, by the Python of the environment
        (f"pip install -v -e .\n{_NO_TORCH}", "build-isolation-hides-torch", ["--no-build-isolation -e ."], []),
        (
            f"pip install git+https://github.com/NVlabs/tiny-cuda-nn/#subdirectory=bindings/torch\n{_NO_TORCH}",
            "build-isolation-hides-torch",
            ["git+https://github.com/NVlabs/tiny-cuda-nn/#subdirectory=bindings/torch"],
            ["requirements file"],
        ),
        (
            "  Using cached pointnext-0.0.5.tar.gz (16 kB)\n  Getting requirements to build wheel ... error\n"
            '  File "C:\\T\\pip-build-env-xi8\\overlay\\Lib\\site-packages\\setuptools\\build_meta.py", line 325\n'
            "      ModuleNotFoundError: No module named 'torch'\n",
            "build-isolation-hides-torch",
            ["pointnext==0.0.5"],
            ["pip-build-env"],
        ),
        # packages of the user's directory next to an environment
        (
            f'{_NUMPY}File "C:\\U\\AppData\\Roaming\\Python\\Python311\\site-packages\\matplotlib\\a.py"\n'
            "portable_env\\python.exe -m pip says numpy<2 is satisfied\n",
            "numpy2-abi",
            ["set PYTHONNOUSERSITE=1"],
            [],
        ),
        (f"venv on Linux\n{_NUMPY}", "numpy2-abi", ["numpy<2"], ["PYTHONNOUSERSITE"]),
        # a companion of torch's own index, and all three for a GPU that the release does not know
        (
            f"torch 1.4.0+cu92\ntorchvision 0.5.0\n{_NMS}",
            "torchvision-mismatch",
            ["torchvision==0.5.0+cu92"],
            ["~/.local"],
        ),
        (
            "torch 1.3.0 with torchvision 0.4.0: no such operator torchvision::nms\n",
            "torchvision-mismatch",
            ["==0.4.1"],
            ["+cu92"],
        ),
        (
            "sdnext doesn't start, last line: operator torchvision::nms does not exist. Windows, 4070\n",
            "torchvision-mismatch",
            ["sys.executable, '-m', 'pip', 'install'"],
            ["TORCH=$("],
        ),
        # an older driver, and Windows, have no extra for CUDA 12
        (
            "Linux, RTX 2080 Ti, 470 driver: No GPU/TPU found, falling back to CPU. jax from conda-forge\n",
            "jax-no-cuda-plugin",
            ["jax[cuda11_pip]"],
            ["jax[cuda12]"],
        ),
        (
            "I have cuda 12.2 on Windows 11 and jax 0.4.13 from pip, nvidia-smi looks normal, and still run_eval.py "
            'prints "No GPU/TPU found, falling back to CPU." Which jaxlib do I have to take?\n',
            "jax-no-cuda-plugin",
            ["wsl --install -d Ubuntu", "0.4.13"],
            [],
        ),
        # TensorFlow itself is what crashes
        (
            ">>> import tensorflow as tf\nIllegal instruction (core dumped)\nTensorFlow 2.12.0\n",
            "cpu-lacks-instructions",
            ["-c defaults tensorflow=2.12", "tensorflow==2.12.0"],
            ["import numpy"],
        ),
        # an index that is not there, and one that serves PyTorch alone
        (
            "Windows 11, RTX 5080: pip install torch==2.10.0 --index-url https://download.pytorch.org/whl/cu131: "
            "Could not find a version that satisfies the requirement torch==2.10.0 (from versions: none)\n",
            "package-index-wrong",
            ["whl/cu130"],
            ["whl/cu128"],
        ),
        (
            "uv add torch --index-url https://download.pytorch.org/whl/cu124\n"
            "Because jupyterlab was not found in the package registry and your project depends on jupyterlab\n",
            "package-index-wrong",
            ['url = "https://download.pytorch.org/whl/cu124"', "explicit = true"],
            [],
        ),
        (
            "Ubuntu 18.04, driver 450.66\nException: Please install cuml via the rapidsai conda channel.\n",
            "package-index-wrong",
            ["rapids=0.19", "cudatoolkit=10.2"],
            [],
        ),
        # two packages that write the same files
        (
            '  File "/opt/conda/lib/python3.6/site-packages/spconv/constants.py", line 19, in <module>\n'
            "    from cumm.gemm.constants import NVRTCMode\nImportError: cannot import name 'NVRTCMode'\n\n"
            "pip list\ncumm-cu111            0.3.4\ncumm-cu113            0.2.8\nspconv-cu113          2.1.22\n",
            "library-release-mismatch",
            ["uninstall -y spconv-cu113 cumm-cu111 cumm-cu113", "spconv-cu113==2.1.22"],
            ["pip check"],
        ),
        (
            "CMake: CUDA_nppi_LIBRARY (ADVANCED) is set to NOTFOUND, OpenCV 3.1, CUDA 9.0\n",
            "library-release-mismatch",
            ["OpenCV has supported them since 3.4"],
            ["pip check"],
        ),
    ],
)
def test_a_fix_is_for_what_the_text_names(text: str, check: str, parts: list[str], without: list[str]) -> None:
    assert_fix(text, check, parts, without)
