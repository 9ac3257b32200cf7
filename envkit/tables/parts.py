"""Parts of a toolkit: NVIDIA's redistributable archives, what they hold and need, and the lists that name them."""

from __future__ import annotations

from envkit._startup.records import record
from envkit.base.versions import Version
from envkit.tables.installer import holds_for
from envkit.tables.loader import read, table


@table("installer_part_lists.csv", "cuda")
@record
class PartListRow:
    """NVIDIA's list of the archives of one release: it names each archive with its sha256.

    Its own checksum pins its bytes, so that an archive that it names is as good as one whose checksum is known here.
    """

    cuda: Version
    name: str
    url: str
    sha256: str
    sources: tuple[str, ...]


@table("installer_parts.csv", "part", "cuda")
@record
class PartRow:
    """A part in the releases `cuda` ('' for all): its entry in the list, the parts that it is of no use without, and
    paths that show that it is there. `bytes`: of the largest archive in the data, for estimates of space."""

    part: str
    entry: str
    cuda: str
    architectures: tuple[str, ...]
    needs: tuple[str, ...]
    proof: tuple[str, ...]
    bytes: int
    sources: tuple[str, ...]


def part_list(cuda: Version) -> PartListRow | None:
    """The list of this release; None where no checksum of it is known."""
    return next((row for row in read(PartListRow) if row.cuda == cuda), None)


def parts_of(cuda: Version, architecture: str) -> dict[str, PartRow]:
    """The parts that this release has for this architecture, by name."""
    rows = (row for row in read(PartRow) if architecture in row.architectures and holds_for(row.cuda, cuda))
    return {row.part: row for row in rows}


def part_names() -> tuple[str, ...]:
    """Every name of a part, in any release."""
    return tuple(dict.fromkeys(row.part for row in read(PartRow)))
