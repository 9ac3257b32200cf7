"""The kinds of causes that batch 36 missed or named wrongly: on other machines, in other words, and what is none."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Remedy, Status
from tests.checks.remedies_given import REPORTS
from tests.checks.software import findings_of
from tests.checks.test_causes_of_batch_34 import failures, first
from tests.checks.test_fixes_of_reports import fails
from tests.checks.test_what_a_text_shows import fix

_NO_IMAGE = "no kernel image is available for execution on the device"
_NO_LIBCUDA = "error while loading shared libraries: libcuda.so.1: cannot open shared object file"
_SILENT = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."
_K40 = "00:04.0 3D controller: NVIDIA Corporation GK110BGL [Tesla K40m] (rev a1)"
_T4 = "00:04.0 3D controller: NVIDIA Corporation TU104GL [Tesla T4] (rev a1)"
_RUNNERS = 'msg="Dynamic LLM libraries" runners=[cpu]'
_ASSERT = "RuntimeError: device >= 0 && device < num_gpus INTERNAL ASSERT FAILED"
_FALSE = "torch.cuda.is_available() is False"
_CPU_JOB = "sbatch: error: *** Error: CPU job setup is not valid"
_PROCEDURE = "DLL load failed while importing {}: The specified procedure could not be found."


@pytest.mark.parametrize(
    ("cause", "text"),
    [
        ("driver-dropped-gpu", f"{_SILENT}\n{_K40}\nThe new image of our cloud changed from driver 470.82 to 525.60."),
        ("arch-dropped-by-framework", f"GeForce GT 540M, miner: {_NO_IMAGE}"),
        ("arch-dropped-by-framework", f"Notebook with a GTX 560M, torch: CUDA error: {_NO_IMAGE}"),
        (
            "container-no-gpu-injected",
            f"docker run --gpus all app is fine.\n$ docker run $MOUNTS -it \\\n  app nvidia-smi\n{_NO_LIBCUDA}",
        ),
        ("cpu-only-wheel", f'ollama: {_RUNNERS}\nmsg="inference compute" id=GPU-0 library=cuda variant=v12'),
        ("cpu-lacks-instructions", f"ollama in a VM with a Tesla T4: {_RUNNERS}"),
        ("mig-one-instance-visible", f"H100, MIG 1g.10gb slices: {_ASSERT}"),
        ("mig-one-instance-visible", "Ray only sees one GPU, the A100 has three MIG instances for Ray to use"),
        (
            "nix-without-driver",
            "NixOS in WSL: Could not start dynamically linked executable: /usr/lib/wsl/lib/nvidia-smi",
        ),
        ("nix-without-driver", f"nix-shell on Fedora with torch-bin: {_FALSE}"),
        ("slurm-gres-misconfigured", "slurm 23.11, AutoDetect=nvml in gres.conf: gpu_nvml.so is missing on the nodes"),
        (
            "slurm-gres-misconfigured",
            "slurmd: fatal: We were configured to autodetect nvml functionality, but we weren't able to find that lib",
        ),
        ("slurm-gres-unknown", f"$ sbatch --partition=a100 --gpus=2 train.sh\n{_CPU_JOB}"),
        ("library-release-mismatch", "Ubuntu: Found CUDA 11.0 but the ZED SDK requires 10.2"),
        ("extension-abi-mismatch", f"Windows, torch 2.3: {_PROCEDURE.format('awq_ext')}"),
    ],
)
def test_the_cause_is_named(cause: str, text: str) -> None:
    found = first(text)
    assert found is not None
    assert (found[0], found[1]) == (cause, Status.FAIL)


@pytest.mark.parametrize(
    "text",
    [
        "ImportError: torch/lib/libtorch_hip.so: undefined symbol: ncclGroupSimulateEnd",
        "HIP error: no ROCm-capable device is detected; torch/lib/libtorch_python.so: undefined symbol: ncclCommSplit",
        "The driver went from 470.x to 525.x on the K80 node, nvidia-smi lists it",
        "GTX 560M, an old notebook: the mining program counts its kernels",
        "docker run --gpus all app prints libcuda.so.1 (libc6,x86-64)",
        'ollama: msg="Dynamic LLM libraries" runners="[cpu cpu_avx cuda_v12]" library=cuda RTX 3060',
        "device >= 0 && device < num_gpus is what I check in my kernel launcher, MIG is off",
        "Ray and MIG instances work: every worker has its own",
        "nix run of hello on Ubuntu in WSL works, nvidia-smi lists the RTX 3060",
        "NixOS-WSL with nix-ld: /usr/lib/wsl/lib/nvidia-smi lists the RTX 3060",
        "gpu_nvml.so is there, AutoDetect=nvml finds all GPUs of the Slurm node",
        "sbatch --gpus=2 train.sh: Submitted batch job 12",
        "The ZED SDK 4 found CUDA 12.1, all is well",
        f"Windows: {_PROCEDURE.format('rtree_core')}",
    ],
)
def test_what_only_looks_like_it_is_no_failure(text: str) -> None:
    assert failures(text) == []


def test_a_driver_that_still_has_the_gpu_did_not_drop_it() -> None:
    found = failures(f"{_SILENT}\n{_T4}\nThe new image of our cloud changed from driver 470.82 to 525.60.")
    assert "driver-dropped-gpu" not in found


@pytest.mark.parametrize(
    ("number", "words"),
    [
        ("01", "last image before the update"),
        ("03", "UUID of one instance"),
        ("10", "use a newer GPU"),
        ("12", "--with-nvml"),
        ("13", "--gpus-per-node=N"),
        ("16", "names the board's JetPack"),
        ("21", "programs.nix-ld.enable"),
        ("22", "LD_LIBRARY_PATH"),
        ("34", "lib/ollama"),
        ("35", "install the torch that it was built for"),
        ("36", "with commas between them"),
    ],
)
def test_the_remedy_contains_what_mended_the_case(number: str, words: str) -> None:
    assert words in _given(number).advice


@pytest.mark.parametrize(
    ("number", "command"),
    [
        ("01", "nvidia-driver-470"),
        ("03", "export CUDA_VISIBLE_DEVICES=MIG-UUID"),
        ("11", "docker run --gpus all"),
        ("21", "NIX_LD_LIBRARY_PATH=/usr/lib/wsl/lib"),
        ("22", "export LD_LIBRARY_PATH=/usr/lib/wsl/lib"),
    ],
)
def test_the_commands_are_of_the_system_of_the_text(number: str, command: str) -> None:
    assert any(command in line for line in _given(number).commands)


def _given(number: str) -> Remedy:
    """The remedy of the first failure of a report of the batch."""
    text = (REPORTS / f"batch-36/b36-{number}.txt").read_text(encoding="utf-8")
    given = next(each.remedy for each in findings_of(text) if each.status is Status.FAIL)
    assert given is not None
    return given


def test_a_rented_host_is_chosen_and_not_changed() -> None:
    demand = "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.6, please update your driver\n"
    rented = fix(fails(f"start container for runpod/worker-comfyui:5.8.5: begin\n{demand}")[0])
    assert "CUDA 12.6 or newer" in rented and "apt-get" not in rented
    assert "rented" not in fix(fails(demand)[0])


def test_factory_clocks_come_before_a_reset() -> None:
    halted = "kernel: NVRM: Xid (PCI:0000:01:00): 62, pid=24349, 0000(0000) 00000000 00000000\n"
    raised = fails(f"TREX: Can't find nonce, try to reduce overclock to stabilize GPU state\n{halted}")[0]
    assert "factory" in fix(raised) and "RMA" not in fix(raised)
    assert "factory" not in fix(fails(halted)[0])
