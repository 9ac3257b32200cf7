"""The table of `nvidia-smi`, in every layout from driver 340 to 615.

Two lines per GPU (three from 450 on, with MIG), columns parted by `|`. Old layouts have no `CUDA Version`; from 610 on
the header says `KMD Version` and `CUDA UMD Version`. `N/A`, `[N/A]` and `ERR!` are no values.

    +-----------------------------------------------------------------------------+
    | NVIDIA-SMI 470.82.01    Driver Version: 470.82.01    CUDA Version: 11.4     |
    |-------------------------------+----------------------+----------------------+
    |   0  Tesla T4            On   | 00000000:00:1E.0 Off |                    0 |
    | N/A   34C    P8     9W /  70W |      0MiB / 15109MiB |      0%      Default |
    |                               |                      |                  N/A |
    +-------------------------------+----------------------+----------------------+
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from envkit._startup.regex import regex
from envkit.base.pci import ADDRESS, pci_address
from envkit.base.versions import Version
from envkit.ingest.clues import Clue, Fact, GpuClue, GpusIncomplete, Listing, reader
from envkit.ingest.meant import processes_hidden
from envkit.ingest.text import Text
from envkit.ingest.values import number, yes
from envkit.model import CallResult, OsRelease

_HEADER = regex(
    r"NVIDIA-SMI\s{1,20}(?P<tool>\d{3}(?:\.\d{1,9}){1,3})\s{1,40}(?:Driver|KMD)\s{1,3}Version:?\s{1,10}(?P<module>\d{3}(?:\.\d{1,9}){1,3})"
    r"(?:\s{1,40}CUDA\s{1,3}(?:UMD\s{1,3})?Version:?\s{1,10}(?P<cuda>\d{1,9}\.\d{1,9})?)?"
)
_NAME_ROW = regex(
    r"^\|\s{0,4}(?P<index>\d{1,3})\s{1,4}(?P<name>\S[^|\n]{0,60}?)\s{1,40}(?P<persistence>On|Off|N/A|TCC|WDDM|MCDM|ERR!)\s{0,4}\|"
    rf"\s{{0,6}}(?P<address>{ADDRESS}|N/A|ERR!)\s{{1,40}}(?P<display>On|Off|N/A|ERR!)\s{{0,4}}\|"
    r"\s{0,24}(?P<ecc>\d{1,9}|On|Off|N/A|ERR!)\s{0,4}\|",
)
_NUMBER_ROW = regex(
    r"^\|\s{0,4}(?:\d{1,3}%|N/A|ERR!|\[N/A\])\s{1,6}(?P<temperature>\d{1,9}C|N/A|ERR!)\s{1,6}(?:P\d{1,9}|N/A|ERR!)\s{1,16}"
    r"(?P<usage>\d{1,9}W|N/A|ERR!)\s{0,4}/\s{1,6}(?P<cap>\d{1,9}W|N/A|ERR!)\s{0,4}\|"
    r"\s{0,12}(?:(?P<used>\d{1,9}MiB|N/A|ERR!)\s{0,4}/\s{1,8}(?P<total>\d{1,9}MiB|N/A|ERR!)|Not Supported)\s{0,40}\|"
    r"\s{0,10}(?P<busy>\d+%|N/A|ERR!)\s{1,10}(?P<mode>Default|E\. ?Process|E\. ?Thread|Prohibited|N/A|ERR!)\s{0,4}\|"
)
_MIG_ROW = regex(r"^\|\s{10,60}\|\s{10,40}\|\s{0,24}(?P<mig>Enabled\*?|Disabled\*?|N/A)\s{0,4}\|")
_MIG_DEVICE = regex(
    r"^\|\s{1,4}(?P<gpu>\d{1,3})\s{1,6}(?P<gi>\d{1,3})\s{1,6}(?P<ci>\d{1,3})\s{1,6}(?P<dev>\d{1,3})\s{1,4}\|\s{1,20}\d{1,9}MiB"
)
_PROCESS = regex(
    r"^\|\s{1,6}(?P<gpu>\d{1,3})\s{1,24}(?:(?:N/A|\d{1,3})\s{1,8}(?:N/A|\d{1,3})\s{1,24})?(?P<pid>\d{1,9})\s{1,6}(?:(?P<type>C\+G|[CGM](?:\+[CGM])?)\s{1,6})?(?P<name>\S[^|\n]{0,80}?)\s{1,40}(?:\d{1,9}MiB|N/A)\s{0,4}\|"
)
_MODES = {
    "Default": "default",
    "E.Process": "exclusive-process",
    "E.Thread": "exclusive-thread",
    "Prohibited": "prohibited",
}
_WRAPPED = 3  # lines that one row of the table can have become
_DISPLAY_SERVERS = ("Xorg", "Xwayland", "gnome-shell", "kwin_wayland", "kwin_x11", "mutter", "sway", "Hyprland")


@reader("nvidia-smi")
def read(text: Text) -> Iterator[Clue]:
    """Versions of the driver, one GPU per pair of rows, MIG devices, processes."""
    if "|" not in text.whole:
        return
    rows = _rows(text)
    for line, offset in rows:
        header = _HEADER.search(line) if "NVIDIA-SMI" in line else None
        if header:
            yield from _header(header, offset)
    gpus = list(_gpus(rows))
    yield from gpus
    listed = [clue for clue in gpus if isinstance(clue, GpuClue)]
    yield from _mig_devices(rows, listed)
    yield from _processes(rows, listed, hidden=processes_hidden(text))


def _header(match: re.Match[str], offset: int) -> Iterator[Clue]:
    yield Fact("driver.kernel_module", Version.parse(match["module"]), offset)
    if match["tool"] == match["module"]:  # they differ in WSL, where the driver is Windows' own
        yield Fact("driver.user_space", Version.parse(match["tool"]), offset)
    if match["cuda"]:
        yield Fact("driver.driver_cuda_version", Version.parse(match["cuda"]), offset)
    for path in ("driver.nvidia_smi", "driver.nvml"):
        yield Fact(path, CallResult(0, "NVML_SUCCESS"), offset)


def _rows(text: Text) -> list[tuple[str, int]]:
    """The table rows and their offsets, '' between tables; a row that was wrapped is put together again."""
    width = max((len(line) for line in text.lines if line.lstrip().startswith(("|", "+"))), default=0)
    rows: list[tuple[str, int]] = []
    position = 0
    for line in text.lines:
        stripped = line.strip()
        if stripped.startswith(("|", "+")) and not (stripped == "|" and rows and rows[-1][0]):
            rows.append((stripped, position))
        elif rows and 0 < len(rows[-1][0]) < _WRAPPED * width and stripped.endswith(("|", "+")):
            rows[-1] = (rows[-1][0].ljust(width) + line.rstrip(), rows[-1][1])
        elif rows and rows[-1][0]:
            rows.append(("", position))
        position += len(line) + 1
    return rows


def _gpus(rows: list[tuple[str, int]]) -> Iterator[GpuClue | Fact | GpusIncomplete]:
    complete, last = True, 0
    for position, (row, offset) in enumerate(rows):
        match = _NAME_ROW.match(row)
        if not match:
            continue
        following = [text for text, _ in rows[position + 1 : position + 4]]
        yield GpuClue(Listing.DRIVER, int(match["index"]), _values(match, following), offset)
        yield from _windows(match, offset)
        complete, last = any(line.startswith("+") for line in following), offset
    if not complete:
        yield GpusIncomplete(last)


def _windows(match: re.Match[str], offset: int) -> Iterator[Fact]:
    if match["persistence"] in ("WDDM", "TCC", "MCDM"):
        yield Fact("system.os", OsRelease("windows", "windows", ""), offset)


def _values(match: re.Match[str], following: list[str]) -> dict[str, Any]:
    values: dict[str, Any] = {
        "name": match["name"].strip(),
        "pci_address": pci_address(match["address"]),
        "persistence_mode": yes(match["persistence"]),
        "display_active": yes(match["display"]),
        "ecc_mode": None if match["ecc"] in ("N/A", "ERR!") else match["ecc"] != "Off",
        "ecc_uncorrectable": number(match["ecc"]),
    }
    numbers = _NUMBER_ROW.match(following[0]) if following else None
    if numbers:
        mode = numbers["mode"].replace(" ", "")
        values |= {
            "temperature_c": number(numbers["temperature"]),
            "power_limit_w": _watts(numbers["cap"]),
            "memory_used_bytes": _mib(numbers["used"] or ""),
            "memory_bytes": _mib(numbers["total"] or ""),
            "utilization_percent": number(numbers["busy"]),
            "compute_mode": _MODES.get(mode),
        }
    mig = _MIG_ROW.match(following[1]) if len(following) > 1 else None
    if mig and mig["mig"] != "N/A":
        values["mig_mode"] = mig["mig"].startswith("Enabled")
    return values


def _mib(text: str) -> int | None:
    value = number(text)
    return None if value is None else value * 1024 * 1024


def _watts(text: str) -> float | None:
    value = number(text)
    return None if value is None else float(value)


def _mig_devices(rows: list[tuple[str, int]], gpus: list[GpuClue]) -> Iterator[Clue]:
    instances: dict[int, list[str]] = {}
    inside, offset, closed = False, 0, False
    for row, place in rows:
        if "MIG devices:" in row:
            inside, offset = True, place
        elif not row:
            inside = False
        match = _MIG_DEVICE.match(row) if inside else None
        if match:
            instances.setdefault(int(match["gpu"]), []).append(f"{match['gi']}/{match['ci']}")
        closed = closed or (inside and "No MIG devices found" in row)
    for gpu in gpus:
        named = instances.get(gpu.index or 0)
        if named or (closed and gpu.values.get("mig_mode")):
            yield GpuClue(Listing.DRIVER, gpu.index, {"mig_instances": tuple(named or ())}, offset)


def _processes(rows: list[tuple[str, int]], gpus: list[GpuClue], *, hidden: bool) -> Iterator[Clue]:
    """Who holds memory on each GPU; a GPU without a row has none only where the whole list is there.

    It is not where processes are `hidden`.
    """
    start = next((index for index, (row, _) in enumerate(rows) if "rocesses:" in row), None)
    if start is None:
        return
    pids: dict[int, list[int]] = {}
    complete = False
    for row, offset in rows[start + 1 :]:
        if not row or "rocesses:" in row:
            break
        match = _PROCESS.match(row)
        if match:
            pids.setdefault(int(match["gpu"]), []).append(int(match["pid"]))
            yield from _display(match, offset)
        complete = complete or "No running processes found" in row or (bool(pids) and row.startswith("+"))
    for gpu in gpus:
        found = pids.get(gpu.index or 0)
        if found or (complete and not hidden):
            yield GpuClue(Listing.DRIVER, gpu.index, {"processes": tuple(found or ())}, rows[start][1])


def _display(process: re.Match[str], offset: int) -> Iterator[Clue]:
    name = process["name"].split()[0].rsplit("/", 1)[-1]
    if process["type"] and "G" in process["type"] and name in _DISPLAY_SERVERS:
        yield Fact("system.display_server", name, offset)
