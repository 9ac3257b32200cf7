"""What a Python runs before the program that it is given: where root looks for what others could have changed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from envkit.host.trust import check

_OTHERS = "other users can change what it runs, and this process runs as root"
_LIBRARIES = ("lib*/python*", "local/lib*/python*")
_PACKAGES = ("site-packages", "dist-packages")


def foreign_place(python: str, variables: Mapping[str, str]) -> str:
    """Why root does not start this Python, '' where it may: whom one of the files that it would run belongs to."""
    if os.geteuid() != 0:
        return ""
    try:
        for path in (os.path.expanduser("~"), *python_places(python, variables.get("PYTHONPATH", ""))):
            check(path)
    except OSError as error:
        return f"{_OTHERS}: {error.strerror}"
    return ""


def python_places(python: str, search_path: str = "") -> Iterator[str]:
    """The Python, its folders of modules, what lies at their top, and the folders that `search_path` and .pth name."""
    yield python
    yield from (entry for entry in search_path.split(":") if os.path.isabs(entry) and os.path.exists(entry))
    for prefix in _prefixes(python):
        yield str(prefix)
        for library in (found for pattern in _LIBRARIES for found in prefix.glob(pattern)):
            yield str(library)
            for site in (library / name for name in _PACKAGES if (library / name).is_dir()):
                yield from _modules(site)


def _prefixes(python: str) -> list[Path]:
    """The environment of this Python, and the installations that it was made from."""
    prefix = Path(python).parent.parent
    found = [prefix, Path(os.path.realpath(python)).parent.parent]
    settings = prefix / "pyvenv.cfg"
    if settings.is_file():
        lines = (line.partition("=") for line in settings.read_text("utf-8", "replace").splitlines())
        found += [Path(value.strip()).parent for name, _, value in lines if name.strip() == "home"]
    return [path for path in dict.fromkeys(found) if path.is_dir()]


def _modules(site: Path) -> Iterator[str]:
    """A folder of packages, what lies in it, and the folders that its .pth files add."""
    yield str(site)
    for entry in sorted(site.iterdir()):
        yield str(entry)
        if entry.suffix == ".pth" and entry.is_file():
            added = (site / line.strip() for line in entry.read_text("utf-8", "replace").splitlines() if line.strip())
            yield from (str(path) for path in added if "\0" not in str(path) and os.path.exists(path))
