"""A remedy matches what the input shows: its module, its cards, its system, its manager; one test for each class."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Status
from envkit.checks.engine.registry import all_checks
from envkit.checks.engine.runner import run_checks
from envkit.ingest import parse_text
from envkit.render.text import doctor_text
from tests.checks.software import findings_of, matrix

FAILED_BUILD = """Error! Bad return status for module build on kernel: 6.11.0-1012-azure (x86_64)
Consult /var/lib/dkms/{module}/{version}/build/make.log for more information. nvidia-smi sees nothing.
Building module:(bad exit status: 2) make -C /lib/modules/6.11.0 M=/var/lib/dkms/{module}/{version}/build
"""
ECC = "RuntimeError: CUDA error: uncorrectable ECC error encountered\n"
AVX = (
    'time=2025-01-27T22:10:31 level=WARN source=gpu.go:624 msg="CPU does not have minimum vector extensions, GPU '
    'inference disabled" required=avx detected="no vector extensions"\n'
)
CUDART = "OSError: libcudart.so.7.5: cannot open shared object file: No such file or directory\n"
NO_KERNEL = "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"
INVALID = "Check failed: error == cudaSuccess (8 vs. 0)  invalid device function\n"
NVCC = "nvcc fatal   : Unsupported gpu architecture 'compute_86'\n"
TOO_OLD = "nvidia-docker | Error: unsupported CUDA version: driver 7.0 < image 7.5\n"


def cause(text: str) -> tuple[str, str]:
    """The advice and the commands of the first problem."""
    first = next(one for one in findings_of(text) if one.status in (Status.FAIL, Status.WARN))
    assert first.remedy is not None, first
    return first.remedy.summary, "\n".join(first.remedy.commands)


def test_a_module_of_somebody_else_needs_no_other_driver() -> None:
    advice, commands = cause(FAILED_BUILD.format(module="dxgkrnl", version="f6f9c9ab2"))
    assert "driver branch" not in advice and "dxgkrnl" in advice
    assert "/var/lib/dkms/dxgkrnl/f6f9c9ab2/build/make.log" in commands
    assert "dxgkrnl" not in cause(FAILED_BUILD.format(module="nvidia", version="550.54.14"))[0]


def test_half_installed_packages_are_finished_and_then_loaded() -> None:
    commands = cause("$ dpkg -l | grep nvidia\niU  nvidia-driver  525.85.12-1  amd64  NVIDIA metapackage\n")[1]
    order = ("linux-headers-", "dpkg --configure -a", "--fix-broken install", "dkms status", "sudo reboot")
    assert [commands.index(word) for word in order] == sorted(commands.index(word) for word in order)


@pytest.mark.parametrize("sign", ["gcc (Debian 12.2.0-14) 12.2.0", "linux 6.1.0-3-amd64", "kmod 30+deb12u1"])
def test_signs_of_debian_are_not_taken_for_ubuntu(sign: str) -> None:
    text = f"{sign}\nThe NVIDIA driver on your system is too old (found version 11040).\nRTX 3060, driver 470.256.02\n"
    assert "nvidia-driver-580" not in cause(text)[1]


def test_a_toolkit_that_cannot_serve_the_card_is_not_installed() -> None:
    assert "--cuda 7.5" in cause(CUDART)[1]
    advice, commands = cause(f"GTX 1080, CUDA 8.0\n{CUDART}")
    assert "install --cuda" not in commands and "does not support this GPU" in advice


def test_every_card_is_compiled_for() -> None:
    text = "1) NVIDIA-SMI 361.42, GeForce GTX 960: OK\n2) NVIDIA-SMI 367.48, GeForce GTX 1080: fails\n"
    assert "CMAKE_CUDA_ARCHITECTURES='52;61'" in cause(f"{text}$ make runtest\n{INVALID}")[1]


def test_no_build_is_named_for_a_card_that_nobody_named() -> None:
    advice, commands = cause(f"Windows 11, driver 576.57, Python 3.12, torch 2.6.0\n{NO_KERNEL}")
    assert "pip install" not in commands and "include its name in the input" in advice


def test_a_virtual_machine_of_proxmox_gets_the_processor_of_its_host() -> None:
    assert "qm set VMID --cpu host" in cause(f"VM on PVE 8.3, Tesla P40\n{AVX}")[1]
    assert "qm " not in cause(AVX)[1]


def test_on_a_cluster_the_administrators_are_asked() -> None:
    assert "administrators" in cause(f"A good part of my jobs dies on node dgk713.\n{ECC}")[0]
    assert "administrators" not in cause(ECC)[0]


def test_a_toolkit_for_an_image_comes_with_its_base() -> None:
    assert "devel" in cause(f"Base is nvidia/cuda:10.2-cudnn7-devel-ubuntu18.04\n{NVCC}")[0]
    assert "In a container" not in cause(NVCC)[0]


def test_an_old_ubuntu_has_no_package_for_each_branch() -> None:
    advice, commands = cause(f"ubuntu 14.04 with a GTX 960\n{TOO_OLD}")
    assert "nvidia-driver-" not in commands and "Ubuntu 14.04" in advice


def test_a_synology_gets_no_package_of_ubuntu() -> None:
    text = "Synology, GTX 1060, driver 550.163.01. NVENC unavailable, Required: NVENC API 13.0, Found: 12.2\n"
    advice, commands = cause(text)
    assert "apt-get" not in commands and "release or image of the program" in advice
    assert "NVENC" in next(one.title for one in findings_of(text) if one.status is Status.FAIL)


def test_tensorflow_on_intel_is_not_answered_with_torch() -> None:
    tensorflow = (
        "I tensorflow/tsl/cuda/cudart_stub.cc:28] Could not find cuda drivers on your machine, GPU will not be used.\n"
    )
    arc = " `-- Device #0: Intel(R) Arc(TM) A730M Graphics\n"
    assert "torch" not in " ".join(cause(f"{tensorflow}$ clinfo -l\n{arc}"))


def test_the_same_remedy_is_reported_once() -> None:
    text = "Python 3.7, torch 1.3.1\nGPU 0: Tesla K40c (UUID: GPU-1)\nGPU 1: NVIDIA GeForce GT 710 (UUID: GPU-2)\n"
    environment = parse_text(f"PyTorch version: 1.3.1\nCUDA used to build PyTorch: 10.1\n{text}{NO_KERNEL}")
    page = doctor_text(environment, run_checks(environment, matrix(), all_checks().values()))
    assert page.count("-m pip install") <= 1


def test_the_package_that_failed_is_the_one_that_is_built() -> None:
    text = "ModuleNotFoundError: No module named 'torch'\nnote: This error originates from a subprocess\n"
    failed = "ERROR: Failed to build 'flash_attn' when getting requirements to build wheel\n"
    assert cause(text + failed)[1].endswith("--no-build-isolation flash-attn")


def test_no_framework_is_installed_for_a_program_that_is_none() -> None:
    """A renderer, and a framework that looks for the toolkit's own file."""
    lost = "cannot open shared object file: No such file or directory\n"
    for text in (
        f"LuxCore: libnvrtc.so: {lost}",
        f"cupy-cuda11x 11.6.0, driver 525.85.12, A100\n[BUG] libcudart.so: {lost}",
    ):
        advice, commands = cause(text)
        assert "the release that the program was built for" in advice and "pip" not in commands


def test_a_word_of_a_sentence_is_no_image() -> None:
    text = "the docker run of the older image works, but in docker build I get\nImportError: libcuda.so.1: "
    image = parse_text(f"{text}cannot open shared object file: No such file or directory\n").containers.image
    assert not image.known
    assert parse_text("$ docker run --gpus all acme/app:1.2 python x.py\n").containers.image.get() == "acme/app:1.2"
