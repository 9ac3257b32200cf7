"""Every table of the program: the files of `envkit/data`, each with the class of its rows."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path
from typing import Any

import envkit.tables
from envkit.tables.loader import DATA, TABLES, read

FOLDER = Path(DATA)
FILES = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.csv"))

for module in pkgutil.iter_modules(envkit.tables.__path__, "envkit.tables."):
    importlib.import_module(module.name)


def _names(file: str) -> list[str]:
    """What is in the place of `{}` in the names of a table's files."""
    if "{}" not in file:
        return [""]
    before, after = file.split("{}")
    return [name.removeprefix(before).removesuffix(after) for name in FILES if name.startswith(before)]


BY_FILE: dict[str, tuple[type[Any], str]] = {
    form.file.format(name): (kind, name) for kind, form in TABLES.items() for name in _names(form.file)
}


def rows_of(file: str) -> tuple[Any, ...]:
    """The rows of one file of `envkit/data`."""
    kind, name = BY_FILE[file]
    return read(kind, name)
