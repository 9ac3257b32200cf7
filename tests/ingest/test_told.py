"""What people write in their own words: facts of this machine, weaker than what a program printed."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Confidence, Status
from envkit.checks.engine.registry import all_checks
from envkit.checks.engine.runner import run_checks
from envkit.ingest import parse_text
from envkit.model.facts_json import to_json
from tests.checks.software import matrix
from tests.ingest.texts import told

SAID = (
    ("Windows 11, RTX 5070 Ti, driver 576.52", "pci_gpus.0.name", "GeForce RTX 5070 Ti"),
    ("Windows 11, RTX 5070 Ti, driver 576.52", "driver.user_space", "576.52"),
    ("Windows 11, RTX 5070 Ti, driver 576.52", "system.os.id", "windows"),
    ("my card is a gtx1080ti", "pci_gpus.0.name", "GeForce GTX 1080 Ti"),
    ("Two A100s in the box.", "pci_gpus.0.name", "A100"),
    ("系统 Ubuntu 22.04,50 系显卡", "pci_gpus.0.name", "GeForce 50 series"),
    ("laptop with an RTX 3060 Laptop GPU", "pci_gpus.0.name", "GeForce RTX 3060 Laptop GPU"),
    ("PyTorch 2.9.1(cu128) imports", "pythons.0.frameworks.0.cuda", "12.8"),
    ("torch in the environment is 2.1.0 from the cu121 index", "pythons.0.frameworks.0.cuda", "12.1"),
    ("It has torch 2.4.0 with CUDA 12.4", "pythons.0.frameworks.0.cuda", "12.4"),
    ("| tensorflow | 2.17.0 |\nTensorFlow 2.17.0 it is", "pythons.0.frameworks.0.version", "2.17.0"),
    ("- Python version: 3.13", "pythons.0.version", "3.13"),
    ("nvcc: release 8.0, V8.0.61\ngcc 6.4.0", "nvcc.version", "8.0"),
    ("nvcc: release 8.0, V8.0.61\ngcc 6.4.0", "host_compilers.0.version", "6.4.0"),
    ("windows 10, python 3.11", "system.os.id", "windows"),
    ("torch 2.1.0 fails on windows.", "system.os.id", "windows"),
    ("The old driver 535 was fine, driver 550 is not.", "driver.user_space", "550"),
    ("torch 2.1.0 worked, torch 2.6.0 does not", "pythons.0.frameworks.0.version", "2.6.0"),
    ("OS: Windows-10-10.0.19045-SP0", "system.os.id", "windows"),
    ("ubuntu 22.04 and a 3090", "system.os.os_id", "ubuntu22.04"),
    ("i have a 4070 laptop", "pci_gpus.0.name", "GeForce RTX 4070 Laptop GPU"),
    ("my 5090 is new", "pci_gpus.0.name", "GeForce RTX 5090"),
    ("torch.__version__ is 2.6.0+cpu", "pythons.0.frameworks.0.version", "2.6.0"),
    ("I import tensorflow (2.3) and get []", "pythons.0.frameworks.0.version", "2.3"),
    ("PyTorch (v2.1.0) is installed", "pythons.0.frameworks.0.version", "2.1.0"),
    ("upgraded PyTorch from 1.13 to 2.0", "pythons.0.frameworks.0.version", "2.0"),
    ("PyTorch nightly 2.7.0.dev20250301+cu128", "pythons.0.frameworks.0.cuda", "12.8"),
    ("nvidia-smi shows my card with 390.48", "driver.user_space", "390.48"),
    ("RTX 3090 Ti (535.104.05) here", "driver.user_space", "535.104.05"),
    ("cuda toolkit v12.1 is installed", "nvcc.version", "12.1"),
    ("WSL 2 with Ubuntu 22.04 on Windows 11", "system.machine_kind", "wsl2"),
    ("WSL 2 with Ubuntu 22.04 on Windows 11", "system.os.os_id", "ubuntu22.04"),
    ("It stopped after I went from driver 470 to 525.", "driver.user_space", "525"),
    ("The Quadro K2000 isn't seen any more after the update from 470 to 535.", "driver.user_space", "535"),
    ("Since then my GTX 1080 Ti is gone.", "pci_gpus.0.name", "GeForce GTX 1080 Ti"),
)
NOT_SAID = (
    ("Should I install driver 550 or torch 2.4 for an RTX 5090?", ("driver.user_space", "pythons", "pci_gpus")),
    ("I do not have an RTX 3090.", ("pci_gpus",)),
    ("it took a 3060 ms step and a 2080 MiB buffer, with 3090 images", ("pci_gpus",)),
    ("It works on my other machine with an RTX 3090 and torch 2.3.1.", ("pci_gpus", "pythons")),
    ("I tried torch 2.1, then torch 2.3 and torch 2.5.", ("pythons",)),
    ("The download of PyTorch (2.1 GB) never ends", ("pythons",)),
    ("needs driver 525 or newer", ("driver.user_space",)),
    ("tried driver 535 and driver 550", ("driver.user_space",)),
    ("I updated from 320 to 400 images per batch.", ("driver.user_space",)),
    ("Feature request for the 3090: tell the user that torch 2.3 is old.", ("pci_gpus", "pythons")),
)


@pytest.mark.parametrize(("text", "path", "value"), SAID)
def test_a_sentence_tells_a_fact_and_its_source_says_so(text: str, path: str, value: str) -> None:
    document = to_json(parse_text(text))
    assert told(document, path) == value
    node = document[path.partition(".")[0]] if path[0] in "pnh" else document[path.split(".")[0]][path.split(".")[1]]
    assert node["source"].endswith("(told)")


@pytest.mark.parametrize(("text", "paths"), NOT_SAID)
def test_questions_denials_and_other_machines_tell_nothing(text: str, paths: tuple[str, ...]) -> None:
    environment = parse_text(text)
    for path in paths:
        section, _, name = path.rpartition(".")
        node = getattr(environment, section) if section else environment
        assert not getattr(node, name).known, path


def test_what_a_program_printed_counts_before_what_is_reported() -> None:
    environment = parse_text(
        "I have an RTX 3090, driver 470 and torch 1.13.\n\n"
        "GPU 0: NVIDIA GeForce RTX 4090 (UUID: GPU-11111111)\n"
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22\n"
        "torch==2.3.1+cu121\n"
    )
    assert [gpu.name for gpu in environment.gpus.get()] == ["NVIDIA GeForce RTX 4090"]
    assert not environment.pci_gpus.known and not environment.driver.user_space.known
    assert [item.version for item in environment.pythons.get()[0].frameworks] == ["2.3.1"]


def test_told_facts_are_judged_and_the_verdict_is_likely() -> None:
    environment = parse_text("RTX 5070 Ti, torch 2.4.1+cu121. Every kernel fails.\n")
    first = run_checks(environment, matrix(), all_checks().values())[0]
    assert (first.id, first.status, first.confidence) == ("arch-newer-than-build", Status.FAIL, Confidence.LIKELY)


NO_KERNEL = "CUDA error: no kernel image is available for execution on the device\n"
BUILDS = (
    ("RTX 5080 and torch 2.5.1, ", ("torch==2.7.1", "whl/cu128")),
    ("RTX 5090 and torch 2.5.1, ", ("torch==2.7.1", "whl/cu128")),
    ("RTX 5060 Ti, torch 2.6.0+cu124, ", ("torch==2.7.1", "whl/cu128")),
    ("GTX 960, torch 2.9.0+cu128, ", ("torch==2.9.0", "whl/cu126")),
    ("GTX 1080 Ti torch 2.9.0, ", ("torch==2.9.0", "whl/cu126")),
)


@pytest.mark.parametrize(("words", "wanted"), BUILDS)
def test_a_card_that_is_only_named_gets_a_build_that_has_its_kernels(words: str, wanted: tuple[str, ...]) -> None:
    first = run_checks(parse_text(words + NO_KERNEL), matrix(), all_checks().values())[0]
    assert first.status is Status.FAIL and first.remedy is not None
    printed = " ".join(first.remedy.commands)
    assert all(word in printed for word in wanted), printed


CPU_BUILDS = (
    "windows 10, RTX 3060\ntorch 2.3.0+cpu\ntorch.cuda.is_available() returns False",
    "win10, RTX 3060, torch 2.3.0+cpu: Torch not compiled with CUDA enabled",
    "OS: Windows-10-10.0.19045-SP0\nRTX 3060, torch 2.3.0+cpu: Torch not compiled with CUDA enabled",
    "RTX 3060, win10, 2.3.0+cpu, torch.cuda.is_available() False",
    "RTX 3060, torch 2.3.0+cpu: Torch not compiled with CUDA enabled",
)


@pytest.mark.parametrize("words", CPU_BUILDS)
def test_a_cuda_build_comes_from_its_index_where_the_default_may_be_a_cpu_build(words: str) -> None:
    first = run_checks(parse_text(words + "\n"), matrix(), all_checks().values())[0]
    assert first.id == "cpu-only-wheel" and first.remedy is not None
    assert "--index-url https://download.pytorch.org/whl/cu121" in " ".join(first.remedy.commands)


SHORT = (
    ("torch 2.3.0 RTX 5070 Ti driver 570: no kernel image is available", "arch-newer-than-build"),
    ("my 5090: sm_120 is not compatible with the current PyTorch installation. torch 2.5.1", "arch-newer-than-build"),
    ("conda torch 2.5.1 py3.11_cpu_0 torch.cuda.is_available() False", "cpu-only-wheel"),
    ("CUDA_ERROR_NO_DEVICE: no CUDA-capable device, CUDA_VISIBLE_DEVICES=-1", "cuda-visible-devices-empty"),
    ("my gtx 1650 gets cuda out of memory", "gpu-memory-held-by-lost-process"),
    ("RTX 5090 tensorflow 2.16 no GPU detected by tf", "framework-sees-no-gpu"),
    (
        "hi, i have a 4070 laptop, windows 11, torch.cuda.is_available() returns False. "
        "torch.__version__ is 2.6.0+cpu?",
        "cpu-only-wheel",
    ),
    ("Windows 11, RTX 3060, pip install torch: torch.cuda.is_available() returns False", "cpu-only-wheel"),
    ("CUDA_VISIBLE_DEVICES=MIG-5c1b-a0d3,MIG-2f7e-1c6a", "mig-one-instance-visible"),
    ("ubuntu 18.04, torch 1.3.0 by pip, driver 410.48: is_available() is False", "driver-too-old-for-runtime"),
    ("RTX 5090 and torch 2.3.1, it crashes at once", "arch-newer-than-build"),
    ("cannot install the requirements: torch 1.12.0 with Python 3.12", "python-no-wheel"),
    ("On windows, GTX 1050: Torch is not able to use GPU", "cpu-only-wheel"),
    ("Orin Nano, JetPack 6: pip install torch; torch.cuda.is_available() is False", "jetson-generic-wheel"),
    ("Tesla V100, driver 450.80: PyTorch 2.1 uses the CPU. PyTorch 1.12 used the GPU.", "driver-too-old-for-runtime"),
    ("nvidia470 470.239 doesn't build on linux 6.12, dkms says Error 2", "dkms-build-failed"),
    ("torch sees no GPU, CUDA_VISIBLE_DEVICES is -1", "cuda-visible-devices-empty"),
    ("I upgraded the driver to 550 with a Quadro K4000: no devices were found", "driver-dropped-gpu"),
    ("The PC reboots under load as if someone pressed the reset button, RTX 3090", "power-supply-overloaded"),
)


@pytest.mark.parametrize(("words", "id"), SHORT)
def test_one_line_of_prose_is_answered(words: str, id: str) -> None:  # noqa: A002
    first = run_checks(parse_text(words + "\n"), matrix(), all_checks().values())[0]
    assert (first.id, first.status in (Status.FAIL, Status.WARN)) == (id, True)


LOGIN = "$ hostname\nlogin01\n$ sinfo\nPARTITION AVAIL\n$ nvidia-smi\nbash: nvidia-smi: command not found\n"
SLURM = (
    (LOGIN, "driver-not-installed"),
    ("In a slurm job, nvidia-smi not found: nvidia-smi: command not found\n", "driver-not-installed"),
    ("Slurm job, nvidia-smi in the job: No devices were found\n", "cuda-visible-devices-empty"),
    ("SLURM_JOB_ID=123\nCUDA_VISIBLE_DEVICES=\n$ nvidia-smi\nNo devices were found\n", "cuda-visible-devices-empty"),
)


@pytest.mark.parametrize(("words", "id"), SLURM)
def test_on_a_cluster_a_gpu_is_asked_for_and_nothing_is_installed(words: str, id: str) -> None:  # noqa: A002
    first = run_checks(parse_text(words), matrix(), all_checks().values())[0]
    assert first.id == id and first.status is Status.FAIL and first.remedy is not None
    assert all(command.startswith(("srun --gres=gpu:1", "sinfo")) for command in first.remedy.commands)


def test_the_build_that_fails_is_not_proposed_where_the_gpu_is_not_named() -> None:
    first = run_checks(parse_text("torch 2.5.1, " + NO_KERNEL), matrix(), all_checks().values())[0]
    assert first.remedy is not None and list(first.remedy.commands) == ["nvidia-smi -L"]


@pytest.mark.parametrize(("package", "cuda"), [("1.7.2.post107", "10.0"), ("2.3.2.post112", "11.2")])
def test_the_tag_of_paddlepaddle_names_its_cuda(package: str, cuda: str) -> None:
    environment = parse_text(f"paddlepaddle-gpu=={package}\n")
    assert str(environment.pythons.get()[0].frameworks[0].cuda) == cuda


@pytest.mark.parametrize("words", ["mxnet 0.9.5 built from source", "onnxruntime 1.17 on the GPU"])
def test_the_plain_name_of_a_framework_is_no_cpu_build_where_somebody_only_says_it(words: str) -> None:
    assert not parse_text(f"{words}, GTX 1070\n").pythons.get()[0].frameworks[0].cuda_known


def test_a_log_of_jax_says_nothing_of_tensorflow() -> None:
    log = (
        "No GPU/TPU found, falling back to CPU. (Set TF_CPP_MIN_LOG_LEVEL=0 and rerun for more info.)\n"
        "[CpuDevice(id=0)]\nGPU 0: NVIDIA GeForce RTX 3090 (UUID: GPU-11111111-2222-3333-4444-555555555555)\n"
    )
    failed = {
        one.id for one in run_checks(parse_text(log), matrix(), all_checks().values()) if one.status is Status.FAIL
    }
    assert failed == {"jax-no-cuda-plugin"}


NMS = "RuntimeError: operator torchvision::nms does not exist\n"


@pytest.mark.parametrize(
    "words",
    [
        f"torch                    2.3.0\ntorchvision              0.19.0\n{NMS}",
        f"{NMS}torch 2.3.0\ntorchvision 0.19.0",
        f"{NMS}pip list\ntorch                     2.3.0\ntorchvision               0.19.0\n",
    ],
)
def test_rows_of_a_listing_without_its_head_are_read(words: str) -> None:
    first = run_checks(parse_text(words), matrix(), all_checks().values())[0]
    assert first.remedy is not None and "torchvision==0.18.0" in " ".join(first.remedy.commands)


@pytest.mark.parametrize("line", ("web-1  | no GPU here", "comfy_web_1 | no GPU here"))
def test_the_prefix_of_a_container_s_log_shows_who_manages_it(line: str) -> None:
    assert parse_text(line).managed_by.get() == ("compose",)


def test_a_table_is_no_container_s_log() -> None:
    assert not parse_text("| web-1 | running |\nname | gpu-1").managed_by.known
