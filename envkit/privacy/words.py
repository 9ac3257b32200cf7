"""Which names are public: those made of words that say what a thing is, and not whose or where.

The words are those of our tables (packages, libraries, frameworks), of Python's standard library, and of the list here:
folders of systems and toolkits, packages that everybody has, hardware. A name with any other word is private.
"""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Iterator, Mapping
from functools import cache

from envkit._startup.regex import regex
from envkit.tables.loader import DATA, file_bytes

_SOFTWARE = {  # table -> columns whose words are public
    "frameworks.csv": ("name", "aliases", "packages", "import_name"),
    "package_requirements.csv": ("package", "requires"),
    "package_files.csv": ("file", "package"),
    "cuda_sonames.csv": ("library", "soname", "package"),
    "cudnn.csv": ("deb_packages", "pip_package"),
}
_OTHERS = {
    "emptied_packages.csv": ("package",),
    "installer_driver_packages.csv": ("packages", "headers"),
    "operating_systems.csv": ("os_id", "driver_packages", "kernel_headers", "base_image"),
    "image/packages.csv": ("packages",),
}
_WORD = regex(r"[A-Za-z]{2,}")
_PIECES = regex(r"[^A-Za-z0-9]+")
_RUNS = regex(r"[a-z]+|\d+")
_CAMEL = regex(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_MOST_RUNS = 4  # more changes between letters and digits make an id, not a word with a number
_MOST_DIGITS = 5


@cache
def public_words() -> frozenset[str]:
    """Every public word, in lower case."""
    lines = file_bytes(os.path.join(DATA, "public_words.txt")).decode().splitlines()
    listed = (word for line in lines if not line.startswith("#") for word in line.split())
    modules = (word for name in sys.stdlib_module_names for word in _WORD.findall(name.lower()))
    return frozenset((*listed, *modules, *(word for columns in (_SOFTWARE, _OTHERS) for word in _of_tables(columns))))


@cache
def software_words() -> frozenset[str]:
    """The words of frameworks, their packages and NVIDIA's libraries: what follows one of them is a version."""
    return frozenset(_of_tables(_SOFTWARE))


def _of_tables(tables: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    for table, columns in tables.items():
        for row in _rows(table):
            yield from (word for column in columns for word in _WORD.findall(row[column].lower()))
    if tables is _SOFTWARE:
        for framework in _rows("frameworks.csv"):
            for row in _rows(f"frameworks/{framework['name']}.csv"):
                yield from _WORD.findall(f"{row['package']} {row['companions']}".lower())


def _rows(table: str) -> Iterator[dict[str, str]]:
    path = os.path.join(DATA, *table.split("/"))
    return csv.DictReader(file_bytes(path).decode("utf-8").splitlines())


@cache
def is_public(name: str) -> bool:
    """True for a name whose words are all public; numbers and single letters say nothing, long numbers may.

    The public words are ASCII: a name in another script is private.
    """
    return name.isascii() and all(_is_public_piece(piece) for piece in _PIECES.split(name.replace("%2B", "+")) if piece)


def is_listed(name: str) -> bool:
    """True for a name that is a public word as it stands, with its numbers: `k8s`."""
    return name.lower() in public_words()


def _is_public_piece(piece: str) -> bool:
    words = public_words()
    if is_listed(piece):
        return True
    runs = _RUNS.findall(piece.lower())
    if len(runs) > _MOST_RUNS:
        return False
    if all(_is_public_run(run, words) for run in runs):
        return True
    parts = _CAMEL.findall(piece)
    return 1 < len(parts) <= _MOST_RUNS and all(_is_public_run(part.lower(), words) for part in parts)


def _is_public_run(run: str, words: frozenset[str]) -> bool:
    if run.isdigit():
        return len(run) <= _MOST_DIGITS
    return len(run) == 1 or run in words or run.startswith("lib") and run[3:] in words
