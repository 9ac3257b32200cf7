"""The fix for reports whose fix did not work in the eleventh reading, and what stays as it was beside them."""

from __future__ import annotations

import pytest

from tests.checks.fix_said import assert_fix
from tests.checks.remedies_given import REPORTS


@pytest.mark.parametrize(
    ("report", "check", "parts", "without"),
    [
        ("39/b39-01", "driver-dropped-gpu", ["plugin lists 470", "go back"], ["apt-get"]),
        ("39/b39-02", "optimus-gpu-off", ["sudo system76-power graphics nvidia"], ["prime-select"]),
        ("39/b39-03", "nvcc-too-old-for-gpu", ["CUDA_DIR := '/usr/local/cuda-8.0'", "CUDA_ARCH"], []),
        ("39/b39-05", "toolkit-dropped-arch", ['--toolkitpath="$HOME/cuda-10.2"', "CUDAHOSTCXX"], ["envkit install"]),
        ("20/b20-03", "gsp-firmware-missing", ["rpm-ostree rollback"], []),
        ("21/b21-03", "optimus-gpu-off", ["optirun PROGRAM"], ["sudo prime-select"]),
        ("21/b21-13", "python-no-wheel", ["uv pip install torch==2.5.1", "whl/cu124"], ["envkit resolve"]),
        ("21/b21-14", "python-no-wheel", ["torch==1.12.0+cu113", "--python 3.10"], ["envkit resolve"]),
        ("21/b21-22", "toolkit-missing", ["without sudo", 'sudo env "PATH=$PATH" which nvcc'], ["envkit install"]),
        ("21/b21-28", "cpu-lacks-instructions", ["--cpu host", "Update Ollama"], ["faulthandler"]),
        ("21/b21-34", "nvml-library-missing", ["/.singularity.d/libs"], ["Install the version"]),
        ("22/b22-37", "python-no-wheel", ["jax[cuda12]=="], ["envkit resolve"]),
        ("24/b24-35", "no-gpu-on-pci", ["CPU_ONLY"], ["rocmX.Y", "pip"]),
        ("26/b26-47", "windows-runtime-missing", ["intel-openmp"], ["VCRedist"]),
        ("22/b22-39", "python-no-wheel", ["another JetPack"], ["python3.6 -m pip"]),
        ("26/b26-37", "python-no-wheel", ["python3.6 -m pip"], ["another JetPack"]),  # its own Python is that one
        ("23/b23-24", "mps-unreachable", ["--ipc=host", "/tmp/nvidia-mps:/tmp/nvidia-mps"], []),
        ("25/b25-20", "driver-dropped-gpu", ["current branches only"], ["hold it"]),
        ("29/b29-32", "pip-belongs-to-other-python", ["conda install -y -n tf26 python=3.8 pip"], []),
        ("39/b39-06", "python-no-wheel", ["poetry env use 3.12", "poetry install", "<3.13"], ["uv "]),
        ("39/b39-07", "torch-replaced-by-dependency", ["uv run --extra cu128"], ["uv add", "cu130"]),
        ("39/b39-08", "libstdcxx-too-old", ["--force-reinstall"], [">=13"]),
        ("39/b39-11", "arch-dropped-by-framework", ["-1", "None can be compiled"], ["envkit resolve"]),
        ("39/b39-12", "arch-dropped-by-framework", ["faster-whisper:gpu-legacy", "tag for the CPU"], ["cmake"]),
        ("39/b39-15", "tf-cannot-dlopen", ["envkit install --cuda 10.1 --cudnn 7.6 --run"], ["resolve"]),
        ("39/b39-16", "cudnn-missing", ["post112", "cudatoolkit=11.2 cudnn=8.2"], ["10.2 --cudnn"]),
        ("39/b39-17", "cudnn-dropped-arch", ["chainer.cuda.cudnn_enabled = False"], ["resolve"]),
        ("39/b39-19", "ptxas-missing-or-old", ["TRITON_PTXAS_PATH=/usr/bin/ptxas"], ["/usr/local"]),
        ("39/b39-20", "cpu-only-wheel", ["--index-url"], ["'numpy"]),
        ("39/b39-22", "driver-baked-into-image", ["/usr/lib*/libnvidia-*.so*"], []),
        ("39/b39-25", "tf-native-windows", ["528.33", "nvidia-cudnn-cu12==9.3.*", "3.10 to 3.13"], []),
        ("39/b39-29", "device-nodes-missing", ["docker.service.d", "nvidia-modprobe -c0 -u"], ["persistenced"]),
        ("39/b39-30", "passthrough-blocked", ["ids=10de:1392,10de:0fbc", "update-initramfs"], ["cat /proc/cmdline"]),
        ("39/b39-32", "fabric-manager-not-running", ["nvidia-fabricmanager-510=510.47.03"], ["driver.version"]),
        ("39/b39-33", "ecc-uncorrectable", ["administrator", "CUDA_VISIBLE_DEVICES"], ["sudo", "--gpu-reset"]),
        ("39/b39-34", "kubernetes-gpu-unhealthy", ["kubectl delete pod"], []),
        ("39/b39-35", "slurm-gres-unknown", ["unset ${!SLURM_@}", "login node"], ["sinfo"]),
        ("39/b39-38", "gpu-assertion-failed", ["1 to 7", "Subtract 1"], ["num_embeddings"]),
        ("39/b39-39", "codec-not-on-gpu", ["P106-100", "libx264"], ["AV1"]),
    ],
)
def test_the_fix_is_whole(report: str, check: str, parts: list[str], without: list[str]) -> None:
    assert_fix((REPORTS / f"batch-{report}.txt").read_text("utf-8"), check, parts, without)


_OFF = "$ prime-select query\nintel\nnvidia-smi: No devices were found\n"
_NVCC_60 = "nvcc fatal   : Unsupported gpu architecture 'compute_60'\nrelease 7.5, V7.5.17\nUbuntu 16.04\n"
_NO_KERNEL = "CUDA error: no kernel image is available for execution on the device\nGTX 960, my CUDA program\n"
_GRES = "srun: error: Unable to allocate resources: Invalid generic resource (gres) specification\n"
_GLIBCXX = (
    "ImportError: /home/u/miniforge3/envs/a/lib/libstdc++.so.6: version `GLIBCXX_3.4.30' not found\n"
    "libstdcxx-ng              11.2.0               h1234567_1    conda-forge\n"
)


@pytest.mark.parametrize(
    ("text", "check", "parts", "without"),
    [
        (
            "ImportError: DLL load failed: The specified module could not be found. Windows 10, torch 2.4.0, _C.pyd\n",
            "windows-runtime-missing",
            [],
            ["intel-openmp"],
        ),
        (_OFF, "optimus-gpu-off", ["prime-select"], ["system76", "optirun"]),
        (
            "nvcc: not found\n$ sudo apt-get update\n$ python setup.py install\n",
            "toolkit-missing",
            [],
            ["without sudo"],
        ),
        (
            "CUDA error: device-side assert triggered, my labels are 0 to 6\n",
            "gpu-assertion-failed",
            ["vocabulary"],
            ["Subtract 1"],
        ),
        (
            "nvcc fatal   : Unsupported gpu architecture 'compute_30'\nUbuntu 18.04, GTX 770, CUDA 11.0\n",
            "toolkit-dropped-arch",
            ["envkit install --cuda 10.2 --run --accept-unverified", "checksum"],
            ["toolkitpath"],
        ),
        (
            "ERROR: No matching distribution found for torch==2.5.1\nPython 3.13, Windows 11\n",
            "python-no-wheel",
            ["uv venv"],
            ["asked for"],  # no CUDA is told
        ),
        (
            "CUDA error 805: MPS client failed to connect to the MPS control daemon, on my own server\n",
            "mps-unreachable",
            ["nvidia-cuda-mps-control"],
            ["--ipc"],
        ),
        (
            "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.\nUbuntu 22.04\n",
            "nvml-library-missing",
            ["Install the version"],
            ["singularity"],
        ),
        (
            "$ conda create -n tf26 python=3.8 cudatoolkit=11.2\n$ pip install tensorflow==2.6.0\n"
            "(tf26) u@pc:~$ which pip\n/home/u/anaconda3/bin/pip\nModuleNotFoundError: No module named 'tensorflow'\n",
            "pip-belongs-to-other-python",
            [],
            ["without a Python"],
        ),
        (_NVCC_60, "nvcc-too-old-for-gpu", ["CUDA_HOME", "cuda-8.0"], ["CUDA_DIR", "--accept-unverified"]),
        (_GLIBCXX, "libstdcxx-too-old", [">=13"], ["--force-reinstall"]),  # the one that is there is too old
        (_GRES, "slurm-gres-unknown", ["sinfo"], ["unset"]),
        (
            f"{_NO_KERNEL}docker run --gpus all nvidia/cuda:12.9.1-devel-ubuntu22.04 ./build.sh\n",
            "arch-dropped-by-framework",
            [],
            ["comes ready-made in the image"],  # programs are compiled in it
        ),
        (
            "[av1_nvenc @ 0x55] Codec not supported\nRTX 3060, driver 550.54\n",
            "codec-not-on-gpu",
            ["RTX 40"],
            ["no video encoder"],
        ),
        (
            "RuntimeError: uncorrectable ECC error encountered\nTesla V100, it is my own server\n",
            "ecc-uncorrectable",
            ["--gpu-reset"],
            ["administrator can"],
        ),
        (
            "CUDA initialization: Error 802: system not yet initialized\nGPU Operator, HGX A100, driver 510.47.03\n",
            "fabric-manager-not-running",
            ["driver.version"],
            [],
        ),
        (
            "cudnn error: CUDNN_STATUS_ARCH_MISMATCH\nGeForce GTX 960, torch 2.9.0, driver 550.54\n",
            "cudnn-dropped-arch",
            [],
            ["No cuDNN release has ever"],
        ),
    ],
)
def test_what_is_near(text: str, check: str, parts: list[str], without: list[str]) -> None:
    assert_fix(text, check, parts, without)
