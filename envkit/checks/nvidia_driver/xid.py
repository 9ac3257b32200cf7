"""What the driver itself reports in the kernel log (XIDs), and GPUs that it could not start or lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.base.pci import pci_address
from envkit.base.versions import whole_number
from envkit.checks.engine.evidence import driver_lives_elsewhere, known, managed_elsewhere, not_looked, unseen
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, Remedy, Status, ok, skip, unknown
from envkit.checks.engine.messages import message_evidence, named, seen, subject_of
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import remedy
from envkit.checks.gpu.gpus import all_work, seen_gpus
from envkit.checks.gpu.seat import seat_words
from envkit.checks.nvidia_driver.driver_state import answered, loaded
from envkit.checks.nvidia_driver.xid_remedies import look_at_log, off_the_bus, reset_or_reboot
from envkit.model import Environment, Message, PciGpu
from envkit.tables.codes import Xid, xids

if TYPE_CHECKING:
    from envkit.tables import Matrix

_SEATING = "Check this card's seating, power cables, riser, and cooling."
_FEW = 3  # messages of one GPU, and as many of none
_APPLICATION, _INFORMATION = "application", "information"
_XID_CHECKS = (
    "xid-other",
    "gpu-fallen-off-bus",
    "gsp-timeout",
    "ecc-uncorrectable",
    "row-remap-pending",
    "row-remap-failed",
    "external-power-missing",
)


_LOST = Fault(
    "gpu-fallen-off-bus",
    "A GPU has fallen off the PCI bus",
    impact="Programs on this GPU have crashed, and driver calls may hang.",
    remedy=off_the_bus,
)


_GSP = Fault(
    "gsp-timeout",
    "The GPU's system processor (GSP) stopped responding",
    impact="Programs and nvidia-smi hang until the GPU is reset.",
    remedy=reset_or_reboot,
)

_NOT_STARTED = Fault(
    "rm-init-adapter-failed",
    "The driver sees a GPU but could not initialize it",
    impact="CUDA and nvidia-smi do not list this GPU.",
    remedy=look_at_log,
)

_OTHER = Fault(
    "xid-other",
    "The driver reported a GPU error (Xid)",
    impact="The program running on the GPU was probably terminated.",
    remedy="The fix depends on the Xid number: see the finding.",
    actions=("kernel-log",),
    status=Status.WARN,
)


_RAISED = ("told-overclock-offset", "told-overclock-memory", "told-reduce-overclock")
_FACTORY_CLOCKS = Remedy(
    "Reset the memory clock to the factory setting, and see whether the errors stop. If you overclock it again, use a "
    "smaller offset: each card has its own limit, and the Xid identifies the card that exceeds it. If the errors come "
    "back at factory clocks, look for a fault in the program (compute-sanitizer) or in the card."
)


def xid_messages(environment: Environment, check_id: str) -> tuple[tuple[Xid, Message], ...]:
    """The XIDs of the log that belong to the check, by the table; numbers that it does not hold go to `xid-other`."""
    pairs = []
    for id in _XID_CHECKS:  # noqa: A001 - as in reports
        for message in seen(environment, id):
            number = whole_number(message.values.get("code", ""))
            if number is None or "xid" not in message.signature + message.text.lower():
                continue
            row = xids().get(number) or Xid(number, "", "unknown", "unknown to envkit", "", ())
            if (row.check or "xid-other") == check_id:
                pairs.append((row, message))
    return tuple(pairs)


def address_of(messages: tuple[Message, ...]) -> str:
    """The PCI address that the messages name, in the spelling of PCI, '' when none does."""
    return pci_address(named(messages, "pci_address") or "")


def log_unread(environment: Environment) -> Outcome:
    """Not checked: the kernel log, which is for root only on many machines."""
    return unknown(
        "not checked: the kernel log is not readable by this user (try sudo)"
        if environment.kernel.log.problem and environment.kernel.log.problem.value == "denied"
        else unseen(environment, "the kernel log"),
        evidence=[known(environment, "kernel.log")],
    )


@check(
    _LOST,
    layer=Layer.PCI,
    rank=20,
    tier="L",
    explained_by=("bar-not-assigned", "external-power-missing", "optimus-gpu-off"),
    fix="Save the log, drain and power off the machine, and check cooling, seating, cables, and riser. If "
    "it happens again, RMA the card.",
    references=threads("NVIDIA/open-gpu-kernel-modules#507", "NVIDIA/open-gpu-kernel-modules#1151"),
)
def gpu_fallen_off_bus(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Every GPU responds on the PCI bus.

    The configuration space of a lost GPU reads as ffff, NVML reports "GPU is lost", and the kernel log shows Xid 79.
    The cause can be power, heat, the slot, a riser, the firmware, or a failing card. A reboot without a power cycle
    often does not help.
    """
    lost, messages = answered(environment, "nvml", "GPU_IS_LOST"), seen(environment, "gpu-fallen-off-bus")
    mute = [] if all_work(environment, matrix) and not lost and not messages else _mute(environment)
    by_address: dict[str, list[Message]] = {}
    for message in messages if mute else ():
        by_address.setdefault(address_of((message,)), []).append(message)
    for gpu in mute:
        fact = Evidence(f"pci_gpus[{gpu.pci_address}].config_readable", "no (ffff)", environment.pci_gpus.source)
        own = [*by_address.get(gpu.pci_address, [])[:_FEW], *by_address.get("", [])[:_FEW]]
        evidence = [fact, *lost, *message_evidence(environment, own)]
        title = f"{gpu.name} has fallen off the PCI bus" if gpu.name else ""
        yield _LOST.found(evidence, title=title, subject=f"GPU {gpu.pci_address}")
    if not mute and not lost and messages and _of_the_gsp(environment, messages):
        yield skip("the GPU has not responded since its system processor (GSP) stopped")
    elif not mute and (lost or messages):
        evidence = [*lost, *message_evidence(environment, messages)]
        if all_back(environment, matrix) and not lost:
            yield _came_back(environment, messages, evidence)
        else:
            yield _LOST.found(evidence, subject=subject_of(messages))
    elif not mute:
        answers = environment.pci_gpus.known and environment.pci_gpus.get()
        yield (
            ok("every GPU responds on the PCIe bus", evidence=[known(environment, "pci_gpus", "")])
            if answers
            else (skip("there is no GPU on the PCI bus") if environment.pci_gpus.known else log_unread(environment))
        )


def _of_the_gsp(environment: Environment, messages: tuple[Message, ...]) -> bool:
    """Whether no more is said than that NVML cannot open or read a GPU, as it cannot where its GSP stopped."""
    unread = {f"{_LOST.id}/device-handle", f"{_LOST.id}/table"}
    return bool(seen(environment, _GSP.id)) and {message.signature for message in messages} <= unread


def _mute(environment: Environment) -> list[PciGpu]:
    """The GPUs whose configuration space reads ffff and that do not sleep: a pasted text seldom says that one slept."""
    if seen(environment, "optimus-gpu-off", "rev-ff"):
        return []
    return [
        gpu
        for gpu in environment.pci_gpus.value or ()
        if gpu.config_readable is False and not gpu.power_state.startswith("D3") and gpu.driver != "vfio-pci"
    ]


def all_back(environment: Environment, matrix: Matrix) -> bool:
    """Whether every GPU answers on the bus and works, whatever an older line of the log says."""
    gpus = seen_gpus(environment, matrix)
    readable = all(gpu.pci is not None and gpu.pci.config_readable for gpu in gpus)
    return readable and all_work(environment, matrix)


def _came_back(environment: Environment, messages: tuple[Message, ...], evidence: list[Evidence]) -> Outcome:
    return _LOST.found(
        evidence,
        title="A GPU fell off the PCI bus since the last boot, but is back now",
        subject=subject_of(messages),
        impact="It is likely to happen again under load.",
        remedy=remedy(environment, seat_words(environment, _SEATING), "kernel-log"),
        status=Status.WARN,
    )


@check(
    _GSP,
    layer=Layer.KERNEL_MODULE,
    rank=66,
    tier="L",
    any_of=("kernel.log", "messages"),
    explained_by=("gpu-fallen-off-bus",),
    fix="Reset the GPU or reboot, and try a newer driver. With proprietary modules, the GSP firmware can be "
    "turned off.",
    references=threads(
        "NVIDIA/open-gpu-kernel-modules#446", "NVIDIA/open-gpu-kernel-modules#1230", "NVIDIA/dcgm-exporter#84"
    ),
)
def gsp_timeout(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The GPU System Processor (GSP), which runs much of the driver, is responding.

    When its firmware stops, the kernel log shows Xid 119 or 120, and nvidia-smi hangs from then on.
    """
    if reported := _GSP.reported(environment):
        yield reported
    elif environment.kernel.log.known:
        yield ok("no GSP error in the kernel log", evidence=[known(environment, "kernel.log", "no Xid 119 or 120")])
    else:
        yield log_unread(environment)


@check(
    _NOT_STARTED,
    of_missing_gpu=True,
    layer=Layer.KERNEL_MODULE,
    rank=65,
    tier="L",
    explained_by=(
        "no-gpu-on-pci",
        "external-power-missing",
        "bar-not-assigned",
        "gpu-fallen-off-bus",
        "gpu-bound-to-vfio",
        "driver-dropped-gpu",
        "open-module-on-pre-turing",
        "proprietary-module-on-blackwell",
        "vm-gpu-unsupported-by-release",
        "row-remap-failed",
        "gsp-timeout",
        "gsp-firmware-missing",
        "gpu-refused-in-vm",
        "wsl-gpu-in-tcc-mode",
        "passthrough-blocked",
    ),
    fix="Check BARs, power, module flavor, and driver version for this GPU; if these are fine, suspect the hardware.",
    references=threads(
        "NVIDIA/open-gpu-kernel-modules#789",
        "NVIDIA/open-gpu-kernel-modules#1104",
        "NVIDIA/open-gpu-kernel-modules#326",
    ),
)
def rm_init_adapter_failed(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Every GPU that the kernel module owns was initialized.

    "RmInitAdapter failed", or "No devices were found" with a loaded module, means that the driver saw the card and gave
    up: because of power, firmware, the wrong module flavor, the memory window, or a bad card.
    """
    dead = environment.driver.uninitialised_gpus
    evidence = []
    if dead.known and dead.get() and _never_started(environment, dead.get()):
        evidence.append(known(environment, "driver.uninitialised_gpus"))
    if loaded(environment) is not False:
        evidence += answered(environment, "nvml", "NOT_FOUND")
        if loaded(environment) and environment.gpus.known and not environment.gpus.get():
            evidence.append(known(environment, "gpus", "NVML lists no GPU"))
    messages = seen(environment, "rm-init-adapter-failed")
    if messages and not all_back(environment, matrix):
        evidence += message_evidence(environment, messages)
    if driver_lives_elsewhere(environment) and not messages:
        yield managed_elsewhere(environment)
    elif evidence:
        yield _NOT_STARTED.found(evidence, subject=subject_of(messages))
    elif loaded(environment) is False:
        yield skip("no driver is loaded")
    elif environment.gpus.known or dead.known:
        yield ok("the driver initialized every GPU it owns", evidence=[known(environment, "driver.uninitialised_gpus")])
    else:
        yield not_looked(environment, unseen(environment, "whether the driver initialized the GPUs"))


def _never_started(environment: Environment, addresses: tuple[str, ...]) -> bool:
    """True when NVML, which starts every GPU, does not list one of these; before its first use a GPU has no UUID."""
    if not environment.gpus.known:
        return False
    listed = {pci_address(gpu.pci_address) for gpu in environment.gpus.get()}
    return any(pci_address(address) not in listed for address in addresses)


@check(
    _OTHER,
    weighs_messages=True,
    layer=Layer.HEALTH,
    rank=60,
    tier="L",
    any_of=("kernel.log", "messages"),
    explained_by=("gpu-fallen-off-bus", "gsp-timeout", "ecc-uncorrectable", "row-remap-failed"),
    references=("https://docs.nvidia.com/deploy/xid-errors/", *threads("leptonai/gpud#987")),
)
def xid_other(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The kernel log has no Xid that points to hardware, firmware, or the driver.

    An Xid is the driver's error number. Some (13, 31, 43, 45) come from a fault in a program and say nothing about the
    machine. Regular users often cannot read the log; in that case this was not checked, which is not the same as
    healthy.
    """
    pairs = xid_messages(environment, "xid-other")
    numbers = ", ".join(dict.fromkeys(str(row.code) for row, _ in pairs))
    own = [message for _, message in pairs]
    if pairs and (raised := seen(environment, _OTHER.id, *_RAISED)):
        yield _OTHER.found(
            message_evidence(environment, (*own, *raised)),
            title=f"The GPU produces errors (Xid {numbers}) with its memory overclocked",
            subject=subject_of(tuple(own)),
            remedy=_FACTORY_CLOCKS,
            status=Status.FAIL,
        )
        return
    serious = [pair for pair in pairs if pair[0].kind not in (_APPLICATION, _INFORMATION)]
    by_code: dict[int, list[tuple[Xid, Message]]] = {}
    for pair in serious:
        by_code.setdefault(pair[0].code, []).append(pair)
    for same in by_code.values():
        yield _reported(environment, same)
    if serious:
        return
    if pairs:
        yield ok(
            f"Xid {numbers}: an error in a program, not in the GPU or the driver",
            evidence=message_evidence(environment, own),
        )
    elif environment.kernel.log.known:
        yield ok("no other Xid errors in the kernel log", evidence=[known(environment, "kernel.log", "no Xid")])
    else:
        yield log_unread(environment)


def _reported(environment: Environment, pairs: list[tuple[Xid, Message]]) -> Outcome:
    row, messages = pairs[0][0], tuple(message for _, message in pairs)
    action = row.action or "look the number up in NVIDIA's list"
    times = f", {len(messages)} times" if len(messages) > 1 else ""
    return _OTHER.found(
        message_evidence(environment, messages),
        title=f"{row.meaning[0].upper()}{row.meaning[1:]} (Xid {row.code}{times})",
        subject=subject_of(messages),
        remedy=_of_action(environment, action, pci_address(named(messages, "pci_address") or "")),
        status=Status.FAIL if _acute(environment, row) else None,
    )


def _acute(environment: Environment, row: Xid) -> bool:
    """Whether the driver asks for a reset, or somebody pasted a log with an error of the hardware to ask about it."""
    asked_about = environment.pasted and row.kind in ("firmware", "memory", "link", "hardware", "driver")
    return asked_about or bool(seen(environment, _OTHER.id, "recovery"))


def _of_action(environment: Environment, action: str, address: str | None) -> Remedy:
    """NVIDIA's word on the number, with the reset where it is one and the GPU is named."""
    advice = f"{action[0].upper()}{action[1:]}."
    if not action.startswith("reset the GPU") or address is None:
        return remedy(environment, advice, "kernel-log")
    otherwise = "If the reset is refused (in a virtual machine, or on the only display card), reboot the machine."
    return remedy(environment, f"{advice} {otherwise}", "reset", index=address)
