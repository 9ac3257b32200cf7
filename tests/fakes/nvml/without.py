"""Asks every question of NVML once for each name of pynvml that the questions use, with that one name taken away.

Prints `{"answered": [fields], "lost": {name: [fields that have no answer without it]}, "binding": "its file",
"failed": {field: reason}, "processes": [pids]}`.
"""

from __future__ import annotations

import json
from typing import Any

import pynvml

from envkit.host import nvml_child


class Binding:
    """pynvml without one name; it remembers the names that were looked up."""

    def __init__(self, without: str = "") -> None:
        self._without = without
        self.used: set[str] = set()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - pynvml has no types
        self.used.add(name)
        if name == self._without:
            raise AttributeError(name)
        return getattr(pynvml, name)


def main() -> None:
    pynvml.nvmlInit()
    whole = Binding()
    answered = _fields(whole)
    names = sorted(name for name in whole.used if name.startswith(("nvml", "c_nvml", "NVML_")))
    lost = {name: sorted(answered - _fields(Binding(name))) for name in names if name not in _CORE}
    device = nvml_child._device(whole, 0)
    told = {"answered": sorted(answered), "lost": lost, "binding": pynvml.__file__}
    print(json.dumps({**told, "failed": device.get("failed", {}), "processes": device.get("processes")}))


_CORE = ("nvmlDeviceGetHandleByIndex",)


def _fields(binding: Binding) -> set[str]:
    return set(nvml_child._device(binding, 0)) | set(nvml_child._versions(binding))


if __name__ == "__main__":
    main()
