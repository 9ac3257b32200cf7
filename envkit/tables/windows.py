"""NVIDIA's installers of CUDA for Windows: where they are, and what they call the parts of a toolkit."""

from __future__ import annotations

from envkit._startup.records import record
from envkit.base.versions import Version
from envkit.tables.installer import holds_for
from envkit.tables.loader import read, table


@table("installer_windows.csv", "cuda")
@record
class WindowsInstallerRow:
    """The installer of one release with its checksum. `has_driver`: a driver is inside, which it installs unasked."""

    cuda: Version
    name: str
    url: str
    sha256: str
    has_driver: bool
    sources: tuple[str, ...]


@table("installer_windows_parts.csv", "part", "cuda")
@record
class WindowsPartRow:
    """The components of an installer that make a part, without the release line that ends their names, and a path
    below the toolkit's folder that shows that the part is there."""

    part: str
    cuda: str
    components: tuple[str, ...]
    proof: str
    sources: tuple[str, ...]


def windows_installer(cuda: Version) -> WindowsInstallerRow | None:
    """The installer of this release; None where no checksum of it is known."""
    return next((row for row in read(WindowsInstallerRow) if row.cuda == cuda), None)


def windows_part_names() -> tuple[str, ...]:
    """Every name of a part, in any release."""
    return tuple(dict.fromkeys(row.part for row in read(WindowsPartRow)))


def windows_parts(cuda: Version) -> dict[str, WindowsPartRow]:
    """The parts whose component names are known for this release, by name."""
    return {row.part: row for row in read(WindowsPartRow) if holds_for(row.cuda, cuda)}
