"""A recorded machine with one thing changed: how a healthy one looks after a fault."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from envkit.cli.environment import recorded
from envkit.model import Environment
from tests.fakes.machines import MACHINES

Change: TypeAlias = "Callable[[Evidence], None]"
Part: TypeAlias = Any  # what a file of JSON holds


class Evidence:
    """The parts of a recording, to change in place."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._parts: dict[str, Part] = {}

    def part(self, name: str, default: Part = None) -> Part:
        """The content of `name`.json; `default` where the recording has no such part."""
        if name not in self._parts:
            path = self._folder / f"{name}.json"
            self._parts[name] = json.loads(path.read_text("utf-8")) if path.exists() else default
        return self._parts[name]

    def put(self, name: str, content: Part) -> None:
        """Replace the content of `name`.json."""
        self._parts[name] = content

    @property
    def files(self) -> dict[str, str]:
        """Texts by path."""
        content: dict[str, str] = self.part("files", {})
        return content

    @property
    def paths(self) -> dict[str, Any]:
        """Links, nodes and files known by size, by path."""
        content: dict[str, Any] = self.part("paths", {})
        return content

    @property
    def gpus(self) -> list[dict[str, Any]]:
        """The devices of NVML."""
        content: list[dict[str, Any]] = self.part("nvml")["devices"]
        return content

    def device(self, address: str, name: str, text: str) -> None:
        """Write a file of the PCI device."""
        folder = self.paths[f"/sys/bus/pci/devices/{address}"]["link"]
        self.files[f"{folder}/{name}"] = f"{text}\n"

    def port(self, address: str, name: str, text: str) -> None:
        """Write a file of the port above the PCI device."""
        folder = self.paths[f"/sys/bus/pci/devices/{address}"]["link"].rsplit("/", 1)[0]
        self.files[f"{folder}/{name}"] = f"{text}\n"

    def kernel_says(self, *lines: str) -> None:
        """Append lines to the kernel log."""
        log = self.files.get("/dev/kmsg", "")
        self.paths.pop("/dev/kmsg", None)
        self.files["/dev/kmsg"] = log + "".join(f"4,{500 + n},{5000000 + n},-;{line}\n" for n, line in enumerate(lines))

    def answers(self, api: str, code: int, name: str, text: str = "") -> None:
        """Let NVML or CUDA fail in its first call."""
        call = {"nvml": "nvmlInit", "cuda": "cuInit"}[api]
        before = self.part(api, {})
        kept = {key: before[key] for key in ("library", "driver_cuda_version") if key in before}
        self.put(api, {**kept, "init": {"code": code, "name": name, "call": call, "text": text}})

    def remove(self, *beginnings: str) -> None:
        """Remove every path that begins so."""
        for part in (self.files, self.paths):
            for path in [path for path in part if path.startswith(beginnings)]:
                del part[path]

    def save(self, folder: Path) -> None:
        """Write what was changed."""
        for name, content in self._parts.items():
            if content is not None:
                (folder / f"{name}.json").write_text(json.dumps(content), "utf-8")


def with_change(machine: str, change: Change, folder: Path) -> Environment:
    """The recorded machine after `change`, replayed from a copy in `folder`."""
    copy = folder / machine
    shutil.copytree(MACHINES / machine, copy)
    evidence = Evidence(copy)
    change(evidence)
    evidence.save(copy)
    return recorded(str(copy))
