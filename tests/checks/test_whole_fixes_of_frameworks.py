"""Fixes of the builds of frameworks that do the whole job: with the place, the consequences, and what was told."""

from __future__ import annotations

import pytest

from tests.checks.software import findings_of


def said(text: str, check: str) -> str:
    """The words and commands of the fix for one failure."""
    found = next(one for one in findings_of(text) if one.id == check)
    assert found.remedy is not None
    return f"{found.remedy.advice} {' '.join(found.remedy.commands)}"


_NONE = "ERROR: No matching distribution found for {}\n"
_POETRY = "- Installing torch (2.3.1): Failed\n\n  Unable to find installation candidates for torch (2.3.1)\n"


@pytest.mark.parametrize(
    ("text", "check", "wanted", "unwanted"),
    [
        # the build that was asked for, where the GPU runs it, with the NumPy that it takes
        (
            f"Python 3.11.2, Windows 10, RTX 2060\n{_NONE.format('torch==1.11.0+cu113')}",
            "python-no-wheel",
            ("uv venv --python 3.10", "torch==1.11.0+cu113", "numpy<2", r".venv\Scripts\activate"),
            ("cu115",),
        ),
        # the program makes its own environment
        (
            "Windows 11, RTX 3060, webui-user.bat\nPython 3.11.0\n" + _NONE.format("torch==1.12.1+cu113"),
            "python-no-wheel",
            ("Python.Python.3.10", "set PYTHON=", "ren venv venv-old"),
            ("uv venv",),
        ),
        # no Python of today has a build with code for this GPU
        (
            "Python 3.10.1\nGPU 0: NVIDIA GeForce GTX 760\nNvidia driver version: 470.94\n" + _NONE.format("torch"),
            "python-no-wheel",
            ("/whl/cpu", "run on the CPU"),
            ("torch==0.3", "--python 3.6"),
        ),
        # for another processor, no Python helps
        (
            "# R35 (release), REVISION: 4.1, GCID: 33958178, BOARD: t186ref, EABI: aarch64\nPython 3.8.10\n"
            + _NONE.format("spconv-cu114"),
            "python-no-wheel",
            ("for aarch64, for any Python", "FindDefinition/cumm"),
            ("uv venv",),
        ),
        # Macs with Intel processors
        (f"osx 14.5, Python 3.11.7, poetry install\n{_POETRY}", "python-no-wheel", ("torch==2.2.2", "arm64"), ()),
        # one directory of two packages, in a project of uv, and with what installs the other one by itself
        (
            "$ uv add onnxruntime-gpu onnxruntime\n + onnxruntime==1.20.1\n + onnxruntime-gpu==1.20.1\n"
            ">>> onnxruntime.get_available_providers()\n['AzureExecutionProvider', 'CPUExecutionProvider']\n",
            "onnxruntime-two-packages",
            ("uv remove onnxruntime", "uv sync --reinstall-package onnxruntime-gpu"),
            ("uv pip uninstall",),
        ),
        (
            "requirements: Ultralytics requirement ['onnxruntime'] not found, attempting AutoUpdate...\n"
            "UserWarning: Specified provider 'CUDAExecutionProvider' is not in available provider names.\n"
            "$ pip freeze\nonnxruntime==1.22.0\nonnxruntime-gpu==1.22.0\n",
            "onnxruntime-two-packages",
            ("YOLO_AUTOINSTALL=false",),
            (),
        ),
        # where the variable is set, and by what
        (
            "services:\n  app:\n    environment:\n      CUDA_VISIBLE_DEVICES: all\n$ docker compose logs\n"
            "RuntimeError: No CUDA GPUs are available\n| NVIDIA-SMI 555.58.02 Driver Version: 555.58.02 "
            "CUDA Version: 12.5 |\n|   0  NVIDIA GeForce RTX 4060 Ti     Off |   00000000:01:00.0 Off |  N/A |\n",
            "cuda-visible-devices-invalid",
            ("delete that line", "docker compose up -d --force-recreate"),
            ("export CUDA_VISIBLE_DEVICES",),
        ),
        (
            "jsrun -n6 -a1 -c7 -g1 -b rs ./app\nCUDA error: invalid device ordinal\n",
            "cuda-visible-devices-invalid",
            ("jsrun -n1 -a1 -c 42 -g 6",),
            ("unset",),
        ),
        (
            "ray: ValueError: invalid literal for int() with base 10: 'NoDevFiles'\n",
            "cuda-visible-devices-empty",
            ("--gres=gpu:1",),
            ("unset",),
        ),
        (
            "luajit: symbol lookup error: /home/u/.luarocks/lib/lua/5.1/libcutorch.so: undefined symbol: THCState\n",
            "user-site-shadows-env",
            (".luarocks-old",),
            ("PYTHONNOUSERSITE",),
        ),
        # an extension by what is known of it: its page, its release, its source, its environment
        (
            "Successfully installed mmcv-full-1.4.4\nPython: 3.7.12\nPyTorch: 1.10.0+cu111\nImportError: /usr/local/"
            "lib/python3.7/dist-packages/mmcv/_ext.cpython-37m-x86_64-linux-gnu.so: undefined symbol: _ZNK2at6Tensor\n",
            "extension-abi-mismatch",
            ("mmcv/dist/cu111/torch1.10/index.html", "mmcv-full==1.4.4"),
            (),
        ),
        (
            "xformers was built for PyTorch 1.13.1+cu117 and says (you have 2.0.0+cu118)\n",
            "extension-abi-mismatch",
            ("xformers==0.0.19", "whl/cu118"),
            (),
        ),
        (
            "torch 2.5.1+cu124, Python 3.12, xformers 0.0.28.post3: xFormers can't load C++/CUDA extensions\n",
            "extension-abi-mismatch",
            ("--no-cache-dir xformers==0.0.28.post3", "xformers.info"),
            (),
        ),
        (
            "# R36 (release), REVISION: 4.0, GCID: 1, BOARD: generic, EABI: aarch64\nWARNING[XFORMERS]: xFormers can't "
            "load C++/CUDA extensions. xFormers was built for:\n    PyTorch 2.8.0 with CUDA 1209 (you have 2.8.0)\n",
            "extension-abi-mismatch",
            ("--no-binary=xformers", "--no-build-isolation"),
            (),
        ),
        (
            "Built vllm from source. ImportError: /opt/conda/lib/python3.10/site-packages/vllm/_C.cpython-310-x86_64-"
            "linux-gnu.so: undefined symbol: _ZN3c104cuda9SetDeviceEi\n",
            "extension-abi-mismatch",
            ("source directory", "use_existing_torch.py"),
            (),
        ),
        (
            "Win 10. I took my venv over from A1111. NotImplementedError: No operator found for "
            "`memory_efficient_attention_forward`: xFormers wasn't build with CUDA support\n",
            "extension-abi-mismatch",
            ("ren venv venv-old",),
            ("pip install",),
        ),
        # kernels for this GPU: by what compiles them, whose Python it is, and what else was compiled
        (
            "GPU: GeForce GTX 850M (sm_50), 4046 MB\ncuda error no kernel image is available for execution on the "
            "device\nCMakeLists.txt: -gencode arch=compute_50,code=sm_50\nCMAKE_CUDA_ARCHITECTURES:STRING=61\n",
            "arch-newer-than-build",
            ("rm -rf build", "-DCMAKE_CUDA_ARCHITECTURES=50"),
            (),
        ),
        (
            "parallel_for failed: cudaErrorNoKernelImageForDevice: no kernel image is available for execution on the "
            "device\nCuda compilation tools, release 11.4, V11.4.152\nNVIDIA GeForce RTX 4090, 546.33\n",
            "arch-newer-than-build",
            ("11.8 is the first", "envkit install --cuda 11.8"),
            (),
        ),
        (
            "3060 sm_86 is not compatible with the current pytorch installation, only sm_37 ... sm_75\n",
            "arch-newer-than-build",
            ("+cu110",),
            ("envkit resolve",),
        ),
        (
            "RTX 5070, webui_forge_cu124_torch24.7z: Your device does not support the current version of Torch/CUDA!\n"
            "PyTorch 2.4\n",
            "arch-newer-than-build",
            (r".\system\python\python.exe -m pip install torch==2.7.1",),
            (),
        ),
        (
            "Voice Cloning App (exe): NVIDIA RTX A6000 with CUDA capability sm_86 is not compatible with the current "
            "PyTorch installation.\n",
            "arch-newer-than-build",
            ("contains its own PyTorch", "from its source"),
            (),
        ),
        (
            "NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch "
            "installation.\nWith the nightly, flash_attn and others don't import anymore.\n",
            "arch-newer-than-build",
            ("torch==2.7.1", "--no-build-isolation --no-cache-dir flash-attn", "TORCH_CUDA_ARCH_LIST=12.0"),
            (),
        ),
        # by the installer that brought PyTorch
        (
            "Python 3.6.12, driver 460.39\n>>> torch.__version__, torch.version.cuda\n('1.7.1', '10.2')\nGeForce RTX "
            "3070 with CUDA capability sm_86 is not compatible with the current PyTorch installation.\n"
            "It was installed with conda install pytorch torchvision torchaudio -c pytorch\n",
            "arch-newer-than-build",
            ("conda install", "pytorch=1.7.1=*cuda11.0*", "cudatoolkit=11.0"),
            ("pip uninstall",),
        ),
        # what Windows lacks, and what has no build for it
        (
            "Could not load library cudnn_cnn_infer64_8.dll. Error code 126\nC:\\>where cudnn_cnn_infer64_8.dll\n"
            "C:\\Program Files\\NVIDIA\\CUDNN\\v8.9\\bin\\cudnn_cnn_infer64_8.dll\n",
            "windows-runtime-missing",
            ("zlibwapi.dll", r'"C:\Program Files\NVIDIA\CUDNN\v8.9\bin"'),
            ("VCRedist",),
        ),
        (
            "ERROR Could not load torch: [WinError 126] Das angegebene Modul wurde nicht gefunden. Error loading\n"
            '        "P:\\kohya_ss\\venv\\lib\\site-packages\\torch\\lib\\fbgemm.dll" or one of its dependencies.\n'
            "Windows 11, RTX 3090, torch 2.4.0+cu124\n",
            "windows-runtime-missing",
            ("torch==2.4.1",),
            ("VCRedist",),
        ),
        (
            'Windows 11, python 3.10, GTX 1650, driver 537: pip install --upgrade "jax[cuda12_pip]"\n'
            "WARNING: jax 0.4.6 does not provide the extra 'cuda12_pip'\nNo GPU/TPU found, falling back to CPU.\n",
            "not-built-for-windows",
            ("wsl --install -d", "jax[cuda12]=="),
            (),
        ),
        (
            "Windows 11, Python 3.9.10, RTX 3070, TensorFlow version: 2.11.0, driver 528.49\n"
            ">>> tf.test.is_built_with_cuda()\nFalse\ntensorflow-intel              2.11.0\n",
            "tf-native-windows",
            ("uninstall -y tensorflow-intel", "cudatoolkit=11.2 cudnn=8.1", "list_physical_devices"),
            (),
        ),
        # engines by what loads them
        (
            "FROM nvcr.io/nvidia/tensorrt:22.08-py3\nload engine from file: /models/hitnet.trt\n[TRT] 1: Error Code 1: "
            "Serialization (Serialization assertion failed.Version tag does not match. Note: Current Version: 213, "
            "Serialized Engine Version: 232)\n",
            "engine-built-elsewhere",
            ("nvcr.io/nvidia/tensorrt:22.08-py3", "--onnx=hitnet.onnx --saveEngine=hitnet.trt"),
            (),
        ),
        (
            "trtexec: TensorRT version: 10.3.0\n# pip list | grep tensorrt\ntensorrt                  10.0.1\n"
            "Version tag does not match. Note: "
            "Current Version: 237, Serialized Engine Version: 239\n",
            "engine-built-elsewhere",
            ("tensorrt==10.3.0",),
            (),
        ),
        # another release of torch does not change what another file asks for
        (
            "torch 1.8.1, CentOS 7\nImportError: /lib64/libm.so.6: version `GLIBC_2.27' not found (required by "
            "/data/miniconda3/envs/k2/lib/python3.8/site-packages/../../../libk2context.so)\n",
            "glibc-too-old",
            ("libk2context.so", "container"),
            ("torch==",),
        ),
        (
            "pip install flash-attn\nnvcc fatal   : Unknown option '-compress-mode=size'\nCUDA 11.8\n",
            "compiler-too-old",
            ("flash-attn==2.8.0",),
            (),
        ),
        (f"Ubuntu 22.04, Python 3.11.7, poetry install\n{_POETRY}", "python-no-wheel", (), ("Apple",)),
    ],
)
def test_fix_is_whole(text: str, check: str, wanted: tuple[str, ...], unwanted: tuple[str, ...]) -> None:
    words = said(text, check)
    assert [one for one in wanted if one not in words] == [], words
    assert [one for one in unwanted if one in words] == [], words


def test_a_gpu_that_every_current_build_has_is_not_too_old() -> None:
    found = findings_of("RTX 5070, torch 2.6.0: CUDA error: no kernel image is available for execution on the device\n")
    newer = next(one for one in found if one.id == "arch-newer-than-build")
    assert [one.id for one in newer.alternatives] == []
