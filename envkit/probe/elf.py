"""What an ELF file says about itself: the libraries it needs, where it looks for them, the symbol versions it asks for.

Read through a Host with pyelftools; only headers and small sections are read, never the code.
"""

from __future__ import annotations

import errno
import io
from collections.abc import Mapping
from typing import IO, TYPE_CHECKING, Any, cast

from envkit._startup.records import field, record
from envkit.base.versions import Version
from envkit.host.base import Host
from envkit.model import Observed, Problem, found, missing

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile

_BLOCK = 16384
_MOST_READS = 60_000  # of one file; the largest library takes some ten thousand
_MOST_BYTES = 64_000_000
_MOST_SECTIONS = 10_000
_TAGS = {"DT_NEEDED": "needed", "DT_SONAME": "soname", "DT_RPATH": "rpath", "DT_RUNPATH": "runpath"}


@record
class ElfFile:
    """The loader's view of one ELF file. `sections` maps names of program data to (offset, size) in bytes."""

    path: str
    machine: str  # x64, AArch64, as pyelftools names it
    soname: str = ""
    needed: tuple[str, ...] = ()
    rpath: tuple[str, ...] = ()
    runpath: tuple[str, ...] = ()
    symbol_versions: tuple[str, ...] = ()  # versions asked of other libraries: GLIBC_2.28, GLIBCXX_3.4.30
    defined_versions: tuple[str, ...] = ()  # versions that it offers
    sections: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def highest_needed(self, prefix: str) -> Version | None:
        """The highest version of `prefix` (GLIBC, GLIBCXX) that it asks for."""
        return _highest(self.symbol_versions, prefix)

    def highest_defined(self, prefix: str) -> Version | None:
        """The highest version of `prefix` that it offers."""
        return _highest(self.defined_versions, prefix)


class HostFile(io.RawIOBase):
    """A file of a Host as a seekable stream that keeps the blocks it has read."""

    def __init__(self, host: Host, path: str, size: int) -> None:
        super().__init__()
        self._host, self._path, self._size = host, path, size
        self._position = 0
        self._blocks: dict[int, bytes] = {}
        self._reads = 0
        self._left = _MOST_BYTES

    def readable(self) -> bool:
        """Always true."""
        return True

    def seekable(self) -> bool:
        """Always true."""
        return True

    def tell(self) -> int:
        """The position, in bytes."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to `offset` bytes from the start, here, or the end."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = base + offset
        return self._position

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes from the position on. Raises OSError when the host does not give them.

        A damaged file can send its reader in circles or through gigabytes of holes: that ends here too.
        """
        self._reads += 1
        if self._reads > _MOST_READS or self._left < 0:
            raise OSError(errno.EFBIG, f"{self._path}: damaged, its reader goes round in circles")
        wanted = self._size - self._position
        if 0 <= size < wanted:
            wanted = size
        index, start = divmod(self._position, _BLOCK)
        if start + wanted <= _BLOCK:  # nearly every read: a field of a few bytes
            data = self._block(index)[start : start + max(wanted, 0)]
        else:
            data = self._range(self._position, wanted)
        self._position += len(data)
        self._left -= len(data)
        return data

    def _block(self, index: int) -> bytes:
        block = self._blocks.get(index)
        if block is None:
            block = self._blocks[index] = self._range(index * _BLOCK, _BLOCK)
        return block

    def _range(self, offset: int, size: int) -> bytes:
        observed = self._host.read_range(self._path, offset, size)
        if not observed.known:
            raise OSError(f"{self._path}: {observed.problem}")
        return observed.get()


class ElfReader:
    """Reads the ELF files of one host, each once."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self._read: dict[str, Observed[ElfFile]] = {}

    def read(self, path: str) -> Observed[ElfFile]:
        """As `read_elf`."""
        if path not in self._read:
            self._read[path] = read_elf(self.host, path)
        return self._read[path]


def read_elf(host: Host, path: str) -> Observed[ElfFile]:
    """The ELF file at `path`; UNPARSABLE when it is none (a script, a truncated download)."""
    status = host.status(path)
    if not status.known:
        return missing(status.problem or Problem.ABSENT, path, status.detail)
    try:
        return found(_parse(open_elf(host, path, status.get().size), path), path)
    except damaged() as error:
        return missing(Problem.UNPARSABLE, path, f"not a readable ELF file: {error}")


def open_elf(host: Host, path: str, size: int) -> ELFFile:
    """The file of `size` bytes as pyelftools' object. Raises one of `damaged()`."""
    from elftools.elf.elffile import ELFFile

    return ELFFile(cast(IO[bytes], HostFile(host, path, size)))


def damaged() -> tuple[type[Exception], ...]:
    """What pyelftools raises for a file that is none of its own: it follows a damaged file's offsets unchecked."""
    from elftools.common.exceptions import ELFError
    from elftools.construct.core import ConstructError

    return (ELFError, ConstructError, OSError, ValueError, KeyError, AttributeError, TypeError, OverflowError)


def _parse(elf: ELFFile, path: str) -> ElfFile:
    headers = section_headers(elf)

    def of_type(wanted: str) -> list[Any]:
        # one by one and by type: making an object of every section would parse the whole symbol hash of a library
        return [elf.get_section(index) for index, header in enumerate(headers) if header["sh_type"] == wanted]

    tags: dict[str, list[str]] = {name: [] for name in _TAGS}
    for tag in (tag for section in of_type("SHT_DYNAMIC") for tag in section.iter_tags()):
        if tag.entry.d_tag in _TAGS:
            tags[tag.entry.d_tag].append(getattr(tag, _TAGS[tag.entry.d_tag]))
    needs = (group for section in of_type("SHT_GNU_verneed") for group in section.iter_versions())
    offers = (group for section in of_type("SHT_GNU_verdef") for group in section.iter_versions())
    return ElfFile(
        path,
        elf.get_machine_arch(),
        soname=next(iter(tags["DT_SONAME"]), ""),
        needed=tuple(tags["DT_NEEDED"]),
        rpath=_folders(tags["DT_RPATH"]),
        runpath=_folders(tags["DT_RUNPATH"]),
        symbol_versions=tuple(version.name for _, versions in needs for version in versions),
        defined_versions=tuple(next(iter(versions)).name for _, versions in offers),
        sections={section.name: (section["sh_offset"], section["sh_size"]) for section in of_type("SHT_PROGBITS")},
    )


def section_headers(elf: ELFFile) -> list[Any]:
    """The section headers alone, without the object that pyelftools would make of each section.

    Raises OSError for more of them than any library has.
    """
    from elftools.common.utils import struct_parse

    start, size, count = elf["e_shoff"], elf["e_shentsize"], elf.num_sections()
    if count > _MOST_SECTIONS:
        raise OSError(errno.EFBIG, f"{count} sections")
    return [struct_parse(elf.structs.Elf_Shdr, elf.stream, start + index * size) for index in range(count)]


def _folders(values: list[str]) -> tuple[str, ...]:
    return tuple(folder for value in values for folder in value.split(":") if folder)


def _highest(names: tuple[str, ...], prefix: str) -> Version | None:
    start = f"{prefix}_"
    texts = [name[len(start) :] for name in names if name.startswith(start)]
    versions = [version for text in texts if (version := Version.find(text)) and str(version) == text]
    return max(versions, default=None)
