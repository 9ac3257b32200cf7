"""Checks: pure functions of an environment and the matrix that yield findings; a new check is a new function here."""

from __future__ import annotations

_state = {"loaded": False}


def load_all() -> None:
    """Import every module of this folder that declares checks, once; the engine declares none."""
    if _state["loaded"]:
        return
    _state["loaded"] = True
    import importlib
    import pkgutil

    for module in pkgutil.walk_packages(__path__, f"{__name__}."):
        if not module.name.startswith(f"{__name__}.engine"):
            importlib.import_module(module.name)
