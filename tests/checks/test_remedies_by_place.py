"""The form of a command is the place's: its conda, its notebook, its Windows, its cluster."""

from __future__ import annotations

import re

import pytest

from envkit._startup.records import replace
from envkit.checks.engine.command import Command, fixed
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import seen
from envkit.checks.engine.registry import all_checks
from envkit.checks.engine.runner import run_checks
from envkit.checks.engine.suited import suited
from envkit.ingest import parse_text
from envkit.model import found
from envkit.tables.findings import Signature
from envkit.tables.jetson import JetsonWheel
from envkit.tables.loader import read
from tests.checks.remedies_given import REPORTS
from tests.checks.software import matrix
from tests.checks.test_remedies_suited import TORCH, managed, told

MKL = fixed("conda install mkl=2024.0")


@pytest.mark.parametrize(
    ("names", "line"),
    [
        ((), "conda install mkl=2024.0"),
        (("mamba",), "mamba install mkl=2024.0"),
        (("micromamba", "mamba"), "micromamba install mkl=2024.0"),
    ],
)
def test_conda_is_called_by_the_name_that_is_there(names: tuple[str, ...], line: str) -> None:
    assert suited(managed(*names), Remedy("Do it.", (MKL,))).commands == (line,)


def test_conda_installs_into_the_environment_of_the_tracebacks() -> None:
    environment = replace(managed("micromamba"), traceback_python=found("/opt/m/envs/mist/bin/python", "test"))
    lines = suited(environment, Remedy("Do it.", (MKL, Command(shell="conda install 'mkl<2024.1'")))).commands
    assert lines == ("micromamba install -p /opt/m/envs/mist mkl=2024.0",
                     "micromamba install -p /opt/m/envs/mist 'mkl<2024.1'")  # fmt: skip
    own = fixed("conda install -p /opt/other mkl=2024.0")
    assert "-p /opt/other" in suited(environment, Remedy("Do it.", (own,))).commands[0]


@pytest.mark.parametrize("name", ["colab", "kaggle", "jupyter"])
def test_a_notebook_has_a_pip_of_its_own(name: str) -> None:
    given = suited(managed(name), Remedy("Do it.", (TORCH,)))
    assert given.commands[0].startswith("%pip install torch==") and "restart the" in given.summary


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Colab, nothing edited\n", "colab"),
        ("It runs on Kaggle, in a notebook\n", "kaggle"),
        ("!pip install torch\n", "jupyter"),
        ("$ micromamba activate mist\n", "micromamba"),
        ("$ mamba create -n tf\n", "mamba"),
        ("lxc exec worker -- nvidia-smi\n", "lxd"),
        ("      Product: systemd-boot 253.4\n", "systemd-boot"),
        ("I'm not root on this box\n", "no-root"),
        ("I'm logged in to the cluster\n", "cluster"),
        ("kernel-3.10.0-957.el7.x86_64\n", "el7"),
        ("From the bundled Python:\n", "bundled-python"),
        ("docker, --compile\n", "container"),
        ("p5.48xlarge nodes\n", "aws"),
    ],
)
def test_a_text_shows_its_place(text: str, name: str) -> None:
    assert name in (parse_text(text).managed_by.value or ())


def test_a_program_with_a_python_of_its_own_is_reported() -> None:
    given = suited(managed("bundled-python"), Remedy("Do it.", (TORCH,)))
    assert "program's own python.exe" in given.summary and given.commands == (TORCH.line,)


def test_compilers_of_an_image_are_installed_without_sudo() -> None:
    step = Command(shell="sudo apt-get install -y gcc python3-dev")
    given = suited(managed("container"), Remedy("Do it.", (step,)))
    assert given.commands == ("apt-get update && apt-get install -y gcc python3-dev",)
    assert "RUN apt-get update && apt-get install -y gcc python3-dev" in given.summary
    driver = Command(shell="sudo apt-get install -y nvidia-driver-580")
    assert suited(managed("container"), Remedy("Do it.", (driver,))).commands == (driver.line,)


@pytest.mark.parametrize(
    ("report", "check", "commands", "words"),
    [  # what an outsider, and a look at eighty more, found short
        ("17/b17-38", "image-needs-newer-driver", ["docker pull nvcr.io/nvidia/pytorch:17.07"], "CUDA 8.0"),
        ("18/b18-34", "disk-full-at-install", ['export TMPDIR="$PWD/tmp"'], "/data1 has room"),
        ("20/b20-06", "disk-full-at-install", ["set TEMP=D:\\temp", "set TMP=D:\\temp"], "webui-user.bat"),
        ("13/b13-40", "mkl-too-new-for-torch", ["micromamba install -p /home/kim/micromamba/envs/mist"], ""),
        ("11/b11-05", "driver-too-old-for-runtime", ["module load cuda/8.0"], "administrators"),
        ("15/b15-04", "mig-one-instance-visible", ["for uuid in $(nvidia-smi -L"], "set_device(0)"),
        ("13/b13-30", "cpu-only-wheel", ["uninstall -y tensorflow", "tensorflow-gpu==1.0.0"], "CUDA 8.0"),
        ("12/b12-41", "cpu-only-wheel", ["whl/cu118"], "--extra-index-url only adds"),
        ("14/b14-33", "cudnn-older-than-build", ["!apt-get install", "'libcudnn8=8.1.*'"], "restart the runtime"),
        ("9/b9-35", "fabric-manager-not-running", ["sudo yum install -y nvidia-fabric-manager-545.23.08"], ""),
        ("2/b2-21", "gpu-fallen-off-bus", ["sudo nvidia-smi -pl 150"], "power supply"),
        ("5/b5-01", "dkms-build-failed", [], "Boot kernel 5.11.0-40-generic"),
        (
            "15/b15-48",
            "dkms-build-failed",
            ["sudo xbps-install -S linux5.15 linux5.15-headers"],
            "A newer driver does not help",
        ),
        ("13/b13-03", "dkms-build-failed", ["sudo yum upgrade -y kernel"], "did not build anything"),
        ("3/b3-14", "arch-dropped-by-framework", ["-DCUDA_ARCH_BIN='52 61'"], "does not read CMAKE_CUDA"),
        ("18/b18-04", "uvm-module-not-loaded", [], "stay on kernel 5.8.13"),
        ("3/b3-30", "shm-too-small", ["helm upgrade"], "tensorParallelSize"),
        ("11/b11-48", "cudnn-older-than-build", ["USE_CUDNN := 1", "make clean"], "cuDNN 4"),
        ("7/b7-33", "device-nodes-missing", ["sudo nvidia-smi"], "Post Init"),
        ("12/b12-05", "arch-newer-than-build", ["torch==1.8.0+cu111"], "requirements ask for 1.8.0"),
        ("12/b12-16", "build-tools-missing", ["set DISTUTILS_USE_SDK=1"], ""),
        ("3/b3-24", "libcudart-missing", ["onnxruntime-gpu==1.18.1"], "pin it"),
        ("5/b5-23", "arch-newer-than-build", [], "sgl-kernel comes with prebuilt code"),
        ("12/b12-33", "cudnn-older-than-build", ["LD_LIBRARY_PATH=/home/qrs/anaconda3/envs/pa/lib"], "8.2.1"),
        ("11/b11-33", "cudnn-missing", ["nvidia-cudnn-cu12==8.*", "recursive=True"], "cuBLAS"),
        ("14/b14-19", "extension-abi-mismatch", ["torch-scatter torch-sparse", "torch-1.10.0+cu111.html"], "notebook"),
        ("8/b8-31", "jetson-generic-wheel", ["fjtbno0vpo676a25cgvuqc1wty0fkkg6.whl"], "L4T 32.6.1"),
        ("6/b6-33", "glibc-too-old", ["NVIDIA_DRIVER_CAPABILITIES=all", "--nvccli OpenRV.sif"], "newer base"),
        ("17/b17-36", "row-remap-failed", ["kubectl drain NODE", "terminate-instances"], "AWS support"),
        ("11/b11-29", "acs-blocks-p2p", ["nvidia-driver-570"], "driver before the firmware"),
        (
            "16/b16-29",
            "toolkit-missing",
            ["nvidia/label/cuda-$CUDA.0", 'CUDA_HOME="$CONDA_PREFIX"'],
            "does not require root",
        ),
        ("11/b11-45", "several-toolkits-in-path", ["LD_LIBRARY_PATH=/usr/local/cuda-10.2/lib64"], "cupy-cuda102"),
        ("14/b14-41", "arch-newer-than-build", ["torch==2.7.1", "whl/cu128"], ""),
        ("16/b16-33", "mig-enabled-no-instance", ["-i 1 -mig 0", "-i 2 -mig 0", "-i 3 -mig 0"], "it is not used here"),
        ("1/b1-39", "wsl-gpu-in-tcc-mode", ["nvidia-smi -i 0 -dm 0"], ""),
        ("16/b16-22", "device-node-permission", ["--group-add 1005"], "group_add"),
        ("4/b4-09", "docker-from-snap-or-desktop", ["snap remove docker", "enable docker"], "also installed"),
        ("16/b16-20", "cdi-unresolvable", ["nvidia-container-toolkit=1.18.2-1"], "hold"),
        (
            "16/b16-03",
            "nouveau-loaded",
            ["tee /etc/modprobe.d/blacklist-nouveau.conf"],
            "run the NVIDIA installer again",
        ),
        ("6/b6-30", "secure-boot-unsigned-module", ["--firmware-setup"], "systemd-boot"),
        ("23/b23-07", "driver-library-mismatch", ["lxc config set juju-machine-4 nvidia.runtime true"], "375.39"),
        ("8/b8-42", "toolkit-missing", ["export CUDA_HOME=/usr/local/cuda-12.8"], "contains a colon"),
        ("25/b25-44", "toolkit-missing", ["export CUDA_HOME=/usr/local/cuda"], "contains a colon"),
        ("26/b26-32", "triton-needs-compiler", ["TRITON_LIBCUDA_PATH"], "The compiler is installed"),
        ("26/b26-12", "compiler-too-old", ["envkit install --cuda 12.9", "torch_extensions"], "same major version"),
        ("25/b25-04", "python-no-wheel", ["uv venv --python"], "32-bit build"),
        ("25/b25-08", "cdi-unresolvable", [".config/cdi/nvidia.yaml", "systemctl --user restart"], "cdi-spec-dirs"),
        ("26/b26-39", "device-node-permission", ["keep-groups", "NVreg_DeviceFileMode=0666"], "drops your groups"),
        ("25/b25-11", "tf-cannot-dlopen", ["conda-forge cudatoolkit=10.1 cudnn=7.6"], "works with no other release"),
        ("25/b25-37", "driver-too-old-for-runtime", ["torch==1.1.0"], "CUDA 9.0"),
        ("15/b15-23", "build-isolation-hides-torch", ["--no-build-isolation flash-attn==1.0.8"], ""),
        ("3/b3-15", "extension-abi-mismatch", ["cxx11abiFALSE-cp38-cp38-linux_x86_64.whl"], "different C++ ABI"),
        ("16/b16-31", "gsp-timeout", ["NVreg_EnableGpuFirmware=0"], "525.147.05"),
        ("2/b2-10", "vgpu-unlicensed", ["ds/nvidia-driver-daemonset"], "ConfigMap is there"),
        ("19/b19-27", "arch-newer-than-build", ["docker pull vllm/vllm-openai:v0.9.0"], "changing only torch"),
        ("8/b8-26", "python-no-wheel", ["torch==2.5.1+cu124"], "part after the +"),
        ("15/b15-33", "driver-too-old-for-runtime", ["torch==1.1.0"], "CUDA 9.0"),
        ("5/b5-32", "driver-too-old-for-runtime", ["'pytorch=1.5.0=*cuda10.1*'", "cudatoolkit=10.1"], "same release"),
        ("7/b7-10", "cpu-wheel-on-aarch64", ["torchvision==0.19.0", "torchaudio==2.4.0"], ""),
        ("2/b2-32", "cpu-only-wheel", ["uninstall -y torch torchvision torchaudio"], ""),
        ("16/b16-38", "gpu-memory-held-by-lost-process", ["fuser -v", "kill PID"], "child processes"),
        ("22/b22-29", "windows-runtime-missing", ["uv pip install", "torch==2.4.1"], "libomp140"),
        ("11/b11-18", "tf-cannot-dlopen", ["LD_LIBRARY_PATH"], "installed as wheels"),
        ("9/b9-11", "docker-no-nvidia-runtime", ["kubectl -n nvidia-device-plugin rollout restart"], "RuntimeClass"),
        (
            "18/b18-21",
            "onnxruntime-two-packages",
            ["onnxruntime-gpu==1.18.1"],
            "only onnxruntime-gpu in",
        ),
        ("12/b12-08", "libcudart-missing", ["mxnet-cu112==1.9.1"], "does not support this GPU"),
        ("2/b2-20", "power-supply-overloaded", ["sudo nvidia-smi -pl 220"], "at every boot"),
        ("3/b3-04", "several-toolkits-in-path", ["CUDA_HOME=/usr/local/cuda-11.3"], ""),
        ("11/b11-20", "nvcc-too-old-for-gpu", ["ln -sfn /usr/local/cuda-10.0 /usr/local/cuda"], "full path"),
        ("2/b2-35", "libcudart-missing", ["USE_CUDA_PATH"], "to /usr/local/cuda-8.0"),
    ],
)
def test_the_remedy_says_what_the_text_does(report: str, check: str, commands: list[str], words: str) -> None:
    given = told((REPORTS / f"batch-{report}.txt").read_text(), check)
    lines = "\n".join(given.commands)
    assert [part for part in commands if part not in lines] == []
    assert words in given.summary


def test_no_build_is_chosen_that_needs_a_newer_driver_than_the_message_names() -> None:
    given = told((REPORTS / "batch-15" / "b15-33.txt").read_text(), "driver-too-old-for-runtime")
    assert not re.search(r"cu92|cu10", "\n".join(given.commands))


def test_a_detail_of_a_fault_shows_no_fault() -> None:
    details = [row for row in read(Signature) if row.signature.partition("/")[2].startswith("detail-")]
    assert len(details) > 20
    for row in details:
        id, _, name = row.signature.partition("/")  # noqa: A001 - as in reports
        environment = parse_text(row.example)
        assert seen(environment, id, name), row.signature
        assert not [message for message in seen(environment, id) if message.signature == row.signature]


def test_another_kernels_headers_next_to_its_own_are_no_fault() -> None:
    text = (
        "$ uname -r\n3.10.0-957.el7.x86_64\n$ dkms status\nnvidia, 440.64.00: added\n"
        "modprobe: FATAL: Module nvidia not found.\n"
        "kernel-devel-3.10.0-1127.18.2.el7.x86_64\nkernel-devel-3.10.0-957.el7.x86_64\n"
    )
    assert "did not build anything" not in told(text, "dkms-build-failed").summary


def test_a_wheel_for_a_jetson_is_of_its_release_and_python() -> None:
    rows = read(JetsonWheel)
    assert len({row.l4t for row in rows}) > 2
    for row in rows:
        tag = f"cp{row.python}".replace(".", "")
        assert f"-{tag}-" in row.file and row.first_l4t.major == row.l4t
        assert row.url.startswith("https://") and row.url.endswith(".whl")


def test_a_jetson_of_an_unknown_release_is_sent_to_the_guide() -> None:
    environment = parse_text("Jetson Orin, torch.cuda.is_available() is False, torch 2.4.1 from pip\n")
    found_ones = run_checks(environment, matrix(), all_checks().values())
    given = next((one.remedy for one in found_ones if one.id == "jetson-generic-wheel" and one.remedy), None)
    assert given is not None and not any(".whl" in line for line in given.commands)
