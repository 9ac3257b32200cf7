"""Reports say what their text shows: no other program's name, no invented fact, and nothing of what is not in it."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Finding, Status
from envkit.documents.verdict import verdict
from envkit.ingest import parse_text
from envkit.model import PASTED, Environment
from tests.checks.software import findings_of

PENDING = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."
NO_DEVEL = "Error: Unable to find a match: kernel-devel-5.14.0-427.el9.x86_64"
OPERATOR = "$ kubectl -n gpu-operator logs nvidia-driver-daemonset-8hd2l"
PLUGIN = "could not load NVML library: libnvidia-ml.so.1: cannot open shared object file: No such file or directory"
DOCKER = 'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].'
COMPUTED = "$ python -m torch.utils.collect_env\nPyTorch version: 2.7.0+cu128\nIs CUDA available: True\n"
H100 = "GPU 0: NVIDIA H100 80GB HBM3\nGPU 1: NVIDIA H100 80GB HBM3\n"
QUERY = """==============NVSMI LOG==============
Driver Version                            : 565.57.01
Attached GPUs                             : 1
GPU 00000000:01:00.0
    Product Name                          : NVIDIA GeForce RTX 4090
    PCI
        GPU Link Info
            Link Width
                Max                       : 16x
                Current                   : 4x
    Clocks Event Reasons
        Idle                              : {idle}
        HW Slowdown                       : {slowed}
        SW Thermal Slowdown               : {slowed}
"""


def troubles(text: str) -> list[Finding]:
    return [finding for finding in findings_of(text) if finding.status in (Status.FAIL, Status.WARN)]


def own(text: str, id: str) -> Finding:  # noqa: A002 - as in reports
    return next(finding for finding in findings_of(text) if finding.id == id)


def test_a_driver_container_without_headers_is_the_cause_of_a_pending_pod() -> None:
    first, second = troubles(f"{PENDING}\n{OPERATOR}\n{NO_DEVEL}\n")
    assert first.id == "kernel-headers-missing" and "DKMS" not in first.title and "5.14.0-427" in first.title
    assert second.status is Status.WARN and second.title.startswith("Kubernetes")


def test_headers_that_dkms_misses_are_still_those_of_dkms() -> None:
    assert "DKMS" in own(f"$ sudo dnf install nvidia-driver\n{NO_DEVEL}\n", "kernel-headers-missing").title


@pytest.mark.parametrize("line", [PENDING, PLUGIN, 'RuntimeHandler "nvidia" not supported'])
def test_what_kubernetes_says_is_not_docker_s(line: str) -> None:
    finding = own(f"$ kubectl describe pod train-0\n{line}\n", "docker-no-nvidia-runtime")
    assert finding.status is Status.FAIL and "Docker" not in finding.title


def test_what_docker_says_is_docker_s_also_beside_kubernetes() -> None:
    assert "Docker" in own(f"$ kubectl get pods\n{PENDING}\n{DOCKER}\n", "docker-no-nvidia-runtime").title


def test_the_plugin_s_missing_library_is_a_consequence() -> None:
    assert own(f"$ kubectl logs plugin\n{PLUGIN}\n", "nvml-library-missing").because_of == "docker-no-nvidia-runtime"
    assert own(f"$ nvidia-smi\n{PLUGIN[22:]}\n", "nvml-library-missing").because_of is None


UNSAID = ("docker-no-nvidia-runtime", "selinux-blocks-device", "container-loses-gpu", "wsl1", "rootless-cgroups")


@pytest.mark.parametrize("id", [*UNSAID, "mig-enabled-no-instance", "nvlink-inactive", "triton-needs-compiler"])
def test_what_a_text_does_not_mention_is_unknown(id: str) -> None:  # noqa: A002 - as in reports
    finding = own(COMPUTED + H100, id)
    assert finding.status is Status.UNKNOWN and finding.title.startswith("the input ")


def test_what_a_text_shows_not_to_apply_is_skipped() -> None:
    skipped = {
        finding.id
        for finding in findings_of(f"OS: Ubuntu 24.04.1 LTS (x86_64)\n{COMPUTED}")
        if finding.status is Status.SKIP
    }
    assert {"tf-native-windows", "cpu-wheel-on-aarch64"} <= skipped


def test_a_detail_that_is_known_is_not_called_unknown() -> None:
    text = "$ cat /etc/nv_tegra_release\n# R36 (release), REVISION: 4.3, GCID: 1, BOARD: generic, EABI: aarch64\n"
    assert "L4T release" not in own(text, "jetson-container-of-other-release").title


def numpy_of(text: str) -> list[str]:
    found = parse_text(text).pythons.value or ()
    return [item.version for python in found for item in python.distributions if item.name == "numpy"]


def test_the_numpy_that_others_were_compiled_with_is_not_the_installed_one() -> None:
    assert numpy_of("Modules must be compiled with NumPy 2.0.\ntorch 2.1.2+cu118\n") == []
    assert numpy_of("I have numpy 2.0.1 and torch 2.1.2+cu118.\n") == ["2.0.1"]


def test_a_gpu_whose_clocks_are_held_down_works() -> None:
    text = QUERY.format(idle="Not Active", slowed="Active")
    assert own(text, "pcie-width-degraded").status is Status.WARN
    assert "HW Slowdown" in own(text, "thermal-throttle").evidence[0].value
    for idle in ("Active", "Not Active"):
        text = QUERY.format(idle=idle, slowed="Not Active")
        assert own(text, "pcie-width-degraded").status is Status.UNKNOWN


def test_no_evidence_is_written_in_python() -> None:
    text = (
        "Failed to initialize NVML: Driver/library version mismatch\nGCC version:  gcc version 12.3.0 (Ubuntu 12.3.0)\n"
    )
    values = [item.value for finding in findings_of(text) for item in finding.evidence]
    assert all(value and "(name=" not in value for value in values)


WATCHDOG = (
    "[Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=ALLREDUCE, Timeout(ms)=600000) "
    "ran for 600021 milliseconds before timing out."
)


def test_more_text_does_not_give_less() -> None:
    assert own(WATCHDOG, "collective-timed-out").status is Status.WARN
    assert own(f"NCCL WARN something new\n{WATCHDOG}\n", "collective-timed-out").status is Status.WARN
    both = f"node01: NCCL WARN NET/Socket : No usable listening interface found\n{WATCHDOG}\n"
    assert own(both, "nccl-wrong-interface").status is Status.FAIL
    assert own(both, "collective-timed-out").because_of == "nccl-wrong-interface"


def test_a_list_without_its_head_is_one() -> None:
    rows = "onnxruntime            1.18.0\nonnxruntime-gpu        1.18.0\n"
    assert own(f"$ pip list\n{rows}", "onnxruntime-two-packages").status is Status.WARN
    assert own(f"$ conda list\n{rows}", "onnxruntime-two-packages").status is not Status.WARN


def test_both_extensions_of_another_torch_are_treated() -> None:
    text = (
        "$ pip list\ntorch 2.5.1+cu124\nflash-attn 2.7.0\nxformers 0.0.27\n"
        "ImportError: /x/flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so: undefined symbol: _ZN3c105ErrorC2ENS_14\n"
    )
    built = (
        "xFormers can't load C++/CUDA extensions. xFormers was built for:\n"
        "    PyTorch 2.3.1+cu121 with CUDA 1201 (you have 2.5.1+cu124)\n"
    )
    remedy = own(text + built, "extension-abi-mismatch").remedy
    assert remedy is not None and "xformers==" in "".join(remedy.commands) and "flash-attn" in "".join(remedy.commands)
    alone = own(text, "extension-abi-mismatch").remedy
    assert alone is not None and "xformers==" not in "".join(alone.commands)


SERVE = 'level=INFO source=gpu.go:386 msg="no compatible GPUs were discovered"'


def test_a_container_started_without_a_gpu_explains_what_a_server_finds() -> None:
    bare = f"ollama serve log:\n{SERVE}\ndocker run -d -p 11434:11434 ollama/ollama\n"
    assert verdict(parse_text(bare), findings_of(bare)).id == "container-no-gpu-injected"
    given = bare.replace("-d -p", "-d --gpus=all -p")
    assert verdict(parse_text(given), findings_of(given)).id != "container-no-gpu-injected"


def test_a_card_of_another_maker_explains_that_no_gpu_is_seen() -> None:
    text = "I bought an AMD Radeon RX 7900 XTX and torch.cuda.is_available() is False. pip list shows torch 2.5.1."
    assert own(text, "framework-sees-no-gpu").because_of == "no-gpu-on-pci"
    other = text.replace("an AMD Radeon RX 7900 XTX", "an NVIDIA GeForce RTX 4090")
    assert own(other, "framework-sees-no-gpu").because_of is None


def test_a_warning_of_torch_itself_blames_no_extension() -> None:
    text = (
        "| NVIDIA-SMI 470.256.02   Driver Version: 470.256.02   CUDA Version: 11.4     |\n"
        "$ python -c 'import torch;print(torch.__version__)'\n1.12.1+cu113\n"
        "Found GPU0 Tesla K80 which is of cuda capability 3.7. "
        "PyTorch no longer supports this GPU because it is too old.\n"
    )
    remedy = own(text, "arch-dropped-by-framework").remedy
    assert remedy is not None and "extension" not in remedy.advice


MISMATCH = """$ pacman -Q | grep nvidia
nvidia-open 565.77-10
nvidia-utils {utils}
$ nvidia-smi
Failed to initialize NVML: Driver/library version mismatch
NVML library version: 570.86
$ cat /proc/driver/nvidia/version
NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  565.77  Release Build
"""


def test_packages_of_two_releases_are_upgraded_and_not_reloaded() -> None:
    remedy = own(MISMATCH.format(utils="570.86.16-1"), "driver-library-mismatch").remedy
    assert remedy is not None and "sudo pacman -Syu" in remedy.commands
    same = own(MISMATCH.format(utils="565.77-3"), "driver-library-mismatch").remedy
    assert same is not None and "sudo pacman -Syu" not in same.commands


FAULT = (
    "[ 1.6] DMAR: [DMA Read] Request device [41:00.0] fault addr f0000000 [fault reason 06] PTE Read access is not set"
)
NO_PEERS = "NCCL WARN Cuda failure 'peer access is not supported between these two devices'"


def test_a_fault_of_the_iommu_outweighs_a_greeting() -> None:
    hello = "Hi, I rented a pod with 2x RTX A6000. Training with deepspeed hangs.\n"
    found = troubles(f"{hello}{NO_PEERS}\n{FAULT}\n")
    assert found[0].id == "iommu-translation-hang" and "acs-blocks-p2p" not in {finding.id for finding in found}
    assert all("GeForce" not in finding.title for finding in found)
    assert own(hello, "acs-blocks-p2p").status is Status.FAIL
    assert "GeForce" in own(f"2x RTX 4090\n{NO_PEERS}\n", "geforce-p2p-hang").title


CURED = 'I had "CUDA error: no kernel image is available" before, and upgrading to torch 2.7.1+cu128 fixed it.'


def test_what_was_cured_fails_no_more() -> None:
    assert not troubles(f"Everything works now. {CURED}")
    assert troubles(CURED.replace("fixed it", "did not help"))


NAME, DRIVER = "Product Name : NVIDIA A100 80GB PCIe\n", "Driver Version : 550.54.15\n"
ROWS = "    Remapped Rows\n        Pending                           : Yes\n"


def test_a_gpu_without_its_heading_is_recognized() -> None:
    found = parse_text(f"$ nvidia-smi -q | grep -A3 Remapped\n{ROWS}{NAME}{DRIVER}")
    assert [gpu.name for gpu in found.gpus.value or ()] == ["NVIDIA A100 80GB PCIe"]
    assert str(found.driver.kernel_module.value) == "550.54.15"
    licensed = "    vGPU Software Licensed Product\n        Product Name : NVIDIA RTX Virtual Workstation\n"
    assert not [gpu for gpu in parse_text(licensed).gpus.value or () if gpu.name]
    assert not parse_text("System Information\n    Product Name : PowerEdge R750\n").gpus.known


LIMITS = """| NVIDIA-SMI 550.90.07              Driver Version: 550.90.07      CUDA Version: 12.4     |
|   0  NVIDIA H100 80GB HBM3          On  |   00000000:1B:00.0 Off |                    0 |
| N/A   33C    P0             72W /  700W |       4MiB /  81559MiB |      0%      Default |
|   1  NVIDIA H100 80GB HBM3          On  |   00000000:43:00.0 Off |                    0 |
| N/A   34C    P0             70W /  {watts}W |       4MiB /  81559MiB |      0%      Default |
"""


def test_a_limit_below_that_of_the_peers_is_seen() -> None:
    assert "500 W of 700 W" in own(LIMITS.format(watts=500), "power-limit-lowered").title
    assert own(LIMITS.format(watts=700), "power-limit-lowered").status is not Status.WARN


def test_what_hardly_any_fact_is_known_of_is_not_called_healthy() -> None:
    empty = Environment(origin="a mounted root")
    passed = [Finding("toolkit-missing", Status.OK, "a toolkit is there")]
    assert empty.origin != PASTED and verdict(empty, passed).status is Status.UNKNOWN
