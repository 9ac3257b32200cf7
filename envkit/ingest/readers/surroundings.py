"""What is around the GPUs: virtual machines hosted here, their firmware, an enclosure, that there is none on purpose.

hostpci0: 0000:41:00,pcie=1
thunderbolt 0-1: Razer Core X
"""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.ingest.clues import Clue, Fact, reader
from envkit.ingest.meant import without_gpu
from envkit.ingest.text import Text

_GUESTS = regex(
    r"\bpveversion\b|\bpve-manager/|\d-pve\b|\bhostpci\d{1,2}:|/etc/pve/|\bVMID\b|\bProxmox\b|\bUnraid\b"
    r"|\bqm (?:list|config|status|start|set|showcmd|monitor)\b"
    r"|\bvirsh (?:list|start|edit|dumpxml|nodedev-[a-z]{4,12}|attach-device)\b|<hostdev "
    r"|\bqemu-system-x86_64\b|\bqemu-kvm\b|\bkvm(?: \[\d{1,9}\])?: |\bxl (?:list|pci-[a-z-]{4,24})\b"
    r"|\b(?:[Ii]n|[Ii]nside|[Ii]nto|[Ff]rom|[Ww]ithin|[Tt]o) (?:the |my |a |an |each |its )?"
    r"(?:guest|VM|virtual machine)s?\b"
)
_GUEST_WORDS = (
    *("pve", "hostpci", "VMID", "Proxmox", "Unraid", "qm ", "virsh ", "<hostdev ", "qemu-", "kvm", "xl "),
    *("guest", "VM", "virtual machine"),
)
_ENCLOSURE = regex(
    r"\bthunderbolt \d-\d{1,2}: \S[^\n]{2,60}|\bboltctl\b|\bThunderbolt(?:™|\(TM\))? ?[1345]?\b|\bUSB4\b|\b[Ee]GPU\b"
    r"|\bOCu[Ll]ink\b|\boculink\b|/sys/bus/thunderbolt/|(?<=removable:)removable\b|\bRazer Core\b|\b[Ee]xternal GPU\b"
)
_ENCLOSURE_WORDS = (
    *("thunderbolt", "boltctl", "Thunderbolt", "USB4", "eGPU", "EGPU", "ulink", "uLink"),
    *("removable", "Razer Core", "xternal GPU"),
)
_FIRMWARE = regex(r"\b(?P<name>SeaBIOS|OVMF)\b|\bbios: (?P<chosen>seabios|ovmf)\b")
_NAMES = {"seabios": "SeaBIOS", "ovmf": "OVMF"}


@reader("surroundings")
def read(text: Text) -> Iterator[Clue]:
    """The first sign of each."""
    for path, pattern, words in (
        ("system.hosted_guests", _GUESTS, _GUEST_WORDS),
        ("system.gpu_enclosure", _ENCLOSURE, _ENCLOSURE_WORDS),
    ):
        for match in text.matches(pattern, *words):
            yield Fact(path, match[0].strip(), match.start())
            break
    if meant := without_gpu(text):
        yield Fact("system.meant_without_gpu", " ".join(meant[0].split()), meant.start())
    for match in text.matches(_FIRMWARE, "SeaBIOS", "OVMF", "bios: "):
        yield Fact("system.firmware", _NAMES[(match["name"] or match["chosen"]).lower()], match.start())
        break
