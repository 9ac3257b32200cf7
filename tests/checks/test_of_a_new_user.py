"""What a new user's texts must be told: the program's own words before what is told of it, and fixes that end well."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Finding, Status
from envkit.ingest import parse_text
from tests.checks.software import findings_of

_LIST = "The current PyTorch install supports CUDA capabilities sm_37 sm_50 sm_60 sm_70.\n"
_NO_KERNEL = "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"
_SNAP = (
    "I installed docker from snap on Ubuntu 22.04.\n$ sudo docker run --rm --gpus all ubuntu nvidia-smi\n"
    "nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: cannot open shared object "
    "file: no such file or directory: unknown.\n"
)
_LSPCI = "01:00.0 VGA compatible controller: NVIDIA Corporation AD104 [GeForce RTX 4070] (rev a1)\n"
_NOUVEAU = "$ lsmod | grep -E 'nvidia|nouveau'\nnouveau              2744320  8\n"


def _fails(text: str) -> list[Finding]:
    return [one for one in findings_of(text) if one.status is Status.FAIL]


def _words(found: Finding) -> str:
    assert found.remedy is not None
    return f"{found.title} {found.remedy.advice} {' '.join(found.remedy.commands)}"


def _incompatible(gpu: str, target: str) -> str:
    return f"{gpu} with CUDA capability {target} is not compatible with the current PyTorch installation.\n"


@pytest.mark.parametrize(
    ("before", "gpu", "target", "after", "command"),
    [
        ("torch 1.10.0+cu113, it fails:\n", "NVIDIA GeForce RTX 4090", "sm_89", "", "torch==1.10.0+cu113"),
        ("", "NVIDIA GeForce RTX 3090", "sm_86", "requirements:\ntorch==1.9.0+cu111\n", "torch==1.9.0+cu111"),
    ],
)
def test_the_list_that_pytorch_prints_is_of_the_build_in_use(
    before: str, gpu: str, target: str, after: str, command: str
) -> None:
    found = _fails(f"{before}{_incompatible(gpu, target)}{_LIST}{_NO_KERNEL}{after}")[0]
    assert found.id == "arch-newer-than-build"
    said = _words(found)
    assert "keep it" not in said and "different build is in use" in said
    assert "torch.__file__" in said and command in said


def test_an_extension_is_at_fault_where_pytorch_prints_no_list() -> None:
    found = _fails(f"NVIDIA GeForce RTX 3090\ntorch 1.10.0+cu113\nflash_attn fails: {_NO_KERNEL}")[0]
    assert "keep it" in _words(found)


def test_the_snap_of_docker_is_replaced_and_the_engine_set_up() -> None:
    fails = _fails(_SNAP)
    assert [one.id for one in fails if not one.because_of] == ["docker-from-snap-or-desktop"]
    assert fails[0].remedy is not None
    commands = fails[0].remedy.commands
    assert "snap" in fails[0].title and not any("docker-ce" in line for line in commands)
    order = ["snap remove docker", "apt-get update", "docker.io", "nvidia-ctk runtime configure", "docker run"]
    places = [next(i for i, line in enumerate(commands) if word in line) for word in order]
    assert places == sorted(places)


def test_docker_desktop_keeps_its_own_fix() -> None:
    found = _fails('Docker Desktop for Linux on Ubuntu: could not select device driver "" with capabilities: [[gpu]]\n')
    assert "snap remove" not in _words(found[0])


@pytest.mark.parametrize("text", [_LSPCI + _NOUVEAU, _LSPCI + _NOUVEAU + "nvidia-smi : commande introuvable\n"])
def test_nouveau_in_use_beside_no_module_of_nvidia_is_not_healthy(text: str) -> None:
    assert {one.id for one in _fails(text)} & {"nouveau-loaded", "driver-not-installed"}


@pytest.mark.parametrize(
    "also",
    ["nvidia_drm            73728  2\n", "| NVIDIA-SMI 550.120   Driver Version: 550.120   CUDA Version: 12.4 |\n"],
)
def test_nouveau_beside_a_driver_that_runs_is_no_fault(also: str) -> None:
    assert "nouveau-loaded" not in {one.id for one in _fails(_LSPCI + _NOUVEAU + also)}


def test_nouveau_that_nothing_uses_is_no_fault() -> None:
    assert not _fails(_LSPCI + "nouveau              2744320  0\n")


_NANO = (
    "# R32 (release), REVISION: 7.1, GCID: 29818004, BOARD: t210ref, EABI: aarch64\n$ python3 --version\nPython 3.6.9\n"
)


@pytest.mark.parametrize("asked", ["torch==2.0.0", "torch"])
def test_a_jetson_is_told_of_the_wheel_that_was_built_for_its_release(asked: str) -> None:
    text = (
        f"$ pip3 install {asked}\nERROR: Could not find a version that satisfies the requirement {asked} (from "
        f"versions: none)\nERROR: No matching distribution found for {asked}\n"
    )
    said = _words(next(one for one in _fails(_NANO + text) if one.id == "python-no-wheel"))
    assert "torch-1.11.0a0+17540c5+nv22.01-cp36-cp36m-linux_aarch64.whl" in said and "envkit resolve" not in said
    assert "torch-1.11.0a0" not in _words(_fails(text.replace("versions: none", "versions: 2.8.0"))[0])


def test_a_driver_that_is_offered_is_not_installed() -> None:
    offered = (
        "RTX 4070\nmodel    : AD104 [GeForce RTX 4070]\ndriver   : nvidia-driver-535 - distro non-free recommended\n"
        "driver   : nvidia-driver-535-open - distro non-free\n"
    )
    assert not parse_text(offered).driver.user_space.known
    assert parse_text("RTX 4070 with nvidia-driver-535 installed\n").driver.user_space.known


_CARDS = "2x RTX 4090, driver 525.60.13, IOMMU enabled\n"
_VIA = "node:4121:4150 [0] NCCL INFO Channel 00/0 : 0[1000] -> 1[2000] via P2P/IPC\n"
_LATE = "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=ALLREDUCE, Timeout(ms)=1800000)\n"
_NO_PEER = "NCCL WARN Cuda failure 'peer access is not supported between these two devices'\n"
_SHM = "misc/shmutils.cc:72 NCCL WARN Error while creating shared memory segment /dev/shm/nccl-oEPbEN (size 9637888)\n"


def test_a_hang_over_peer_access_that_the_cards_lack() -> None:
    assert [one.id for one in _fails(_CARDS + _VIA + _LATE)][0] == "geforce-p2p-hang"
    assert "geforce-p2p-hang" not in {one.id for one in _fails(_CARDS + _VIA + "all_reduce_perf: done\n")}
    a100 = _CARDS.replace("RTX 4090", "A100")
    assert "geforce-p2p-hang" not in {one.id for one in _fails(a100 + _VIA + _LATE)}


def test_a_small_shared_memory_comes_before_peer_access_of_cards_that_nobody_named() -> None:
    fails = _fails(f"docker run --gpus all IMAGE, 2 GPUs\n{_NO_PEER}{_SHM}")
    assert fails[0].id == "shm-too-small" and fails[0].because_of is None
    assert all("GeForce" not in one.title for one in fails)
    assert (
        "GeForce" not in _fails(_NO_PEER)[0].title and "GeForce" in _fails(f"2x GeForce RTX 4090\n{_NO_PEER}")[0].title
    )


_PENDING = "Warning  FailedScheduling  0/4 nodes are available: 4 Insufficient nvidia.com/gpu.\n"


def test_a_pod_that_finds_no_gpu_is_first_asked_what_the_nodes_offer() -> None:
    said = _words(_fails(_PENDING)[0])
    assert "allocatable" in said and "restart" not in said and "containerd" not in said
    plugin = "If this is a GPU node, did you configure the NVIDIA Container Toolkit?\n"
    assert "runtime configure" in _words(_fails(_PENDING + plugin)[0])
