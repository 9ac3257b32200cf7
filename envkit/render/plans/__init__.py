"""The lists of packages that a plan can be written as. Each module here is one, by its name, with a function `written`.

Whatever tool reads a list, it installs what the plan's own commands do, each package from its own index.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from envkit.documents.packages import PackageList


def formats() -> tuple[str, ...]:
    """The names of all formats."""
    import pkgutil

    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__)))


def formatted(packages: PackageList, form: str) -> str:
    """The list in a format. Raises EnvkitError for what it cannot hold."""
    from importlib import import_module

    text: str = import_module(f"{__name__}.{form}").written(packages)
    return text
