"""The kernel log (`dmesg`, `journalctl -k`): the driver's own lines, which module was loaded, when the machine slept.

[   12.345678] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC 2024
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.base.pci import ADDRESS, pci_address
from envkit.base.versions import Version
from envkit.ingest.at_work import is_over
from envkit.ingest.clues import Clue, Fact, Item, reader
from envkit.ingest.ends import ended, of_an_older_boot
from envkit.ingest.readers.proc_version import loaded_module
from envkit.ingest.text import ALIKE, Text
from envkit.model import PciGpu
from envkit.probe.kernel_log import WORDS, relevant
from envkit.probe.relevant import kernel_words

_PREFIX = regex(
    r"^(?:\[[ ]{0,8}\d{1,8}\.\d{1,6}\] |\[\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}\] "
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S{1,60} kernel: |"
    r"\d{4}-\d\d-\d\dT\S{8,32} \S{1,60} kernel: |NVRM: )"
)
_CLIENT = regex(
    r"API mismatch: the client [^\n]{0,120}?(?: {0,4}\n[^\n]{0,60}?NVRM: )?has the version (?P<client>\d{3}"
    r"(?:\.\d{1,9}){1,2}),?(?: but|\n[^\n]{0,60}?NVRM: but)?"
    r"[^\n]{0,20}(?:\n[^\n]{0,60}?NVRM: {1,4}|\n {0,24})?this kernel module has the version (?P<module>\d{3}"
    r"(?:\.\d{1,9}){1,2}\b)"
)
_PCI_ID = regex(
    rf"NVRM: The NVIDIA (?:\S{{1,40}} )?GPU (?P<address>{ADDRESS}) \(PCI ID: 10de:(?P<device>[0-9a-fA-F]{{4}})\)"
)
_RESUME = regex(r"PM: suspend exit")
_CMDLINE = regex(r"(?:Kernel command line: |^\$ cat /proc/cmdline\n)(?P<line>\S[^\n]{3,1500})", re.MULTILINE)
_IOMMU = regex(r"iommu: Default domain type: (?P<kind>Translated|Passthrough)")


@reader("kernel log")
def read(text: Text) -> Iterator[Clue]:
    """The loaded module's version and flavor, GPUs that it names, and the log lines themselves."""
    yield from loaded_module(text, "NVRM: loading")
    over = ended(text, "driver-library-mismatch/kernel-log")
    for match in text.matches(_CLIENT, "API mismatch", lines=8):
        if match.start() < over:
            continue
        yield Fact("driver.kernel_module", Version.parse(match["module"]), match.start())
        yield Fact("driver.user_space", Version.parse(match["client"]), match.start())
    for match in text.matches(_PCI_ID, "PCI ID: 10de"):
        address = pci_address(match["address"])
        gpu = PciGpu(address, match["device"].upper())
        yield Item("pci_gpus", address, gpu, match.start())
    for match in text.matches(_RESUME, "PM: suspend exit"):
        yield Fact("system.last_resume", text.line_at(match.start()).strip(), match.start())
    for match in text.matches(_CMDLINE, "ommand line: ", "cat /proc/cmdline", lines=2):
        yield Fact("kernel.cmdline", kernel_words(match["line"]), match.start())
    for match in text.matches(_IOMMU, "Default domain type"):
        kind = "translated" if match["kind"] == "Translated" else "passthrough"
        yield Fact("kernel.iommu", kind, match.start())
    yield from _lines(text)


def _lines(text: Text) -> Iterator[Clue]:
    if not any(map(text.may_hold, (*WORDS, "BAR"))):
        return
    position, kept = 0, 0
    seen: set[str] = set()
    for index, line in enumerate(text.lines):
        enough = kept > ALIKE and text.repeats[index]
        if not enough and _PREFIX.match(line) and line not in seen and relevant(line):
            seen.add(line)
            if not (of_an_older_boot(text, position) or is_over(text, position)):
                kept += 1
                yield Item("kernel.log", line, line, position)
        position += len(line) + 1
