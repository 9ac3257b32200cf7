"""Messages of a text and of the kernel log as evidence."""

from __future__ import annotations

from envkit.checks.engine.messages import message_evidence, named, seen
from envkit.checks.gpu.gpus import on_nvswitch_board
from envkit.model import Environment, Kernel, Message, found
from tests.checks.software import machine

LINE = "[   61.2] NVRM: Xid (PCI:0000:3b:00): 79, pid=1422, GPU has fallen off the bus."


def test_a_signature_is_found_by_its_check_and_by_its_variant() -> None:
    messages = (Message("a/x", "one", 1), Message("a/y", "two", 2), Message("ab", "three", 3))
    environment = machine(messages=messages)
    assert [message.text for message in seen(environment, "a")] == ["one", "two"]
    assert [message.text for message in seen(environment, "a", "y")] == ["two"]
    assert seen(environment, "b") == ()


def test_the_kernel_log_is_read_for_the_same_messages() -> None:
    environment = Environment(kernel=Kernel(log=found((LINE,), "/dev/kmsg")))
    messages = seen(environment, "gpu-fallen-off-bus")
    assert named(messages, "pci_address") == "0000:3b:00"
    assert {item.fact for item in message_evidence(environment, messages)} == {"kernel.log"}
    assert {item.source for item in message_evidence(environment, messages)} == {"/dev/kmsg"}


def test_a_line_that_is_in_both_counts_once() -> None:
    from envkit.ingest import parse_text

    environment = parse_text(LINE)
    assert len(seen(environment, "gpu-fallen-off-bus", "xid-79")) == 1


def test_evidence_is_short_and_names_its_line() -> None:
    messages = tuple(Message("a", f"{number}" * 1000, number) for number in range(1, 9))
    evidence = message_evidence(machine(messages=messages), messages)
    assert len(evidence) == 3
    assert evidence[0].source == "test, line 1"
    assert len(evidence[0].value) == 240


def test_switch_boards_are_told_by_their_names() -> None:
    yes = ("NVIDIA A100-SXM4-80GB", "NVIDIA H100 80GB HBM3", "NVIDIA H200", "NVIDIA B200", "NVIDIA B300 SXM6 AC")
    no = (
        "NVIDIA GB200",
        "NVIDIA GB300",
        "NVIDIA GH200 480GB",
        "NVIDIA H100 PCIe",
        "NVIDIA H200 NVL",
        "NVIDIA A100 80GB PCIe",
        "NVIDIA GeForce RTX 5090",
        "NVIDIA A40",
    )
    assert [on_nvswitch_board(name) for name in yes] == [True] * len(yes)
    assert [on_nvswitch_board(name) for name in no] == [False] * len(no)
