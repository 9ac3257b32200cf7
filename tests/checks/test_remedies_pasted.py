"""A remedy works where it is pasted: what the shell makes of it, whom it is for, what the text shows already."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from envkit.checks.engine.findings import Status
from tests.checks.software import findings_of

EXTERNALLY = "error: externally-managed-environment\n"
QUERY = """$ nvidia-smi -q
==============NVSMI LOG==============
Driver Version                            : 565.57.01
CUDA Version                              : 12.7
Attached GPUs                             : 1
GPU 00000000:01:00.0
    Product Name                          : NVIDIA GeForce RTX 4090
    Clocks Event Reasons
        Idle                              : Not Active
        HW Slowdown                       : Active
            HW Thermal Slowdown           : Active
        SW Thermal Slowdown               : Active
    Temperature
        GPU Current Temp                  : 91 C
    Gpu Power Readings
        Current Power Limit               : {limit} W
        Default Power Limit               : 450.00 W
"""
CONDA = """$ conda list
# packages in environment at /home/li/miniconda3/envs/ml:
pytorch                   2.3.1           cpu_generic_py310h1234567_0    conda-forge
python                    3.10.14         hd12c33a_0_cpython    conda-forge
$ nvidia-smi
| NVIDIA-SMI 545.23.08              Driver Version: 545.23.08    CUDA Version: 12.3     |
|   0  NVIDIA RTX A4000               Off | 00000000:21:00.0 Off |                  Off |
>>> torch.cuda.is_available()
False
"""
NO_WHEEL = """{python}
$ pip install torch==2.0.1
ERROR: Could not find a version that satisfies the requirement torch==2.0.1 (from versions: none)
ERROR: No matching distribution found for torch==2.0.1
"""
OLD_DRIVER = """$ pip list
Package                   Version
nvidia-cudnn-cu11         8.7.0.84
nvidia-cudnn-cu12         8.9.2.26
torch                     2.1.2
torchaudio                2.0.1
torchvision               0.15.1
$ nvidia-smi
| NVIDIA-SMI 470.82.01    Driver Version: 470.82.01    CUDA Version: 11.4     |
|   0  Tesla T4            Off  | 00000000:00:1E.0 Off |                    0 |
UserWarning: CUDA initialization: The NVIDIA driver on your system is too old (found version 11040).
"""
GSP = (
    "NVRM: Xid (PCI:0000:65:00): 119, pid=4400, name=nvidia-smi, Timeout after 45s of waiting for RPC response from "
    "GPU0 GSP!\n"
)
REBOOT = (
    "NVRM: Xid (PCI:0000:65:00): 154, pid='<unknown>', name=<unknown>, GPU recovery action changed from 0x0 (None) to "
    "0x2 (Node Reboot Required)\n"
)
NO_DRIVER = "RuntimeError: Found no NVIDIA driver on your system.\nAWS g5.xlarge, {system}, fresh instance\n"
NOT_STARTED = "[20.1] NVRM: GPU 0000:3b:00.0: RmInitAdapter failed! (0x26:0x56:1474)\n"
SXM = "3b:00.0 3D controller: NVIDIA Corporation GV100GL [Tesla V100 SXM2 32GB] (rev a1)\n"
PCIE = "3b:00.0 3D controller: NVIDIA Corporation GV100GL [Tesla V100 PCIe 16GB] (rev a1)\n"
KILLED = "c++: fatal error: Killed signal terminated program cc1plus\n"
NO_CONDA_GPU = "  - nothing provides __cuda needed by pytorch-2.5.1-{build}\n"
KEY = (
    "W: GPG error: https://developer.download.nvidia.com/compute/cuda/repos/ubuntu1804/x86_64 InRelease: The following "
    "signatures couldn't be verified because the public key is not available: NO_PUBKEY A4B469963BF863CC\n"
)
SECURE_BOOT = "SecureBoot enabled\nmodprobe: ERROR: could not insert 'nvidia': Key was rejected by service\n"
JETSON = """$ cat /etc/nv_tegra_release
# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic, EABI: aarch64, DATE: Wed Jan  8 01:49:37 UTC 2025
$ cat /proc/device-tree/model
NVIDIA Jetson Orin Nano Developer Kit
$ python3 -c "import torch; print(torch.__version__, torch.cuda.is_available())"
2.6.0+cpu False
$ python3 --version
Python 3.10.12
"""
CUDNN_8 = "ImportError: libcudnn.so.8: cannot open shared object file: No such file or directory\n"
BNB = "libbitsandbytes_cuda124.so: cannot open shared object file: No such file or directory\nbitsandbytes 0.41.1\n"
GLIBCXX = "/usr/lib/x86_64-linux-gnu/libstdc++.so.6: version `GLIBCXX_3.4.32' not found (required by {by})\n"
OPENMP = "OMP: Error #15: Initializing libiomp5{end}, but found libiomp5{end} already initialized.\n"
CMAKE = "-- Could not find nvcc, please set CUDAToolkit_ROOT.\nllama.cpp build, RTX 3070\n"


def remedy_of(text: str, id: str) -> tuple[str, str]:  # noqa: A002 - as in reports
    """The advice and the commands of a check's problem."""
    found = next(one for one in findings_of(text) if one.id == id and one.status in (Status.FAIL, Status.WARN))
    assert found.remedy is not None, found
    return found.remedy.summary, "\n".join(found.remedy.commands)


def test_a_home_is_one_where_it_is_pasted(tmp_path: Path) -> None:
    commands = remedy_of(EXTERNALLY, "python-externally-managed")[1].splitlines()
    line = next(line for line in commands if "-m venv" in line).replace("python3 -m venv", "echo")
    shown = subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, env={"HOME": str(tmp_path)}, check=True
    )
    assert shown.stdout.strip() == f"{tmp_path}/venv"


@pytest.mark.parametrize(("limit", "watts"), [("450.00", "360"), ("300.00", "240")])
def test_a_lower_power_limit_is_lower(limit: str, watts: str) -> None:
    assert remedy_of(QUERY.format(limit=limit), "thermal-throttle")[1].endswith(f"-pl {watts}")


def test_pip_installs_into_the_environment_that_conda_lists() -> None:
    commands = remedy_of(CONDA.replace("2.3.1", "2.8.0"), "cpu-only-wheel")[1]
    assert "/home/li/miniconda3/envs/ml/bin/python -m pip install" in commands
    assert not any(line.startswith("python ") for line in commands.splitlines())


def test_the_plan_is_for_the_environment_that_is_made() -> None:
    commands = remedy_of(NO_WHEEL.format(python="Python 3.12.4"), "python-no-wheel")[1]
    assert "uv venv --python 3.11" in commands and "source .venv/bin/activate" in commands
    assert commands.splitlines()[-1].endswith("--python 3.11")


def test_the_python_that_has_wheels_is_not_the_cause() -> None:
    advice, commands = remedy_of(NO_WHEEL.format(python="Python 3.10.4"), "python-no-wheel")
    assert "not the problem" in advice and "uv venv" not in commands


def test_cudnn_is_for_the_cuda_of_the_release() -> None:
    text = "I use tensorflow {} with python 3.10, libcudnn.so.8: cannot open shared object file\n"
    assert "nvidia-cudnn-cu11==8" in remedy_of(text.format("2.13"), "cudnn-missing")[1]
    assert "nvidia-cudnn-cu12==8" in remedy_of(CUDNN_8, "cudnn-missing")[1]


def test_a_reboot_that_the_driver_asks_for_comes_first() -> None:
    assert "--gpu-reset" in remedy_of(GSP, "gsp-timeout")[0]
    advice, commands = remedy_of(GSP + REBOOT, "gsp-timeout")
    assert "--gpu-reset" not in advice and "sudo reboot" in commands


def test_amazon_linux_gets_its_own_commands() -> None:
    advice, commands = remedy_of(NO_DRIVER.format(system="Amazon Linux 2023"), "driver-not-installed")
    assert "ubuntu" not in commands and "cuda-amzn2023.repo" in commands and "os-release" not in advice
    assert "ubuntu-drivers" in remedy_of(NO_DRIVER.format(system="Ubuntu 22.04"), "driver-not-installed")[1]


def test_no_later_remedy_undoes_the_first() -> None:
    found = [one for one in findings_of(OLD_DRIVER) if one.status in (Status.FAIL, Status.WARN)]
    companions = [one for one in found if one.id == "torchvision-mismatch"]
    assert len(companions) == 2
    assert {one.because_of for one in companions} == {"driver-too-old-for-runtime"}
    assert not any(one.remedy for one in companions)
    assert "nvidia-cudnn-cu11==8.7.0.84" in remedy_of(OLD_DRIVER, "cudnn-mixed-sublibraries")[1]


def test_a_mismatch_alone_keeps_its_remedy() -> None:
    text = "$ pip list\nPackage Version\n------- -------\ntorch 2.1.2\ntorchvision 0.15.1\n"
    assert "torchvision==0.16.2" in remedy_of(text, "torchvision-mismatch")[1]


def test_conda_is_told_the_cuda_of_the_build_that_it_refused() -> None:
    assert remedy_of(NO_CONDA_GPU.format(build="cuda126_generic"), "conda-sees-no-gpu")[1].endswith("=12.6")
    advice, commands = remedy_of(NO_CONDA_GPU.format(build="py310"), "conda-sees-no-gpu")
    assert commands.endswith("=12.0") and "fits every driver" in advice


def test_bitsandbytes_is_upgraded() -> None:
    advice, commands = remedy_of(BNB, "extension-abi-mismatch")
    assert "CUDA 12.4" in advice and "install --upgrade --no-deps bitsandbytes" in commands


def test_both_extensions_are_replaced() -> None:
    text = (
        "$ pip list\nPackage Version\n------- -------\nflash-attn 2.7.0.post2\ntorch 2.5.1+cu124\nxformers 0.0.27\n"
        "ImportError: flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so: undefined symbol: _ZN3c105ErrorC2Ev\n"
        "xFormers can't load C++/CUDA extensions. xFormers was built for:\n"
        "    PyTorch 2.3.1+cu121 with CUDA 1201 (you have 2.5.1+cu124)\n"
    )
    commands = remedy_of(text, "extension-abi-mismatch")[1]
    assert "flash-attn==" in commands and "xformers==0.0.2" in commands


def test_make_gets_fewer_jobs_and_pip_a_variable() -> None:
    assert remedy_of(f"$ make -j\n{KILLED}", "build-out-of-memory")[1] == "make -j1"
    assert "MAX_JOBS" in remedy_of(f"$ pip install flash-attn\n{KILLED}", "build-out-of-memory")[1]


def test_a_program_without_a_framework_is_not_asked_for_torch() -> None:
    commands = remedy_of(CMAKE, "toolkit-missing")[1]
    assert "import torch" not in commands and 'envkit install --cuda "$CUDA" --run' in commands


def test_the_key_comes_from_the_repository_that_is_named() -> None:
    address = "https://developer.download.nvidia.com/compute/cuda/repos/ubuntu1804/x86_64/cuda-keyring_1.1-1_all.deb"
    assert address in remedy_of(KEY, "repository-key-replaced")[1]


@pytest.mark.parametrize(("end", "command"), [("md.dll", "python"), (".so", "conda install nomkl")])
def test_nomkl_is_not_for_windows(end: str, command: str) -> None:
    windows = "Windows 11\n" if "dll" in end else ""
    assert command in remedy_of(windows + OPENMP.format(end=end), "openmp-loaded-twice")[1]
    assert "nomkl" not in remedy_of("Windows 11\n" + OPENMP.format(end="md.dll"), "openmp-loaded-twice")[1]


def test_libstdcxx_comes_from_the_environment_that_needs_it() -> None:
    by = "/opt/conda/lib/python3.11/site-packages/x.so"
    assert "conda install" in remedy_of(GLIBCXX.format(by=by) + "Ubuntu 20.04\n", "libstdcxx-too-old")[1]
    assert "apt-get" in remedy_of(GLIBCXX.format(by="/srv/x.so") + "Ubuntu 24.04\n", "libstdcxx-too-old")[1]


def test_an_option_of_the_module_reaches_the_initramfs() -> None:
    lines = remedy_of("==ERROR== ERR_NVGPUCTRPERM - no permission\n", "profiling-counters-restricted")[1].splitlines()
    assert lines[-2:] == ["sudo update-initramfs -u", "sudo reboot"]


def test_a_limit_is_raised_by_logging_in_again() -> None:
    text = "libibverbs: Warning: RLIMIT_MEMLOCK is 65536 bytes.\nNCCL WARN Call to ibv_create_cq failed\n"
    advice, commands = remedy_of(text, "memlock-too-low")
    assert "log out and in again" in advice and "ulimit -l unlimited" not in commands


@pytest.mark.parametrize(
    ("more", "key"), [("ID=fedora\nVERSION_ID=41\n", "akmods"), ("ID=rocky\nVERSION_ID=9.4\n", "dkms/mok.pub")]
)
def test_the_key_is_that_of_the_distribution(more: str, key: str) -> None:
    assert key in remedy_of(f"{SECURE_BOOT}$ cat /etc/os-release\n{more}", "secure-boot-unsigned-module")[1]


def test_a_jetson_gets_cusparselt_and_is_known_to_be_ubuntu() -> None:
    advice, commands = remedy_of(JETSON, "jetson-generic-wheel")
    assert commands.index("install_cusparselt.sh") < commands.index("pip install 'numpy!=1.19.5,<2'")
    assert "os-release" not in advice


def test_a_module_has_no_cables() -> None:
    assert "power cables and the firmware" in remedy_of(PCIE + NOT_STARTED, "rm-init-adapter-failed")[0]
    advice = remedy_of(SXM + NOT_STARTED, "rm-init-adapter-failed")[0]
    assert "check power cables" not in advice and "another machine" not in advice and "SXM" in advice


def test_the_distribution_of_wsl_is_named() -> None:
    text = (
        "PS C:\\> wsl -l -v\n  NAME            STATE           VERSION\n* Ubuntu-22.04    Running         1\nRTX 4080\n"
    )
    assert "wsl --set-version Ubuntu-22.04 2" in remedy_of(text, "wsl1")[1]


def test_an_environment_on_windows_is_activated() -> None:
    commands = remedy_of("Windows 11\n" + NO_WHEEL.format(python="Python 3.12.4"), "python-no-wheel")[1]
    assert commands.splitlines()[1] == ".venv\\Scripts\\activate"
    assert (
        "torch-env\\Scripts\\activate"
        in remedy_of("Windows 11\n" + OPENMP.format(end="md.dll"), "openmp-loaded-twice")[1]
    )
