"""The fix for reports whose fix was judged not to work: what it must hold, and what it must not."""

from __future__ import annotations

import pytest

from envkit.checks.engine.command import Command
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.suited import suited
from envkit.ingest import parse_text
from tests.checks.remedies_given import REPORTS
from tests.checks.test_remedies_suited import told


@pytest.mark.parametrize(
    ("report", "check", "parts", "without"),
    [
        ("3/b3-18", "jax-no-cuda-plugin", ["jaxlib==0.4.12+cuda12.cudnn89 nvidia-cublas-cu12"], []),
        ("29/b29-07", "gpu-kernel-timeout", ["reg add", "/v TdrDelay /t REG_DWORD /d 60 /f", "bfactor"], ["sudo"]),
        ("29/b29-11", "driver-library-mismatch", ["LD_LIBRARY_PATH=/.singularity.d/libs:"], ["modprobe", "fuser"]),
        (
            "29/b29-15",
            "container-no-gpu-injected",
            ["podman run --rm --device nvidia.com/gpu=all ubuntu"],
            ["--gpus all"],
        ),
        ("29/b29-16", "cuda-visible-devices-empty", ["#SBATCH --gres=gpu:1"], []),
        ("29/b29-17", "passthrough-blocked", ["initcall_blacklist=sysfb_init", "/etc/default/grub"], ["IOMMU group"]),
        ("29/b29-21", "dkms-build-failed", ["-backports", "dpkg --configure -a"], ["nvidia-driver-580"]),
        ("29/b29-24", "wsl-gpu-in-tcc-mode", ["only GPU", "-dm 0"], ["shutdown"]),
        ("29/b29-25", "uvm-module-not-loaded", ["radix_tree_preloads", "older kernel"], ["modules-load.d"]),
        ("29/b29-27", "package-index-wrong", ["[tool.pixi.pypi-options]", 'torch = "==2.5.1+cu121"'], ["index = "]),
        (
            "29/b29-29",
            "cudnn-mixed-sublibraries",
            ["export LD_LIBRARY_PATH=/usr/local/nvidia/lib64:/usr/local/nvidia/bin"],
            ["grep -v cuda"],
        ),
        ("29/b29-34", "arch-dropped-by-framework", ["docker pull ollama/ollama", "rename ollama ollama-before"], []),
        ("29/b29-36", "shm-too-small", ["--shm-size=8g -ti --rm", "-v /data/KITTI:/bonnet/KITTI", "bonnetal"], []),
        ("29/b29-39", "gcc-too-new-for-nvcc", ["Auxiliary", "CMAKE_GENERATOR_TOOLSET=v143,version=14.39"], []),
        ("29/b29-40", "python-no-wheel", ["uv sync --python 3.11"], ["uv venv"]),
        ("29/b29-44", "arch-newer-than-build", ["/usr/src/flash-attention"], ["PACKAGE"]),
        ("29/b29-45", "driver-too-old-for-runtime", ["nvidia.com/drivers", "no CUDA toolkit"], ["pip install"]),
        ("29/b29-47", "cuda-visible-devices-invalid", ["sed -i.bak", "own code"], ["export"]),
        ("30/b30-38", "cuda-visible-devices-invalid", ["findstr", "own code"], ["sed"]),
        ("30/b30-12", "tf-cannot-dlopen", ["$CONDA_PREFIX/lib"], ["envkit install"]),
        ("28/b28-35", "driver-capabilities-missing", ["nvliblist.conf"], ["docker run"]),
        ("28/b28-19", "peermem-not-loaded", ["nv_peer_mem"], ["modprobe nvidia-peermem"]),
        ("26/b26-28", "driver-dropped-gpu", ["install -y nvidia-340"], ["nvidia-driver-340"]),
        ("26/b26-36", "dkms-build-failed", ["boot.kernelPackages", "nixos-rebuild boot"], []),
        ("30/b30-28", "visual-studio-without-cuda", ["xcopy", "BuildCustomizations"], []),
    ],
)
def test_the_fix_is_that_of_the_machine(report: str, check: str, parts: list[str], without: list[str]) -> None:
    given = told((REPORTS / f"batch-{report}.txt").read_text(), check)
    said = "\n".join((given.advice, *given.commands))
    assert [part for part in parts if part not in said] == []
    assert [part for part in without if part in said] == []


@pytest.mark.parametrize(
    ("started", "expected"),
    [
        (
            "docker run -d --name x my/app:1 serve",
            ("docker stop x", "docker rename x x-before", "--shm-size=8g -d --name x my/app:1 serve"),
        ),
        ("docker run --gpus all --shm-size 1g my/app:1 serve", ("docker run --shm-size=8g --gpus all my/app:1 serve",)),
        ("docker run \\\n  -v $PWD:/w my/app:1 serve", ("-v $PWD:/w my/app:1 serve",)),
        ("docker run -e API_TOKEN=abc my/app:1 serve", ("docker run --gpus all --shm-size=8g my/app:1",)),
        ("docker run -v x:/y my/app:1 sh -c 'a; rm b'", ("docker run --gpus all --shm-size=8g my/app:1",)),
    ],
)
def test_an_option_goes_into_the_command_of_the_text(started: str, expected: tuple[str, ...]) -> None:
    step = Command(shell="docker run --gpus all --shm-size=8g IMAGE")
    printed = "\n".join(suited(parse_text(f"$ {started}\n"), Remedy("Do it.", (step,))).commands)
    assert [part for part in expected if part not in printed] == []


def test_a_framework_that_is_only_listed_gets_a_python_with_its_wheels() -> None:
    given = told("Python 3.12\npip install torch==1.13.1\n", "python-no-wheel")
    assert "PyTorch 1.13.1 has wheels" in given.advice
    assert "uv venv --python 3.11" in given.commands
