"""What NVIDIA publishes for Jetson boards apart from the package index."""

from __future__ import annotations

from envkit._startup.records import record
from envkit.base.versions import Version
from envkit.tables.loader import table


@table("jetson_wheels.csv", "framework", "version", "l4t")
@record
class JetsonWheel:
    """A wheel of NVIDIA for boards with this major release of L4T, from `first_l4t` on."""

    framework: str
    version: Version
    l4t: int
    first_l4t: Version
    python: Version
    file: str
    url: str
    sources: tuple[str, ...]


@table("jetson_images.csv", "l4t")
@record
class JetsonImages:
    """Which images boards with this major release of L4T take."""

    l4t: int
    told: str
    sources: tuple[str, ...]
