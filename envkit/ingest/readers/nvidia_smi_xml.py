"""`nvidia-smi -q -x`: the same tree as `-q`, as XML.

<nvidia_smi_log>
    <driver_version>535.54.03</driver_version>
    <gpu id="00000000:01:00.0">
        <product_name>NVIDIA GeForce RTX 3080</product_name>
        <fb_memory_usage>
            <total>10240 MiB</total>

It is read tag by tag: pasted XML is often cut off, and needs no parser that follows entities.
"""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.base.pci import pci_address
from envkit.base.versions import Version
from envkit.ingest.clues import Clue, Fact, GpuClue, GpusIncomplete, Listing, reader
from envkit.ingest.smi_fields import Path, Spelling, gpu_values
from envkit.ingest.text import Text
from envkit.ingest.values import number
from envkit.model import CallResult

_LOG = "<nvidia_smi_log>"
_TAG = regex(r'<(?P<end>/?)(?P<tag>[a-z]\w{0,60})(?: id=\\?"(?P<id>[^"<>\\]{1,40})\\?")?\s*>(?P<text>[^<]{0,400})')
_VERSION = regex(r"\d{1,9}(?:\.\d{1,9})+")
_VERSIONS = {
    "kmd_version": "driver.kernel_module",
    "driver_version": "driver.kernel_module",
    "cuda_umd_version": "driver.driver_cuda_version",
    "cuda_version": "driver.driver_cuda_version",
}


@reader("nvidia-smi -q -x")
def read(text: Text) -> Iterator[Clue]:
    """The driver's versions and every GPU's block."""
    start = text.whole.find(_LOG)
    if start < 0:
        return
    attached = 0
    blocks: list[tuple[int, str, list[tuple[Path, str]]]] = []
    for offset, path, value in _elements(text, start + len(_LOG)):
        if path == ("gpu",):
            blocks.append((offset, value, []))
        elif path[0] == "gpu":
            blocks[-1][2].append((path, value))
        elif path == ("attached_gpus",):
            attached = number(value) or 0
        elif len(path) == 1 and path[0] in _VERSIONS and _VERSION.fullmatch(value):
            yield Fact(_VERSIONS[path[0]], Version.parse(value), offset)
    for offset, address, block in blocks:
        yield Fact("driver.nvml", CallResult(0, "NVML_SUCCESS"), offset)
        values = {"pci_address": pci_address(address)} | gpu_values(block, Spelling.XML)
        yield GpuClue(Listing.DRIVER, None, values, offset)
    if len(blocks) < attached:
        yield GpusIncomplete(start)


def _elements(text: Text, start: int) -> Iterator[tuple[int, Path, str]]:
    """Offset, path below the log and text of each element; an element with others in it has its id for a text."""
    parents: list[str] = []
    opened: tuple[int, Path, str, str] | None = None
    for match in _TAG.finditer(text.whole, start):
        tag = match["tag"]
        if match["end"]:
            if opened is not None:
                yield opened[0], opened[1], opened[3]
            opened = None
            if tag in parents:
                del parents[len(parents) - 1 - parents[::-1].index(tag) :]
            continue
        if opened is not None:
            yield opened[:3]
        parents.append(tag)
        opened = match.start(), tuple(parents), match["id"] or "", match["text"].strip()
