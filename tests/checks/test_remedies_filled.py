"""Remedies whose commands hold what the text names: its container, package, target, release, driver and place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from envkit.checks.engine.findings import Remedy, Status
from envkit.checks.frameworks.jax_plugins import of_one_release
from envkit.ingest import parse_text
from envkit.model import Distribution, Environment, PythonEnvironment
from tests.checks.software import findings_of, matrix

REPORTS = Path(__file__).parent.parent / "reports"
LEFT_TO_FILL = re.compile(r"\b(?:PACKAGE|CONTAINER|NN|FOLDER|VERSION|X\.Y)\b")


def told(report: str, check: str) -> Remedy:
    """The remedy of a finding on a report, as `27-12`."""
    batch, _, _ = report.partition("-")
    text = (REPORTS / f"batch-{batch}" / f"b{report}.txt").read_text(encoding="utf-8")
    return of_text(text, check)


def of_text(text: str, check: str) -> Remedy:
    given = next(one.remedy for one in findings_of(text) if one.id == check and one.status is not Status.OK)
    assert given is not None
    return given


@pytest.mark.parametrize(
    ("report", "check", "parts"),
    [
        ("28-02", "docker-from-snap-or-desktop", ["docker-ce", "nvidia-ctk runtime configure", "context use"]),
        ("28-05", "device-node-permission", ['usermod -aG video "$USER"']),
        ("28-08", "build-isolation-hides-torch", ["--no-build-isolation auto-gptq==0.7.1"]),
        ("28-11", "libcudart-missing", ["--cuda 10.0 --cudnn 7 --run"]),
        ("28-15", "docker-no-nvidia-runtime", ["install -y nvidia-jetpack", "restart docker"]),
        ("28-16", "arch-dropped-by-framework", ["set CUDA_VISIBLE_DEVICES=-1"]),
        ("28-23", "driver-library-mismatch", ["modinfo -F version nvidia", "modprobe -r"]),
        ("28-25", "conda-sees-no-gpu", ["CONDA_OVERRIDE_CUDA=12.0"]),
        ("28-26", "build-out-of-memory", ["--no-build-isolation flash-attn==2.0.1"]),
        ("28-27", "arch-newer-than-build", ["torch==2.8.0", "whl/cu129"]),
        ("28-30", "driver-too-old-for-runtime", ["install -y nvidia-driver-525"]),
        ("28-36", "container-loses-gpu", ["cdi generate", "docker restart analysis"]),
        ("28-38", "cuda-architecture-not-chosen", ["-DCMAKE_CUDA_ARCHITECTURES=86"]),
        ("28-40", "libcudart-missing", ["poetry add torch==2.1.1"]),
        ("28-43", "jax-no-cuda-plugin", ["uninstall -y jax-cuda12-plugin jax-cuda12-pjrt"]),
        ("27-06", "cpu-lacks-instructions", ["install tensorflow==1.5.0"]),
        ("27-07", "gcc-too-new-for-nvcc", ["dnf install -y gcc15 gcc15-c++"]),
        ("27-14", "windows-runtime-missing", ["torch==2.5.1 torchvision==0.20.1"]),
        ("27-16", "driver-too-old-for-runtime", ["--no-deps xformers==0.0.23.post1", "whl/cu118"]),
        ("27-20", "repository-key-replaced", ["docker build --no-cache ."]),
        ("27-27", "glibc-too-old", ["FLASH_ATTENTION_FORCE_BUILD=TRUE", "--no-binary flash-attn"]),
        ("27-35", "extension-without-operators", ["MMCV_WITH_OPS=1"]),
        ("27-44", "engine-built-elsewhere", ["YOLO(r'FunGen-12s-pov-1.1.0.pt').export"]),
        ("27-47", "libdevice-not-found", ["cuda-nvcc=11.3.58", "nvvm/libdevice"]),
        ("27-49", "libcudart-missing", ["mxnet-cu90==", "uninstall -y mxnet-cu80"]),
        ("24-16", "dkms-build-failed", ['"value": "525.147.05"']),
        ("25-12", "libcudart-missing", ["CAUSAL_CONV1D_FORCE_BUILD=TRUE", "causal-conv1d mamba-ssm"]),
        ("22-27", "cpu-only-wheel", ["whl/cu126"]),
        ("21-33", "container-loses-gpu", ["docker restart gpu-exporter"]),
        ("17-32", "build-out-of-memory", ["cmake --build build --parallel 2"]),
        ("15-16", "cudnn-missing", ["ln -sf", 'export LD_LIBRARY_PATH="$HOME/cudnn-lib:']),
        (
            "15-27",
            "torch-replaced-by-dependency",
            ["--no-deps --no-build-isolation --no-binary=:all: xformers==0.0.20"],
        ),
        ("14-46", "container-loses-gpu", ["kubectl delete pod train-0"]),
        ("13-31", "cpu-only-wheel", ["install dgl-cu111", "uninstall -y dgl"]),
        ("13-46", "local-module-shadows", ["mv -n tensorflow.py my_tensorflow.py"]),
        ("10-08", "build-isolation-hides-torch", ["--no-build-isolation -r requirements.txt"]),
        ("10-18", "libcudart-missing", ["/etc/ld.so.conf.d/cuda-8.0.conf", "sudo ldconfig"]),
        ("9-03", "nvcc-too-old-for-gpu", ["export CUDA_HOME=/usr/local/cuda-12.8"]),
        ("8-24", "module-missing-for-running-kernel", ["akmods --force --kernels"]),
        ("8-47", "conda-sees-no-gpu", ["CONDA_OVERRIDE_CUDA=12.0", "pixi install"]),
        ("4-37", "extension-without-operators", ["--no-cache-dir mmcv-full==1.0.2", "cu101/torch1.5/index.html"]),
        ("2-14", "acs-blocks-p2p", ["ECAP_ACS+0x6.w=0000", "NCCL_P2P_DISABLE=1"]),
    ],
)
def test_the_commands_are_whole(report: str, check: str, parts: list[str]) -> None:
    lines = "\n".join(told(report, check).commands)
    assert [part for part in parts if part not in lines] == []
    assert not LEFT_TO_FILL.search(lines)


@pytest.mark.parametrize(
    ("report", "check", "words"),
    [
        ("28-10", "driver-module-not-loaded", "send the provider this message"),
        ("27-04", "arch-newer-than-build", "in place of lmcache/vllm-openai"),
        ("28-12", "torch-replaced-by-dependency", "Name the same torch"),
        ("28-39", "dkms-build-failed", "304 is the last branch"),
        ("28-49", "pcie-width-degraded", "on another board"),
        ("27-43", "nvcc-too-old-for-gpu", "add --with-driver"),
        ("22-07", "cuda-architecture-not-chosen", "-DCMAKE_CUDA_ARCHITECTURES=86"),
        ("4-42", "wsl-libcuda-missing", "Windows build 19042"),
        ("1-28", "toolkit-missing", "build again in the same shell"),
    ],
)
def test_the_words_are_of_this_text(report: str, check: str, words: str) -> None:
    assert words in told(report, check).summary


def test_nothing_is_invented_where_no_name_is_told() -> None:
    lost = of_text("In docker, after some hours: Failed to initialize NVML: Unknown Error\n", "container-loses-gpu")
    assert lost.commands[-1] == "docker restart CONTAINER"
    killed = of_text("c++: fatal error: Killed signal terminated program cc1plus\n", "build-out-of-memory")
    assert killed.commands == ("export MAX_JOBS=2",)
    hidden = of_text(
        "Getting requirements to build wheel did not run successfully.\nModuleNotFoundError: No module named 'torch'\n",
        "build-isolation-hides-torch",
    )
    assert len(hidden.commands) == 1 and "your install command" in hidden.summary


def test_a_word_of_a_sentence_is_no_container() -> None:
    text = (
        "A docker restart helps for a day, docker exec into the container shows it: Failed to initialize NVML: "
        "Unknown Error\n"
    )
    assert of_text(text, "container-loses-gpu").commands[-1] == "docker restart CONTAINER"


def test_a_plug_in_without_its_own_cuda_follows_jaxlib() -> None:
    python = PythonEnvironment("python", None)
    given = of_one_release(python, Distribution("jax-cuda12-plugin", "0.4.30"), Distribution("jaxlib", "0.4.31"))
    assert given.commands == ("python -m pip install jax-cuda12-plugin==0.4.31 jax-cuda12-pjrt==0.4.31",)


def test_a_driver_of_the_archive_is_no_newer_than_its_support() -> None:
    text = (
        'ID=ubuntu\nVERSION_ID="18.04"\nPRETTY_NAME="Ubuntu 18.04"\n\nNVRM version: NVIDIA UNIX x86_64 Kernel Module  '
        "470.161.03\nprovided PTX was compiled with an unsupported toolchain.\nCuda compilation tools, release 12.4\n"
    )
    given = of_text(text, "ptx-newer-than-driver")
    assert not any("nvidia-driver-5" in line for line in given.commands)
    assert "newer system is needed" in given.summary


def test_the_release_of_centos_is_read_from_its_own_file() -> None:
    read = parse_text("$ cat /etc/redhat-release\nCentOS Linux release 7.8.2003 (Core)\nOn Ubuntu 20.04 it works.\n")
    assert read.system.os.get().os_id == "centos7"


def test_an_environment_without_a_text_gets_each_remedy() -> None:
    from envkit.checks.containers.lost_gpu import kept_gpu
    from envkit.checks.frameworks.build_again import fewer_compilers, without_isolation

    for function in (kept_gpu, fewer_compilers, without_isolation):
        assert function(Environment(), matrix()).commands
