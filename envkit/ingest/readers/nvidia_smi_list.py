"""`nvidia-smi -L`, also where other reports quote it: one line per GPU, one below it per MIG device.

GPU 0: NVIDIA A30 (UUID: GPU-5e2b7a10-4f4e-9c2c-0f66-2f6f0a8b7d11)
  MIG 1g.6gb      Device  0: (UUID: MIG-8b0e3c2f-52a1-5d6e-9f7a-1c2d3e4f5a6b)
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.ingest.clues import Clue, GpuClue, Listing, reader
from envkit.ingest.text import Text

_GPU = regex(
    r"^(?:GPU models and configuration: ?)?[ ]{0,8}GPU (?P<index>\d{1,3}): "
    r"(?P<name>(?:NVIDIA|GeForce|Tesla|Quadro|TITAN|GRID|RTX|GTX|[AHLTVPB]\d{1,3}\b|GH200"
    r"|Graphics Device)[\w ./+-]{0,60}?(?:\([A-Za-z][^)\n]{0,30}\))?)"
    r"(?: \(UUID: (?:(?P<uuid>GPU-[0-9a-fA-FxX*-]{4,40})|[^)\n]{0,60})\))?$",
    re.MULTILINE,
)
_MIG = regex(
    r"^ {1,8}MIG (?P<profile>[\w.+]{2,20}) {1,12}Device {1,4}\d{1,3}: \(UUID: (?P<uuid>MIG-[^)\s]{4,90})\)$",
    re.MULTILINE,
)
_ASKED = regex(r"nvidia-smi(?:\.exe)? (?:-L|--list-gpus)$")  # with nothing behind it that leaves out lines


@reader("nvidia-smi -L")
def read(text: Text) -> Iterator[Clue]:
    """One GPU per line, its MIG devices from the lines below it."""
    gpus = list(text.matches(_GPU, "GPU "))
    instances = list(text.matches(_MIG, "MIG "))
    whole = bool(gpus) and _asked_for(text, gpus[0].start())
    for position, match in enumerate(gpus):
        end = gpus[position + 1].start() if position + 1 < len(gpus) else len(text.whole)
        below = tuple(mig["uuid"] for mig in instances if match.start() < mig.start() < end)
        values: dict[str, object] = {"name": match["name"].strip(), "gpu_uuid": match["uuid"]}
        if below:
            values |= {"mig_mode": True, "mig_instances": below}
        elif instances or (whole and match["uuid"]):  # this list does show MIG devices
            values["mig_instances"] = below
        yield GpuClue(Listing.DRIVER, int(match["index"]), values, match.start())


def _asked_for(text: Text, offset: int) -> bool:
    """Whether the line above is the command that lists every GPU with its MIG devices."""
    index = text.index(offset)
    return index > 0 and bool(_ASKED.search(text.lines[index - 1]))
