"""The card's memory windows (BARs) and the errors that its link counted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit._startup.records import replace
from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.checks.engine.evidence import is_virtual, known, managed_elsewhere, named_fact, no_pci_expected, unseen
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, Remedy, Status, ok, skip, unknown
from envkit.checks.engine.managers import managers
from envkit.checks.engine.messages import any_pasted, complained, message_evidence, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import remedy
from envkit.checks.gpu.gpus import SeenGpu, all_work, seen_gpus
from envkit.checks.gpu.seat import seat_words
from envkit.model import Environment, Message
from envkit.tables.codes import limit

if TYPE_CHECKING:
    from envkit.tables import Matrix

_BESIDE = " and reserve larger ones for hot-plugged devices (hpmmioprefsize)"
_MANY_ERRORS = 100  # corrected errors since the start; a handful is normal on a healthy link
_MANY_LINES = 10  # of corrected errors in a log, where no counter tells; the kernel writes only a part of them
_MANY_IN_WORDS = ("complaint-told-flood", "complaint-told-replays")  # messages that say themselves that they are many
_SEVERITY = regex(r"PCIe Bus Error: severity=(\w+)")
_SEABIOS = "SeaBIOS"
_LOG_LINE = regex(r"\[ {0,8}\d|[A-Z][a-z]{2} {1,2}\d|\d{4}-\d\d|pcieport |nvidia ")
_SO_MANY = "complaint-told-corrected"  # somebody says how many
_HARMLESS = "correct"  # corrected, correctable: the link repaired it
_SMALL_WINDOW = 256 * 1024**2  # bytes of BAR1 without resizable BAR
_TIMES_SMALLER = 16  # memory this many times the window: most of the card is out of reach at once


_NOTHING_LEFT = (
    "pci=realloc was tried, so that the kernel finds no room either: the firmware describes no 64-bit window. Update "
    "the board's firmware first, because many boards got 'Above 4G decoding' that way, and enable it there. If the "
    "board has no such setting, a changed ACPI table can describe the window: the commands read the table (iasl is in "
    "the package acpica-tools). In dsdt.dsl, add a 64-bit memory window (QWordMemory) above the machine's RAM to the "
    "resources (_CRS) of the PCI root bridge, raise the revision in the first line, compile it with iasl dsdt.dsl, and "
    "have GRUB load the result (the line acpi /boot/dsdt.aml in /etc/grub.d/40_custom, then update-grub). After a "
    "restart, nvidia-smi shows the card. Otherwise, the card needs another board."
)


_BY_HAND = (
    "For that, add pci=realloc to the kernel's command line: with GRUB, in GRUB_CMDLINE_LINUX of /etc/default/grub, "
    "and run sudo grub-mkconfig -o /boot/grub/grub.cfg; with systemd-boot, at the end of the options line of the entry "
    "in /boot/loader/entries. After a restart, cat /proc/cmdline shows it."
)
_FIRMWARE_SHUT = (
    "'Above 4G decoding' is off in the host's firmware setup, so large BARs get no address in the guest either: enable "
    "it, together with Resizable BAR, and turn CSM off (an operating system that was installed in BIOS mode does not "
    "start without CSM; check that first). Then start the host and the guest again: lspci -vv in the guest shows an "
    "address in place of <unassigned>. Guest and driver stay as they are."
)
_BIOS_GUEST = (
    "The firmware of the virtual machine, not of the host, has no room for the large BARs: its BIOS (SeaBIOS) places "
    "them in a small 64-bit window, which the machine's memory makes smaller. Give the virtual machine EFI firmware, "
    "whose window is larger (Harvester: Advanced Options, Booting in EFI Mode; KubeVirt: "
    "domain.firmware.bootloader.efi with secureBoot: false), shut it down, and start it again. The system on its disk "
    "must be able to boot with EFI, as Ubuntu's cloud images are. Until then, less memory for the machine leaves more "
    "room."
)
_EFI_GUEST = (
    "The EFI firmware of the virtual machine, not of the host, gives the card no address: its 64-bit window is too "
    "small for this BAR. Boot the virtual machine with BIOS instead: in KubeVirt, put bios: {} in place of efi under "
    "domain.firmware.bootloader, and stop and start the machine (Debian's and Ubuntu's cloud images boot both ways; a "
    "system that was installed with EFI does not). If it has to be EFI, set domain.cpu.model: host-passthrough, so "
    "that the firmware knows the processor's address space. The driver in the guest then starts without being "
    "installed again."
)


def _of_a_guest(environment: Environment) -> Remedy | None:
    """In a virtual machine that the text tells of: the host's firmware or the machine's, whichever is shown."""
    if not seen(environment, _NO_WINDOW.id, "detail-guest"):
        return None
    if seen(environment, _NO_WINDOW.id, "detail-firmware-shut"):
        return Remedy(_FIRMWARE_SHUT)
    if seen(environment, _NO_WINDOW.id, "detail-efi-guest"):
        return Remedy(_EFI_GUEST)
    return Remedy(_BIOS_GUEST) if seen(environment, _NO_WINDOW.id, "detail-bios-guest") else None


def _larger_window(environment: Environment, matrix: Matrix) -> Remedy:
    if environment.system.firmware.value == _SEABIOS:
        return Remedy(
            "On the host: set the virtual machine's CPU type to host and its machine type to q35, or give it fewer "
            "GPUs; then shut it down and start it again. Its firmware, SeaBIOS, has no setting for the 64-bit PCI "
            "window; OVMF has one, but a system that was installed with SeaBIOS does not boot with OVMF without "
            "changes. From inside the guest, only the kernel option pci=realloc can be tried."
        )
    if given := _of_a_guest(environment):
        return given
    if is_virtual(environment):
        return Remedy(
            "On the host: give the virtual machine a larger 64-bit PCI window, or fewer GPUs. For QEMU with OVMF, "
            "pass -fw_cfg name=opt/ovmf/X-PciMmio64Mb,string=262144. Then shut the virtual machine down and start it "
            "again. From inside the guest, only the kernel option pci=realloc can be tried."
        )
    if seen(environment, _NO_WINDOW.id, "detail-realloc"):
        return remedy(environment, _NOTHING_LEFT, "dsdt")
    kernel = Version.find(environment.system.kernel.value or "")
    large = "thunderbolt" in managers(environment) and (kernel is None or kernel >= limit("kernel-hpmmioprefsize"))
    given = remedy(
        environment,
        "Enable 'Above 4G decoding' in the firmware setup. If there is no such setting (a laptop, a card behind "
        f"Thunderbolt), let the kernel reassign the PCI memory windows (BARs){_BESIDE if large else ''}.",
        "bar-window",
        pci="realloc,hpmmioprefsize=32G" if large else "realloc",
    )
    return given if given.steps else replace(given, advice=f"{given.advice} {_BY_HAND}")


def _check_link(environment: Environment, matrix: Matrix) -> Remedy:
    advice = seat_words(environment, "Reseat the card, remove the riser, or try another slot.")
    return remedy(environment, f"{advice} As a test, use the kernel option pcie_aspm=off.", "kernel-log")


_NO_WINDOW = Fault(
    "bar-not-assigned",
    "The firmware did not assign all BARs of a GPU",
    impact="The driver cannot start this GPU.",
    remedy=_larger_window,
)
_SMALL_WINDOWS = Fault(
    "resizable-bar-off",
    "Resizable BAR is off",
    impact="Copies between GPUs and from network cards can be slower; programs that use only one GPU are not affected.",
    remedy="Enable 'Resizable BAR' (and 'Above 4G decoding') in the firmware setup.",
    status=Status.WARN,
)
_LINK_ERRORS = Fault(
    "pcie-link-errors",
    "A PCIe link reports errors",
    impact="Packets are resent, copies slow down, and the GPU may drop off the bus.",
    remedy=_check_link,
    status=Status.WARN,
)


@check(
    _NO_WINDOW,
    layer=Layer.PCI,
    rank=30,
    any_of=("pci_gpus", "messages"),
    fix="Enable 'Above 4G decoding' (in a virtual machine, give it a larger 64-bit PCI window), or use the "
    "kernel option pci=realloc.",
    references=threads("NVIDIA/gpu-operator#492", "system76/firmware-open#66"),
)
def bar_not_assigned(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Every memory region that a GPU requests has an address.

    If the firmware does not have "Above 4G decoding" enabled, if there are many GPUs, or if a virtual machine's PCI
    window is small, the PCI address space is too small. The driver then reports an invalid PCI I/O region and does not
    start the GPU.
    """
    known_gpus = [gpu for gpu in _pci(environment, matrix) if gpu.pci and gpu.pci.bars_assigned is not None]
    without = [gpu for gpu in known_gpus if gpu.pci and not gpu.pci.bars_assigned]
    for gpu in without:
        yield _NO_WINDOW.found(
            [Evidence("pci_gpus.bars_assigned", "no", environment.pci_gpus.source)],
            title=f"the firmware did not assign PCI memory to {gpu.called}",
            subject=gpu.subject,
        )
    if without:
        return
    tried = message_evidence(environment, seen(environment, "bar-not-assigned"))
    if tried and all_work(environment, matrix):
        yield ok("every GPU works: the kernel assigned its BARs after all", evidence=tried)
    elif reported := _NO_WINDOW.reported(environment):
        yield reported
    elif known_gpus:
        yield ok("all GPU BARs are assigned", evidence=[Evidence("pci_gpus.bars_assigned", "yes")])
    else:
        yield _nothing(environment)


@check(
    _SMALL_WINDOWS,
    layer=Layer.HEALTH,
    rank=91,
    any_of=("pci_gpus", "messages"),
    fix="Enable it in the firmware; it matters for copies between GPUs, but little for training on one.",
    references=threads("xCuri0/ReBarUEFI#119"),
)
def resizable_bar_off(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """If several GPUs exchange data, the window into each GPU's memory (BAR1) covers all of it.

    Without Resizable BAR, it is 256 MiB. That hardly matters for a single GPU, or for cards that never exchange data
    over PCIe.
    """
    gpus = [gpu for gpu in _pci(environment, matrix) if gpu.pci and gpu.pci.bar1_bytes]
    small = [gpu for gpu in gpus if _small_window(gpu)]
    if reported := _SMALL_WINDOWS.reported(environment):
        yield reported
    elif small and len(gpus) > 1:
        yield _SMALL_WINDOWS.found(
            [_window(environment, gpu) for gpu in small[:4]],
            title=f"{len(small)} GPUs show only 256 MiB of their memory at a time: resizable BAR is off",
        )
    elif gpus:
        yield ok(_windows(gpus, small), evidence=[_window(environment, gpu) for gpu in gpus[:4]])
    else:
        yield _nothing(environment)


def _windows(gpus: list[SeenGpu], small: list[SeenGpu]) -> str:
    """What the size of the windows means where nothing has to be done about it."""
    if small:
        return "Resizable BAR is off, which hardly matters for a single GPU"
    whole = all(gpu.pci is not None and (gpu.pci.bar1_bytes or 0) > _SMALL_WINDOW for gpu in gpus)
    return "Resizable BAR is active" if whole else "Resizable BAR is off, but these GPUs exchange no data over PCIe"


def _small_window(gpu: SeenGpu) -> bool:
    memory = (gpu.nvml.memory_bytes if gpu.nvml else None) or max(
        (int(model.memory_gb * 1024**3) for model in gpu.models if model.memory_gb), default=0
    )
    window = gpu.pci.bar1_bytes if gpu.pci is not None else None
    can = gpu.pci is not None and gpu.pci.bar1_resizable is not False and gpu.exchanges
    return window is not None and can and window <= _SMALL_WINDOW and memory >= window * _TIMES_SMALLER


def _window(environment: Environment, gpu: SeenGpu) -> Evidence:
    size = (gpu.pci.bar1_bytes or 0) // 1024**2 if gpu.pci else 0
    return Evidence(f"{gpu.subject} bar1_bytes", f"{size} MiB", environment.pci_gpus.source)


@check(
    _LINK_ERRORS,
    weighs_messages=True,
    layer=Layer.HEALTH,
    rank=45,
    any_of=("pci_gpus", "gpus", "messages"),
    explained_by=("gpu-fallen-off-bus",),
    fix="Reseat the card, remove the riser, or try another slot.",
    references=threads("local-inference-lab/rtx6kpro#88"),
)
def pcie_link_errors(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The GPUs' PCIe links have no significant errors.

    A marginal link retransmits packets: the kernel counts corrected and uncorrected errors, and NVML counts replays. A
    few corrected errors are normal.
    """
    gpus = seen_gpus(environment, matrix)
    bad = [gpu for gpu in gpus if _too_many(gpu)]
    for gpu in bad:
        title = f"The PCIe link of {gpu.called} reports errors"
        yield _LINK_ERRORS.found(_counts(environment, gpu), title=title, subject=gpu.subject)
    counted = [evidence for gpu in gpus for evidence in _counts(environment, gpu)]
    if bad:
        return
    if _said(environment, matrix, counted) and (reported := _LINK_ERRORS.reported(environment)):
        yield reported
    elif counted or (messages := seen(environment, _LINK_ERRORS.id)):
        yield ok("no significant PCIe link errors", evidence=counted[:4] or message_evidence(environment, messages))
    else:
        yield _nothing(environment)


def _said(environment: Environment, matrix: Matrix, counted: list[Evidence]) -> bool:
    """True where messages alone are reason enough: a few corrected errors in the log of a machine are not."""
    messages = seen(environment, "pcie-link-errors")
    shown = any_pasted(environment, messages) and not _one_corrected(environment, messages)
    flood = seen(environment, _LINK_ERRORS.id, _SO_MANY, *_MANY_IN_WORDS)
    if not messages or flood or (shown and (complained(environment) or _alone(environment, matrix))):
        return bool(messages)  # somebody thought it worth showing
    log = environment.kernel.log.get() if environment.kernel.log.known else [message.text for message in messages]
    severities = [match.group(1).lower() for line in log for match in [_SEVERITY.search(line)] if match]
    grave = any(not severity.startswith(_HARMLESS) for severity in severities)
    return grave or (not counted and len(severities) >= _MANY_LINES)


def _one_corrected(environment: Environment, messages: tuple[Message, ...]) -> bool:
    """Whether all that is shown is one corrected error, which any link has now and then."""
    found = [match.group(1).lower() for one in messages for match in _SEVERITY.finditer(one.text)]
    logged = all(map(_LOG_LINE.match, (one.text for one in messages)))  # and nobody says how many there are
    return found == ["corrected"] and logged and not seen(environment, "pcie-link-errors", "detail-multiple")


def _alone(environment: Environment, matrix: Matrix) -> bool:
    """Whether the text shows nothing of the GPUs but their errors: neither that they work nor where they are."""
    return not all_work(environment, matrix) and not environment.pci_gpus.value


def _too_many(gpu: SeenGpu) -> bool:
    errors = gpu.pci.aer_errors if gpu.pci is not None else {}
    replays = (gpu.nvml.pcie_replays if gpu.nvml is not None else None) or 0
    grave = errors.get("fatal", 0) + errors.get("nonfatal", 0)
    return grave > 0 or errors.get("correctable", 0) >= _MANY_ERRORS or replays >= _MANY_ERRORS


def _counts(environment: Environment, gpu: SeenGpu) -> list[Evidence]:
    errors = gpu.pci.aer_errors if gpu.pci is not None else {}
    words = ", ".join(f"{count} {kind}" for kind, count in sorted(errors.items()))
    evidence = [Evidence(f"{gpu.subject} aer_errors", words, environment.pci_gpus.source)] if words else []
    if gpu.nvml is not None and gpu.nvml.pcie_replays is not None:
        evidence.append(Evidence(f"{gpu.subject} pcie_replays", str(gpu.nvml.pcie_replays), environment.gpus.source))
    return evidence


def _pci(environment: Environment, matrix: Matrix) -> list[SeenGpu]:
    return [gpu for gpu in seen_gpus(environment, matrix) if gpu.pci is not None]


def _nothing(environment: Environment) -> Outcome:
    if no_pci_expected(environment):
        return managed_elsewhere(environment)
    if environment.pci_gpus.known and not environment.pci_gpus.get():
        return skip("there is no GPU on the PCI bus")
    return unknown(unseen(environment, named_fact("pci_gpus")), evidence=[known(environment, "pci_gpus", "")])
