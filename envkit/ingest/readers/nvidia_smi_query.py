"""`nvidia-smi -q`: a tree of `Name : value` lines, indented by four blanks per level, one block per GPU.

Attached GPUs                             : 1
GPU 00000000:01:00.0
    Product Name                          : NVIDIA RTX A4000
    PCI
        GPU Link Info
            Link Width
                Max                       : 16x
                Current                   : 8x

People also paste a part of it, or what grep left of it, without the line of the GPU.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.base.pci import ADDRESS, pci_address
from envkit.base.versions import Version
from envkit.ingest.clues import Clue, Fact, GpuClue, GpusIncomplete, Listing, reader
from envkit.ingest.smi_fields import Spelling, gpu_values
from envkit.ingest.text import Text
from envkit.ingest.values import number
from envkit.model import CallResult

_BLOCK = regex(rf"^GPU (?P<address>{ADDRESS})[ ]{{0,4}}$", re.MULTILINE)
_LINE = regex(r"^(?P<indent> {2,40})(?P<key>[^\s:][^:\n]{0,60}?)(?: *: ?(?P<value>[^\n]*))?$")
_TOP = regex(
    r"^(?P<key>Driver Version|(?:KMD Version|CUDA Version|CUDA UMD Version|Attached GPUs)(?=  )) {1,200}: "
    r"(?P<value>\S+)",
    re.MULTILINE,
)
_PROGRAM = "nvidia-smi"
_LIMIT = 1200  # lines of one GPU's block
_PARTS = regex(
    r"^ {2,40}(?:(?:Clocks (?:Throttle|Event) Reasons|Remapped Rows|Retired Pages|GPU Link Info|PCIe Generation"
    r"|Link Width|Fabric|(?:GPU )?Power Readings|MIG Mode|vGPU Software Licensed Product)"
    r"|(?:[HS]W (?:Thermal|Power Brake) Slowdown|Remapping Failure Occurred|Pending Page Blacklist"
    r"|License Status|Virtualization Mode) {1,40}: ?\w[^\n]{0,60})$",
    re.MULTILINE,
)
_NAME = regex(
    r"^(?P<indent> {0,40})Product Name {1,40}: (?P<name>(?:NVIDIA|Tesla|Quadro|GeForce|GRID|TITAN)\b[^\n]{1,60})$",
    re.MULTILINE,
)
_LISTED = ("nvidia-smi 4", "nvidia-smi 5", "nvidia-smi 6", "(uuid: ", "gpu 0000")
_OF_LICENSE = "vGPU Software Licensed Product"
_PART_WORDS = (
    *("Clocks Throttle", "Clocks Event", "Remapped Rows", "Retired Pages", "GPU Link Info", "PCIe Generation"),
    *("Link Width", "Fabric", "Power Readings", "MIG Mode", "Slowdown", "Remapping Failure", "Pending Page"),
    *("Licensed Product", "License Status", "Virtualization Mode"),
)


@reader("nvidia-smi -q")
def read(text: Text) -> Iterator[Clue]:
    """The driver's versions and every GPU's block."""
    attached = None
    for match in text.matches(_TOP, "Version ", "Attached GPUs"):
        if match["key"] == "Attached GPUs":
            attached = number(match["value"])
        elif re.fullmatch(r"\d{1,9}(?:\.\d{1,9})+", match["value"]):
            cuda = match["key"].startswith("CUDA")
            path = "driver.driver_cuda_version" if cuda else "driver.kernel_module"
            yield Fact(path, Version.parse(match["value"]), match.start())
    blocks = list(text.matches(_BLOCK, "GPU "))
    for match in blocks:
        yield Fact("driver.nvml", CallResult(0, "NVML_SUCCESS"), match.start())
        lines = _tree(text, text.index(match.start()) + 1)
        values = {"pci_address": pci_address(match["address"])} | gpu_values(lines, Spelling.TEXT)
        yield GpuClue(Listing.DRIVER, None, values, match.start())
    if blocks and (attached is None or attached > len(blocks)):
        yield GpusIncomplete(blocks[0].start())
    if not blocks:
        yield from _without_gpu(text)


def _without_gpu(text: Text) -> Iterator[Clue]:
    """The GPUs of excerpts that do not say which GPU they are of.

    One that tells the same again is of the next GPU; where the program was called again in between, what it says then
    counts.
    """
    gpus: list[tuple[int, dict[tuple[str, ...], str]]] = []
    told: list[set[tuple[str, ...]]] = []  # of each GPU, since the program was last called
    read_to = -1
    for match in text.matches(_PARTS, *_PART_WORDS):
        first = text.index(match.start())
        if first <= read_to:
            continue
        lines = list(_tree(text, first, within=len(match[0]) - len(match[0].lstrip())))
        if any(_PROGRAM in line for line in text.lines[read_to + 1 : first]):
            told = []
        read_to = first + len(lines) - (":" in match[0])  # a heading is none of its own lines
        if not lines:
            continue
        if not told or any(path in told[-1] for path, _ in lines):
            told.append(set())
        if len(told) > len(gpus):
            gpus.append((match.start(), {}))
        gpus[len(told) - 1][1].update(lines)
        told[-1].update(path for path, _ in lines)
    names = [] if any(map(text.says, _LISTED)) else _names(text)  # another listing tells which GPU has which name
    if not gpus and len(names) == 1:
        gpus = [(names[0][0], {})]
    if len(gpus) == len(names) == 1:
        gpus[0][1][("Product Name",)] = names[0][1]
    for offset, tree in gpus:
        yield GpuClue(Listing.DRIVER, None, gpu_values(tree.items(), Spelling.TEXT), offset)
        yield GpusIncomplete(offset)


def _names(text: Text) -> list[tuple[int, str]]:
    """The GPUs' names and where they are: a license has a product of its own."""
    found = []
    for match in text.matches(_NAME, "Product Name"):
        above = text.lines[text.index(match.start()) - 1] if text.index(match.start()) else ""
        if _OF_LICENSE not in above:
            found.append((match.start(), match["name"].strip()))
    return found


def _tree(text: Text, start: int, within: int | None = None) -> Iterator[tuple[tuple[str, ...], str]]:
    """The path of headings and the value of every line of a block that starts at this line.

    `within` is the depth of that line where it is a heading, and only what stands below it counts.
    """
    parents: list[tuple[int, str]] = []
    for place, line in enumerate(text.lines[start : start + _LIMIT]):
        if line and not line.startswith("  "):
            return
        match = _LINE.match(line)
        if not match:
            continue
        depth = len(match["indent"])
        if place and within is not None and depth <= within:
            return
        while parents and parents[-1][0] >= depth:
            parents.pop()
        if match["value"] is None:
            parents.append((depth, match["key"]))
        else:
            yield (*(name for _, name in parents), match["key"]), match["value"].strip()
            parents.append((depth, match["key"]))
