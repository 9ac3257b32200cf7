"""`/proc/driver/nvidia/version`, `modinfo nvidia` and `/proc/driver/nvidia/params`.

NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC 2024
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.ingest.clues import Clue, Fact, Item, reader
from envkit.ingest.text import Text
from envkit.model import ModuleFile
from envkit.probe.kernel import MODULE_LINE, module_in

_MODINFO = regex(
    r"^filename: {1,12}(?P<path>/lib/modules/(?P<kernel>[^/\n]{1,80})/\S{1,160}/nvidia(?:-current)?\.ko"
    r"(?:\.\w{1,4})?)$",
    re.MULTILINE,
)
_FIELD = regex(r"^(?P<key>version|license|signer|sig_id): {1,16}(?P<value>[^\n]{1,120})$", re.MULTILINE)
_PARAM = regex(
    r"^(?P<key>ModifyDeviceFiles|DeviceFileUID|DeviceFileGID|DeviceFileMode|RmProfilingAdminOnly"
    r"|PreserveVideoMemoryAllocations|EnableGpuFirmware|OpenRmEnableUnsupportedGpus): (?P<value>\d{1,10})$",
    re.MULTILINE,
)


_PARAMS = ("DeviceFile", "RmProfilingAdminOnly", "PreserveVideoMemory", "EnableGpuFirmware", "EnableUnsupportedGpus")


@reader("driver's proc files")
def read(text: Text) -> Iterator[Clue]:
    """The loaded version and flavor; the module file on disk; module parameters."""
    yield from loaded_module(text, "NVRM version")
    for match in text.matches(_MODINFO, "/nvidia"):
        yield Item("kernel.module_files", match["path"], _module(text, match), match.start())
    params = {match["key"]: match["value"] for match in text.matches(_PARAM, *_PARAMS)}
    if len(params) > 1:
        offset = text.whole.find("DeviceFile")
        yield Fact("driver.params", params, max(offset, 0))


def loaded_module(text: Text, start: str) -> Iterator[Clue]:
    """The version and flavor of the loaded module, by the last of the driver's own lines that begin with `start`.

    A log of several boots has one of each.
    """
    lines = text.matches(MODULE_LINE, "NVRM version", "NVRM: loading")
    own = [match for match in lines if match.group().startswith(start)]
    for match in own[-1:]:
        line = module_in(match)
        yield Fact("driver.kernel_module", line.version, match.start())
        yield Fact("driver.open_kernel_module", line.open, match.start())


def _module(text: Text, match: re.Match[str]) -> ModuleFile:
    """The fields of modinfo stand in the lines below the file's name."""
    end = text.whole.find("\nparm:", match.end())
    block = text.whole[match.end() : end if 0 < end < match.end() + 6000 else match.end() + 2500]
    fields: dict[str, str] = {}
    for field in _FIELD.finditer(block):
        fields.setdefault(field["key"], field["value"].strip())
    license = fields.get("license")
    return ModuleFile(
        match["kernel"],
        match["path"],
        Version.find(fields.get("version", "")),
        None if license is None else "GPL" in license,
        True if "signer" in fields or "sig_id" in fields else None,
    )
