"""The kinds of causes that batch 35 missed or named wrongly: on other machines, in other words, and what is none."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Remedy, Status
from tests.checks.remedies_given import REPORTS
from tests.checks.software import findings_of
from tests.checks.test_causes_of_batch_34 import failures, first

_NO_IMAGE = "RuntimeError: CUDA error: no kernel image is available for execution on the device"
_OVERRIDE = 'error: member function declared with "override" does not override a base class member'
_DUPLICATE = "Duplicate GPU detected : rank 9 and rank 1 both on CUDA device 34000"
_INSUFFICIENT = "CUDA driver version is insufficient for CUDA runtime version"
_NO_GPUS = "RuntimeError: No CUDA GPUs are available"
_STALE = "SystemError: PY_SSIZE_T_CLEAN macro must be defined for '#' formats"
_XMRIG = " * ABOUT        XMRig/6.21.0 gcc/11.4.0\n * CUDA         disabled "


@pytest.mark.parametrize(
    ("cause", "text"),
    [
        ("triton-cache-stale", f"torch.compile on Ubuntu, triton/backends/nvidia/driver.py: {_STALE}"),
        ("triton-cache-stale", "AttributeError: module '__triton_launcher' has no attribute 'launch'"),
        ("arch-dropped-by-framework", f"GeForce GT 710, torch 2.5.1: {_NO_IMAGE}"),
        ("arch-dropped-by-framework", f"Ubuntu, GT 730: {_NO_IMAGE}"),
        (
            "jetson-container-of-other-release",
            "Jetson TX2: docker run --runtime nvidia -it dustynv/ros:humble-r35.4.1, error: no GPU",
        ),
        (
            "jetson-container-of-other-release",
            "AGX Xavier: docker build -t zed -f Dockerfile.l4t36_3-humble . ends well, then: NO GPU DETECTED",
        ),
        ("library-release-mismatch", f"TensorRT 8.5, IPluginV2: {_OVERRIDE}"),
        ("library-release-mismatch", "error: looser throw specifier for 'virtual int nvinfer1::Mish::enqueue()'"),
        (
            "library-release-mismatch",
            "error: 'class nvinfer1::IBuilderConfig' has no member named 'setMaxWorkspaceSize' (TensorRT 10)",
        ),
        ("jax-library-load", "jaxlib/gpu/solver.cc: operation f() failed: cudaGetErrorString symbol not found."),
        ("container-no-gpu-injected", f"udocker run tabbyml/tabby serve --device cuda\nCUDA error 35: {_INSUFFICIENT}"),
        ("container-no-gpu-injected", f"$ ch-run ./pytorch -- python train.py\n{_NO_GPUS}"),
        ("libcudart-missing", f"{_XMRIG}(libxmrig-cuda.so: cannot open shared object file)"),
        ("nix-package-without-cuda", "NixOS, Sunshine with nvenc: Error: Couldn't scale frame: Invalid argument"),
        ("nix-package-without-cuda", "ollama of nixpkgs is built without CUDA, it runs on the CPU of my RTX box"),
        ("gpu-fallen-off-bus", "RTX 3070 on a riser: CUDA error 999, then the card can't be used until a reboot"),
        ("ranks-share-a-gpu", f"torchrun --nproc-per-node=2 train.py\nncclInvalidUsage\n{_DUPLICATE}"),
    ],
)
def test_the_cause_is_named(cause: str, text: str) -> None:
    assert first(text) == (cause, Status.FAIL)


@pytest.mark.parametrize(
    "text",
    [
        "PY_SSIZE_T_CLEAN is defined before Python.h in my own C extension.",
        "module '__triton_launcher' is compiled, the kernels run",
        "The Jetson Orin Nano runs docker run --runtime nvidia dustynv/ros:humble-r36.2.0 without an error.",
        "Jetson Nano: docker run --runtime nvidia dustynv/ros:humble-r32.7.1 works.",
        f"shape.h(12): {_OVERRIDE} in my class Circle",
        "My class Logger : public nvinfer1::ILogger compiles with TensorRT 10.",
        "ld: elf_hash symbol not found in the table, stripped",
        "udocker setup --nvidia tabby; udocker run tabby prints the T4, no GPU is missing",
        "ch-fromhost --nvidia ./pytorch; ch-run ./pytorch -- nvidia-smi lists the A100",
        "XMRig/6.21.0, CUDA disabled (by the configuration), cpu mining only",
        "Sunshine on Fedora: Couldn't scale frame: Invalid argument, then it went on with another encoder.",
        "nix build of opencv, -DWITH_CUDA:BOOL=FALSE as I want it",
        "mining rig with risers: every card works, I rebooted for the update",
        f"No graphics card in this workstation, so it should run on the CPU. {_NO_GPUS}",
        f"My laptop has no GPU, the CPU is fine. {_NO_GPUS}",
        "rank 0 and rank 1 each have a GPU of their own",
    ],
)
def test_what_only_looks_like_it_is_no_failure(text: str) -> None:
    assert failures(text) == []


@pytest.mark.parametrize(
    "text",
    [
        f"No GPU in this container is found, it should not use the CPU. {_NO_GPUS}",
        f"My server has two A100, I want the GPU and not the CPU. {_NO_GPUS}",
    ],
)
def test_who_misses_a_gpu_gets_an_answer(text: str) -> None:
    assert failures(text)


def test_a_card_beside_one_that_builds_left_out_is_judged_itself() -> None:
    assert first(f"Windows 10, RTX 5090 and a GT 730: {_NO_IMAGE}") == ("arch-newer-than-build", Status.FAIL)


@pytest.mark.parametrize(
    ("number", "words"),
    [
        ("02", "torchinductor_"),
        ("06", "r32 or jp4"),
        ("08", "DirectML"),
        ("09", "flash the JetPack"),
        ("12", "own cable from the power supply"),
        ("16", "update Numba"),
        ("17", "CUDAPATH"),
        ("18", "balloon: 0"),
        ("19", "config.toml.tmpl"),
        ("21", "arch=compute_80,code=sm_80"),
        ("22", "libnvidia-container-tools"),
        ("23", "jax[cuda12]"),
        ("24", "Update jax and jaxlib together"),
        ("27", "wsl.useWindowsDriver"),
        ("28", "TCNN_CUDA_ARCHITECTURES=86"),
        ("33", "a reboot still loads the old module"),
        ("37", "do not need a container"),
        ("38", "xmrig-cuda"),
        ("39", "No wheel provides cuDNN 6"),
        ("41", "out of Path"),
        ("43", "cudaSupport = true"),
        ("44", "NCCL_HOSTID"),
    ],
)
def test_the_remedy_contains_what_mended_the_case(number: str, words: str) -> None:
    assert words in _given(number).advice


@pytest.mark.parametrize(
    ("number", "command"),
    [
        ("22", "nvidia-container-cli info"),
        ("30", "torchvision==0.17.1 --index-url https://download.pytorch.org/whl/cpu"),
        ("32", "conda install -y -c conda-forge cudatoolkit"),
        ("37", "udocker setup --nvidia --force NAME"),
    ],
)
def test_the_commands_are_of_the_system_of_the_text(number: str, command: str) -> None:
    assert any(command in line for line in _given(number).commands)


def _given(number: str) -> Remedy:
    """The remedy of the first failure of a report of the batch."""
    text = (REPORTS / f"batch-35/b35-{number}.txt").read_text(encoding="utf-8")
    given = next(each.remedy for each in findings_of(text) if each.status is Status.FAIL)
    assert given is not None
    return given
