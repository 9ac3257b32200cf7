"""Keeps three modules of Python unread that click imports and hardly uses: a fifth of a short command's time.

`inspect` reads Python's parser and disassembler; click asks it to tidy help texts, which are one line here, and
`pkgutil` for the names of modules in a folder. `uuid` reads `platform`; click only names its type. `gettext` looks
for translations, of which click has none, with `locale`.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import all_suffixes
from threading import RLock
from types import ModuleType
from typing import Any

_READING = RLock()


class _Deferred(ModuleType):
    """Stands for a module, and becomes it when a name is asked for that it does not have."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - any attribute of any module
        if name == "__path__":  # which `from … import` asks for, and no module but a package has
            raise AttributeError(name)
        with _READING:
            if sys.modules.get(self.__name__) is self:
                del sys.modules[self.__name__]
            __import__(self.__name__)
            real = sys.modules[self.__name__]
            vars(self).update(vars(real))
        return getattr(real, name)


def import_click() -> None:
    """Imports click with those modules deferred; what has been read before stays as it is."""
    if "inspect" not in sys.modules:
        sys.modules["inspect"] = _inspect()
    if "gettext" not in sys.modules:
        sys.modules["gettext"] = _gettext()
    if "uuid" in sys.modules:
        return
    sys.modules["uuid"] = identifiers = _Deferred("uuid")
    identifiers.UUID = object  # type: ignore[attr-defined]  # click derives a type from it, which is used nowhere here
    __import__("click")
    del identifiers.UUID  # whoever asks for it from now on gets the real one


def _gettext() -> ModuleType:
    """Every message as it is written, which is what the real one gives where no catalog is."""
    module = _Deferred("gettext")
    module.gettext = lambda message: message  # type: ignore[attr-defined]
    module.ngettext = lambda one, several, count: one if count == 1 else several  # type: ignore[attr-defined]
    return module


def _inspect() -> ModuleType:
    module = _Deferred("inspect")

    def cleandoc(text: str) -> str:
        """One line as `inspect.cleandoc` gives it; more lines are given to that."""
        if "\n" not in text:
            return text.expandtabs().lstrip()
        del module.cleandoc
        cleaned: str = module.cleandoc(text)
        return cleaned

    def getmodulename(path: str) -> str | None:
        """The name of the module in a file, as `inspect.getmodulename` gives it."""
        name = path.rpartition(os.sep)[2]
        suffixes = sorted(all_suffixes(), key=len, reverse=True)  # the longest that fits
        return next((name.removesuffix(suffix) for suffix in suffixes if name.endswith(suffix)), None)

    module.cleandoc = cleandoc  # type: ignore[attr-defined]
    module.getmodulename = getmodulename  # type: ignore[attr-defined]
    return module
