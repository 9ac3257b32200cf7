"""A Jetson: `/etc/nv_tegra_release`, `jetson_release`, the device tree's model.

# R35 (release), REVISION: 4.1, GCID: 33958178, BOARD: t186ref, EABI: aarch64
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.ingest.clues import Clue, Fact, reader
from envkit.ingest.text import Text
from envkit.model import MachineKind

_RELEASE = regex(
    r"^[ \t]{0,8}(?:# )?R(?P<major>\d{2}) \(release\), REVISION: (?P<revision>\d{1,9}(?:\.\d{1,9})?)", re.MULTILINE
)
_L4T = regex(r"\bL4T(?:[ _][Vv]ersion|_VERSION)?[ :=]{1,3}[Rr]?(?P<version>\d{2}\.\d{1,9}(?:\.\d{1,9})?)\b")
_MODEL = regex(
    r"^(?:[ |]{0,8}(?:Model|Module): )?(?P<model>NVIDIA (?:Jetson [\w ()./-]{3,60}|Orin [\w ()./-]{3,60})"
    r"|Jetson (?:AGX|Xavier|Nano|TX\d|Orin)[\w ()./-]{0,50})$",
    re.MULTILINE,
)


@reader("Jetson")
def read(text: Text) -> Iterator[Clue]:
    """The board and its L4T release."""
    for match in text.matches(_RELEASE, "(release), REVISION"):
        yield Fact("system.l4t_release", Version.parse(f"{match['major']}.{match['revision']}"), match.start())
        yield Fact("system.machine_kind", MachineKind.JETSON, match.start())
    for match in text.matches(_L4T, "L4T"):
        yield Fact("system.l4t_release", Version.parse(match["version"]), match.start())
        yield Fact("system.machine_kind", MachineKind.JETSON, match.start())
    for match in text.matches(_MODEL, "Jetson", "NVIDIA Orin "):
        yield Fact("system.platform_model", match["model"].strip(), match.start())
        yield Fact("system.machine_kind", MachineKind.JETSON, match.start())
