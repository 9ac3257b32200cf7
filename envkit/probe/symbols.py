"""Whether PyTorch's libraries export the symbols that an extension was linked against: found by hash, not by listing.

Looks each name up in the library's DT_GNU_HASH table, as the loader does, so that a library with 100,000 symbols
costs a few small reads per name.
"""

from __future__ import annotations

import struct

from envkit._startup.records import record
from envkit.host.base import Host
from envkit.probe.elf import damaged, open_elf, section_headers

_TORCH_LIBRARIES = (
    "libc10.so",
    "libtorch_cpu.so",
    "libtorch_python.so",
    "libc10_cuda.so",
    "libtorch_cuda.so",
    "libtorch.so",
)
_TORCH_NAMES = ("_ZN3c10", "_ZNK3c10", "_ZN2at", "_ZNK2at", "_ZN5torch", "_ZNK5torch")
_NAMES_TRIED = 400
_LONGEST_NAME = 10_000
_SYMBOL = struct.Struct("<IBBHQQ")  # Elf64_Sym: name, info, other, section, value, size
_SYMBOLS_READ = 24_000_000
_LONGEST_CHAIN = 2000  # symbols of one hash value; well-made tables have a handful
_MOST_BUCKETS = 1 << 28


@record
class _HashTable:
    path: str
    offset: int
    symbols: int
    strings: int
    buckets: int
    first: int
    bloom: int
    shift: int


def missing_torch_symbols(host: Host, extension: str, torch_lib: str) -> tuple[str, ...]:
    """The C++ names of PyTorch that `extension` needs and no library in `torch_lib` exports (at most three)."""
    wanted = _undefined(host, extension)
    if not wanted:
        return ()
    paths = [f"{torch_lib}/{name}" for name in _TORCH_LIBRARIES]
    tables = [table for path in paths if (table := _hash_table(host, path)) is not None]
    if not tables:
        return ()
    missing = (name for name in wanted if not any(_exports(host, table, name) for table in tables))
    return tuple(name for name, _ in zip(missing, range(3), strict=False))


def _sections(host: Host, path: str) -> dict[str, tuple[int, int]]:
    """Offset and size of the sections that matter, by type; empty for a file that cannot be judged."""
    status = host.status(path)
    if not status.known:
        return {}
    try:
        elf = open_elf(host, path, status.get().size)
        headers = section_headers(elf)
        sections = {str(header["sh_type"]): header for header in headers}
        if elf.elfclass != 64 or not elf.little_endian or "SHT_DYNSYM" not in sections:
            return {}
        sections["strings"] = headers[sections["SHT_DYNSYM"]["sh_link"]]
    except damaged():
        return {}
    return {name: (header["sh_offset"], header["sh_size"]) for name, header in sections.items()}


def _undefined(host: Host, path: str) -> list[str]:
    sections = _sections(host, path)
    if not sections:
        return []
    symbols = host.read_range(path, sections["SHT_DYNSYM"][0], min(sections["SHT_DYNSYM"][1], _SYMBOLS_READ))
    strings = host.read_range(path, sections["strings"][0], min(sections["strings"][1], _SYMBOLS_READ))
    if not symbols.known or not strings.known:
        return []
    data, text = symbols.get(), strings.get()
    names = []
    for position in range(0, len(data) - _SYMBOL.size + 1, _SYMBOL.size):
        name, info, _, section, _, _ = _SYMBOL.unpack_from(data, position)
        if section == 0 and info >> 4 == 1:  # undefined and global (a weak one may stay open)
            word = text[name : text.find(b"\0", name, name + _LONGEST_NAME)].decode("utf-8", "replace")
            if word.startswith(_TORCH_NAMES):
                names.append(word)
                if len(names) == _NAMES_TRIED:
                    break
    return names


def _hash_table(host: Host, path: str) -> _HashTable | None:
    sections = _sections(host, path)
    if "SHT_GNU_HASH" not in sections:
        return None
    offset = sections["SHT_GNU_HASH"][0]
    header = host.read_range(path, offset, 16)
    if not header.known or len(header.get()) < 16:
        return None
    buckets, first, bloom, shift = struct.unpack("<IIII", header.get())
    if not 0 < buckets < _MOST_BUCKETS or not 0 < bloom < _MOST_BUCKETS:
        return None  # damaged
    return _HashTable(path, offset, sections["SHT_DYNSYM"][0], sections["strings"][0], buckets, first, bloom, shift)


def _exports(host: Host, table: _HashTable, name: str) -> bool:
    value = _gnu_hash(name)
    word = _number(host, table.path, table.offset + 16 + 8 * ((value // 64) % table.bloom), 8)
    mask = (1 << (value % 64)) | (1 << ((value >> table.shift) % 64))
    if word & mask != mask:
        return False  # the filter has no false negatives
    buckets = table.offset + 16 + 8 * table.bloom
    begin = _number(host, table.path, buckets + 4 * (value % table.buckets), 4)
    chains = buckets + 4 * table.buckets
    for index in range(begin, begin + _LONGEST_CHAIN) if begin >= table.first else ():
        link = _number(host, table.path, chains + 4 * (index - table.first), 4)
        if link | 1 == value | 1 and _defined_as(host, table, index, name):
            return True
        if link & 1:
            return False
    return False


def _defined_as(host: Host, table: _HashTable, index: int, name: str) -> bool:
    entry = host.read_range(table.path, table.symbols + index * _SYMBOL.size, _SYMBOL.size)
    if not entry.known or len(entry.get()) < _SYMBOL.size:
        return False
    offset, _, _, section, _, _ = _SYMBOL.unpack(entry.get())
    text = host.read_range(table.path, table.strings + offset, len(name) + 1)
    return section != 0 and text.known and text.get() == name.encode() + b"\0"


def _number(host: Host, path: str, offset: int, size: int) -> int:
    return int.from_bytes(host.read_range(path, offset, size).value or b"", "little")


def _gnu_hash(name: str) -> int:
    value = 5381
    for byte in name.encode():
        value = (value * 33 + byte) & 0xFFFFFFFF
    return value
