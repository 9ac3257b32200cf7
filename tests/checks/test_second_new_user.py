"""What a second new user's texts must be told: the cause that the text proves, and a fix that can work there."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Finding, Status
from tests.checks.software import findings_of

_ARCH = (
    "$ nvidia-smi\nNVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the "
    "latest NVIDIA driver is installed and running.\n$ uname -r\n6.9.3-arch1-1\n$ ls /lib/modules\n{}\n"
    "$ sudo modprobe nvidia\nmodprobe: FATAL: Module nvidia not found in directory /lib/modules/6.9.3-arch1-1\n"
)
_PODMAN = (
    "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU\n"
    '$ podman run --rm {}docker.io/pytorch/pytorch python -c "import torch; torch.zeros(1).cuda()"\n'
)
_HOME = (
    '$ python -c "import torch; print(torch.__file__, torch.__version__, torch.cuda.is_available())"\n'
    "{}/torch/__init__.py 2.0.0+cpu False\n$ conda list | grep pytorch\n"
    "pytorch                   2.1.0           py3.10_cuda12.1_cudnn8.9.2_0    pytorch\n"
    "$ nvidia-smi -L\nGPU 0: NVIDIA A40 (UUID: GPU-0)\n"
)
_NODES = (
    "ls -l /dev/nvidia*\ncrw-rw---- 1 root {0} 195,   0 Jun  1 10:00 /dev/nvidia0\n"
    "crw-rw---- 1 root {0} 195, 255 Jun  1 10:00 /dev/nvidiactl\n$ id\nuid=1000(user) gid=1000(user)\n"
    "$ nvidia-smi\nFailed to initialize NVML: Insufficient Permissions\n"
)
_CONDA = (
    "# packages in environment at /opt/conda/envs/ml:\n#\n"
    "# Name                    Version                   Build  Channel\n"
    "numpy                     {}           py310h5eee18b_1  \n"
    "python                    3.10.14              h955ad1f_1  \n"
    "pytorch                   {}           py3.10_cuda12.1_cudnn8.9.2_0    pytorch\n"
)
_BNB = (
    "CUDA SETUP: Detected CUDA version 117\nAttributeError: /opt/conda/lib/python3.10/site-packages/bitsandbytes/"
    "libbitsandbytes_cpu.so: undefined symbol: cget_col_row_stats\n"
)


def _first(text: str) -> Finding:
    return next(one for one in findings_of(text) if one.status is Status.FAIL and not one.because_of)


def _words(text: str) -> str:
    found = _first(text)
    assert found.remedy is not None
    return f"{found.id}: {found.remedy.advice} {' '.join(found.remedy.commands)}"


def _faults(text: str) -> list[str]:
    return [one.id for one in findings_of(text) if one.status is Status.FAIL and not one.because_of]


def test_modules_of_a_kernel_that_an_upgrade_removed_come_with_a_reboot() -> None:
    assert "sudo reboot" in _words(_ARCH.format("6.9.7-arch1-1"))
    assert "dkms" in _words(_ARCH.format("6.9.3-arch1-1\n6.9.7-arch1-1"))


def test_podman_without_a_device_has_no_gpu() -> None:
    words = _words(_PODMAN.format(""))
    assert words.startswith("container-no-gpu-injected") and "podman run" in words
    assert not _words(_PODMAN.format("--device nvidia.com/gpu=all ")).startswith("container-no-gpu-injected")


def test_a_torch_in_the_home_directory_shadows_the_environments() -> None:
    assert _faults(_HOME.format("/home/user/.local/lib/python3.10/site-packages")) == ["user-site-shadows-env"]
    assert "user-site-shadows-env" not in _faults(_HOME.format("/opt/conda/lib/python3.10/site-packages"))


def test_the_group_of_the_device_files_is_joined() -> None:
    assert "usermod -aG video" in _words(_NODES.format("video"))
    assert "usermod" not in _words(_NODES.format("root"))


@pytest.mark.parametrize(("numpy", "torch"), [("1.26.4", "2.1.2"), ("2.0.1", "2.4.1")])
def test_numpy_of_conda_that_pytorch_takes_is_fine(numpy: str, torch: str) -> None:
    assert _faults(_CONDA.format(numpy, torch)) == []


def test_numpy_of_conda_that_pytorch_does_not_take_is_replaced_by_conda() -> None:
    assert "conda install -y 'numpy<2'" in _words(_CONDA.format("2.0.1", "2.1.2"))


def test_a_bitsandbytes_that_fell_back_to_the_cpu_is_upgraded() -> None:
    words = _words(_BNB)
    assert "--upgrade --no-deps bitsandbytes" in words and "C++ ABI" not in words
    other = "ImportError: /opt/a/site-packages/flash_attn_2_cuda.so: undefined symbol: _ZN2at4_ops5zeros4callEN3c10"
    assert "bitsandbytes" not in _words(other)


@pytest.mark.parametrize(
    ("packages", "right"),
    [
        ("jax-cuda12-plugin 0.4.33\nnvidia-cudnn-cu12 8.9.2.26\n", False),
        ("jax-cuda12-plugin 0.4.33\nnvidia-cudnn-cu12 9.4.0.58\n", True),
        ("nvidia-cudnn-cu12 8.9.2.26\n", True),
    ],
)
def test_the_cudnn_that_the_plugin_of_jax_needs_is_named(packages: str, right: bool) -> None:
    text = f"Package Version\n--------------------- ---------\njax 0.4.33\njaxlib 0.4.33\n{packages}"
    assert right == (_faults(text) == [])
    assert right or "'nvidia-cudnn-cu12>=9.1,<10'" in _words(text)


def test_an_old_wheel_of_cudnn_is_upgraded_and_not_sought_on_a_path() -> None:
    loaded = (
        "Loaded runtime CuDNN library: 8.9.2 but source was compiled with: 9.1.0.  CuDNN library needs to have "
        "matching major version and equal or higher minor version.\njax                       0.4.33\n"
        "jaxlib                    0.4.33\nnvidia-cudnn-cu12         {}\n"
    )
    assert "'nvidia-cudnn-cu12>=9.1,<10'" in _words(loaded.format("8.9.2.26"))
    assert "LD_LIBRARY_PATH" in _words(loaded.format("9.1.0.70"))


@pytest.mark.parametrize(
    ("system", "symbols", "updated"),
    [
        ("Ubuntu 20.04", "GLIBCXX_3.4.32", False),
        ("Ubuntu 22.04", "GLIBCXX_3.4.32", False),
        ("Debian 12", "GLIBCXX_3.4.33", False),
        ("Ubuntu 20.04", "GLIBCXX_3.4.26", True),
        ("Ubuntu 24.04", "GLIBCXX_3.4.32", True),
    ],
)
def test_an_update_is_named_only_where_it_brings_the_symbols(system: str, symbols: str, updated: bool) -> None:
    words = _words(
        f"ImportError: /usr/lib/x86_64-linux-gnu/libstdc++.so.6: version `{symbols}' not found (required by "
        f"/home/user/.venv/lib/python3.11/site-packages/vllm/_C.abi3.so)\n{system}\n"
    )
    assert updated == ("--only-upgrade libstdc++6" in words)
    assert updated == ("conda install" not in words)
    assert ("ubuntu-toolchain-r" in words) == (system.startswith("Ubuntu") and not updated)


def test_an_image_that_the_driver_cannot_run_needs_a_newer_driver_and_not_only_a_path() -> None:
    text = (
        "Error 804: forward compatibility was attempted on non supported HW\n"
        "image: nvcr.io/nvidia/pytorch:23.10-py3\nGeForce RTX 3090, host driver {}\n"
    )
    assert "525.60.13 or newer" in _words(text.format("470.182.03"))
    assert "525.60.13" not in _words(text.format("535.104.05"))
