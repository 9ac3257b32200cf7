"""What a text names is kept: its release of a framework, its system, and the driver that its place can run."""

from __future__ import annotations

from envkit.checks.engine.findings import Finding, Status
from tests.checks.software import findings_of


def failures(text: str) -> dict[str, Finding]:
    findings = findings_of(text)
    return {finding.id: finding for finding in findings if finding.status is Status.FAIL}


def commands(finding: Finding) -> list[str]:
    assert finding.remedy is not None
    return list(finding.remedy.commands)


def test_the_release_that_was_replaced_comes_back() -> None:
    told = (
        "A custom node was installed on Windows (portable Comfy), RTX 4070. Since then: AssertionError: Torch not "
        "compiled with CUDA enabled. Before that pip said: Attempting uninstall: torch Successfully uninstalled "
        "torch-2.3.1+cu121 Successfully installed torch-2.4.0"
    )
    lines = commands(failures(told)["torch-replaced-by-dependency"])
    assert any("torch==2.3.1" in line and "cu121" in line for line in lines), lines
    assert all("grep" not in line and not line.endswith("\\") for line in lines), "these are no commands of Windows"


def test_jax_of_an_unknown_release_keeps_it() -> None:
    told = (
        "driver 550.144.03, RTX A5000. An NVIDIA GPU may be present on this machine, but a CUDA-enabled jaxlib is not "
        "installed. Falling back to cpu."
    )
    (line,) = commands(failures(told)["jax-no-cuda-plugin"])
    assert "jax.__version__" in line and "numpy" not in line


def test_the_driver_of_a_vgpu_host_is_replaced_by_the_guests() -> None:
    told = (
        "In the virtual machine I installed NVIDIA-Linux-x86_64-470.63-vgpu-kvm.run; nvidia-smi shows CUDA Version: "
        "N/A and deviceQuery fails: CUDA driver version is insufficient for CUDA runtime version"
    )
    found = failures(told)
    assert "grid.run" in " ".join(commands(found["driver-not-installed"]))
    assert found["driver-too-old-for-runtime"].because_of == "driver-not-installed"


def test_a_container_without_its_gpu_says_nothing_of_the_driver() -> None:
    told = (
        "podman run --gpus=all IMAGE: Error: setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=all\n"
        "Without --gpus: CUDA failure 35: CUDA driver version is insufficient for CUDA runtime version\n"
    )
    assert failures(told)["driver-too-old-for-runtime"].because_of == "cdi-unresolvable"


def test_a_blind_torch_in_wsl_is_no_plain_install_of_windows() -> None:
    told = (
        "Windows 11, WSL 2 with Ubuntu 22.04, RTX A2000, driver 572.61.\n"
        "In WSL:\n$ nvidia-smi\nNo devices were found\n"
        ">>> torch.cuda.is_available()\nFalse\n"
    )
    assert "cpu-only-wheel" not in failures(told)
