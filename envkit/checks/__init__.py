"""Checks: pure functions of an environment and the matrix that yield findings; a new check is a new function here."""

from __future__ import annotations

PLUGIN_GROUP = "envkit.checks"
_state = {"loaded": False}


def load_all() -> None:
    """Import every module of this folder and of the entry-point group `envkit.checks`, once."""
    if _state["loaded"]:
        return
    _state["loaded"] = True
    import importlib
    import pkgutil

    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    _load_plugins()


def _load_plugins() -> None:
    if not _plugins_possible():
        return
    from importlib.metadata import entry_points

    for entry_point in entry_points(group=PLUGIN_GROUP):
        entry_point.load()


def _plugins_possible() -> bool:
    """False where no installed distribution names the group; importlib.metadata costs more than all checks."""
    import os
    import sys

    for folder in sys.path:
        try:
            names = os.listdir(folder or ".")
        except NotADirectoryError:
            return True  # an archive: importlib.metadata reads those
        except OSError:
            continue
        for name in names:
            if name.endswith((".dist-info", ".egg-info")) and _names_group(os.path.join(folder, name)):
                return True
    return False


def _names_group(metadata: str) -> bool:
    try:
        with open(f"{metadata}/entry_points.txt", "rb") as stream:
            return PLUGIN_GROUP.encode() in stream.read()
    except OSError:  # it has none
        return False
