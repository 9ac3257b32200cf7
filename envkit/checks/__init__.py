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
    from importlib.metadata import entry_points

    for entry_point in entry_points(group=PLUGIN_GROUP):
        entry_point.load()
