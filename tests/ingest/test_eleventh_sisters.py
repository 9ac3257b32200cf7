"""Short faulty sisters of the eleventh set's healthy machines: what excuses these must not excuse those."""

from __future__ import annotations

import pytest

from envkit.ingest import parse_text
from envkit.model import COMPLAINT
from tests.ingest.test_siblings import first_finding
from tests.ingest.texts import FOLDER

CARD = (
    "\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM L0s L1, Exit Latency L0s <1us, L1 <4us\n"
    "\t\tLnkSta:\tSpeed 16GT/s, Width x4 (downgraded)\n"
)
PORT = "\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x{}, ASPM L1\n\t\tLnkSta:\tSpeed 16GT/s, Width x4{}\n"
COPIES = "h2d 6.37 GB/s, RTX 3060 Ti\n"
PACKAGE = "ii nvidia-driver-570-server-open 570.133.20\nnvidia-smi: No devices were found, VLLM TP4\n"
HINT = "Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.20GiB"
MANAGER = "Jun 12 09:01:52 kvm-01 nvidia-vgpu-mgr[51120]: "


def test_a_card_that_fills_its_port_is_not_narrow() -> None:
    assert first_finding(PORT.format(4, "") + CARD + COPIES) == "none"


@pytest.mark.parametrize("beside", [PORT.format(16, " (downgraded)"), PORT.format(4, "") * 2, ""])
def test_a_card_is_narrow_where_its_port_is_wider_or_not_told(beside: str) -> None:
    assert first_finding(beside + CARD + COPIES) == "pcie-width-degraded"


def test_a_card_s_port_may_stand_below_it_and_among_others() -> None:
    beside = PORT.format(8, "").replace("x4", "x8")
    assert first_finding(CARD + beside + PORT.format(4, "") + COPIES) == "none"


def test_a_second_look_at_full_speed_tells_of_an_idle_card() -> None:
    slow = CARD.replace("Speed 16GT/s, Width x4 (downgraded)", "Speed 8GT/s (downgraded), Width x16")
    assert first_finding(slow + COPIES) == "pcie-gen-degraded"
    assert first_finding(slow + "$ lspci -vv | grep LnkSta:\n\t\tLnkSta:\tSpeed 16GT/s, Width x16\n" + COPIES) == "none"


def test_one_lane_is_asked_for_no_speed_and_sixteen_are() -> None:
    line = "LnkSta: Speed 5GT/s (downgraded), Width x{}; the bandwidth is low\n"
    assert first_finding(line.format("1 (downgraded)")) == "pcie-width-degraded"
    assert first_finding(line.format(16)) == "pcie-gen-degraded"


@pytest.mark.parametrize(
    ("gpu", "accused"), [("NVIDIA H200", False), ("Tesla P40", True), ("NVIDIA GeForce GTX 1080", True), ("", False)]
)
def test_the_open_module_is_wrong_only_for_a_gpu_that_it_does_not_support(gpu: str, accused: bool) -> None:
    listed = f"GPU 0: {gpu} (UUID: GPU-11111111-2222-3333-4444-555555555555)\n" if gpu else ""
    assert (first_finding(listed + PACKAGE) == "open-module-on-pre-turing") is accused


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("cmd: 0x20801322 failed.", False),
        ("error: vmiop_log: (0x0): Initialization: init_device_instance failed", True),
    ],
)
def test_only_the_calls_of_a_vgpu_host_s_manager_are_passed_over(said: str, told: bool) -> None:
    assert any(message.signature == COMPLAINT for message in parse_text(f"{MANAGER}{said}\n").messages.get()) is told


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        (" with freed_by_count=0. The caller indicates that this is not a failure, but may gain from more.", "none"),
        (" (rounded to 2362232064)requested by op Conv2D", "gpu-memory-held-by-lost-process"),
    ],
)
def test_an_allocator_s_hint_is_no_lack_of_memory(end: str, expected: str) -> None:
    assert first_finding(f"{HINT}{end}\n") == expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("# systemd-detect-virt; uname -r\nlxc\n6.17.13-2-pve\n", "none"),
        ("# systemd-detect-virt; uname -r\nnone\n6.17.13\n", "gpu-memory-held-by-lost-process"),
    ],
)
def test_where_processes_are_hidden_no_memory_is_lost(command: str, expected: str) -> None:
    machine = (FOLDER / "healthy-eleventh-lxc-rtxpro4500-610.txt").read_text(encoding="utf-8")
    table = machine.partition("# nvidia-smi\n")[2].partition("root@")[0]
    assert first_finding(f"root@vllm:~{command}root@vllm:~# nvidia-smi\n{table}") == expected
