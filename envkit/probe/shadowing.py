"""Files in the working folder or on PYTHONPATH that Python would import instead of the real module."""

from __future__ import annotations

import posixpath
import sys
from collections.abc import Iterator

from envkit.host.base import Host

FRAMEWORK_MODULES = frozenset(
    {"torch", "torchvision", "tensorflow", "jax", "mxnet", "numpy", "paddle", "cupy", "triton", "keras", "onnxruntime"}
)
_HARMLESS = frozenset(
    {"test", "this", "antigravity", "idlelib", "turtledemo", "turtle", "venv", "lib2to3", "ensurepip"}
)
# What every Python imports before the folder of a script or the working folder is on its path.
_IMPORTED_FIRST = frozenset(
    {"_collections_abc", "_sitebuiltins", "abc", "codecs", "encodings", "genericpath", "io", "os", "posixpath", "site"}
    | {"stat", "zipimport"}
)


def shadowing_modules(host: Host) -> tuple[str, ...]:
    """Paths whose names hide a framework or a standard module, when Python is started in the working folder."""
    variables = host.variables()
    searched_at_start = [folder for folder in variables.get("PYTHONPATH", "").split(":") if folder]
    folders = dict.fromkeys(searched_at_start, FRAMEWORK_MODULES | _hideable())
    working = host.identity().get("cwd", "")
    if working and not variables.get("PYTHONSAFEPATH"):
        folders = {working: FRAMEWORK_MODULES | (_hideable() - _IMPORTED_FIRST)} | folders
    return tuple(path for folder, hidden in folders.items() for path in _shadows(host, folder, hidden))


def _hideable() -> frozenset[str]:
    """The standard modules that Python looks for in folders: it holds the others itself, built in or frozen."""
    from importlib.machinery import FrozenImporter

    looked_for = sys.stdlib_module_names - _HARMLESS - set(sys.builtin_module_names)
    return frozenset(name for name in looked_for if FrozenImporter.find_spec(name) is None)


def _shadows(host: Host, folder: str, hidden: frozenset[str]) -> Iterator[str]:
    names = host.list_dir(folder).value or ()
    if "os.py" in names or posixpath.basename(folder) in ("site-packages", "dist-packages"):
        return  # a library folder itself: its names are the real modules
    for name in names:
        module, extension = posixpath.splitext(name)
        if extension == ".py" and module in hidden:
            yield f"{folder}/{name}"
        elif not extension and name in hidden and host.status(f"{folder}/{name}/__init__.py").known:
            yield f"{folder}/{name}/"
