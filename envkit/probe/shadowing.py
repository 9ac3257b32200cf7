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


def shadowing_modules(host: Host) -> tuple[str, ...]:
    """Paths whose names hide a framework or a standard module, when Python is started in the working folder."""
    variables = host.variables()
    folders = [folder for folder in variables.get("PYTHONPATH", "").split(":") if folder]
    working = host.identity().get("cwd", "")
    if working and not variables.get("PYTHONSAFEPATH"):
        folders.insert(0, working)
    return tuple(path for folder in dict.fromkeys(folders) for path in _shadows(host, folder))


def _shadows(host: Host, folder: str) -> Iterator[str]:
    names = host.list_dir(folder).value or ()
    if "os.py" in names or posixpath.basename(folder) in ("site-packages", "dist-packages"):
        return  # a library folder itself: its names are the real modules
    hidden = (FRAMEWORK_MODULES | sys.stdlib_module_names) - _HARMLESS
    for name in names:
        module, extension = posixpath.splitext(name)
        if extension == ".py" and module in hidden:
            yield f"{folder}/{name}"
        elif not extension and name in hidden and host.status(f"{folder}/{name}/__init__.py").known:
            yield f"{folder}/{name}/"
