"""A mounted file system or an unpacked image: its files, with links resolved inside it; nothing is ever run there."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Mapping, Sequence
from typing import Any

from envkit.host.base import CommandResult, FileStatus, Told
from envkit.host.files import Files
from envkit.model import Observed, Problem, missing

_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
_LIVE_FOLDERS = {"proc", "sys", "dev", "run"}
_WHY = "a mounted file system is not run"


class RootHost:
    """The file system below `root`. What only a running machine can tell is NOT_LOOKED."""

    def __init__(self, root: str) -> None:
        self._name = root
        self._files = Files(root)

    @property
    def origin(self) -> str:
        """The folder."""
        return self._name

    def read_text(self, path: str, limit: int = 1_000_000) -> Observed[str]:
        """The file's text."""
        read = self.read_bytes(path, limit)
        return Observed(
            None if read.value is None else read.value.decode("utf-8", "replace"), path, read.problem, read.detail
        )

    def read_bytes(self, path: str, limit: int = 64_000_000) -> Observed[bytes]:
        """The file's first `limit` bytes; /proc, /sys and /dev of a mounted root are not the machine's."""
        return self._live(path) or self._files.read_bytes(path, limit)

    def read_range(self, path: str, offset: int, size: int) -> Observed[bytes]:
        """At most `size` bytes of the file from `offset` on."""
        return self._live(path) or self._files.read_range(path, offset, size)

    def list_dir(self, path: str) -> Observed[tuple[str, ...]]:
        """The names in a folder."""
        return self._live(path) or self._files.list_dir(path)

    def glob(self, pattern: str) -> tuple[str, ...]:
        """The paths that match."""
        return () if self._live(pattern) else self._files.glob(pattern)

    def real_path(self, path: str) -> Observed[str]:
        """The path without links, inside the root."""
        return self._live(path) or self._files.real_path(path)

    def read_link(self, path: str) -> Observed[str]:
        """What the link at `path` says."""
        return self._live(path) or self._files.read_link(path)

    def status(self, path: str, follow: bool = True) -> Observed[FileStatus]:
        """Type and rights of a path."""
        return self._live(path) or self._files.status(path, follow)

    def free_bytes(self, path: str) -> Observed[int]:
        """Free space of the file system that holds `path`."""
        return self._live(path) or self._files.space(path, total=False)

    def size_bytes(self, path: str) -> Observed[int]:
        """Size of the file system that holds `path`."""
        return self._live(path) or self._files.space(path, total=True)

    def which(self, program: str) -> Observed[str]:
        """The first file of that name in the usual program folders."""
        for folder in _PATH:
            path = posixpath.join(folder, program)
            status = self._files.status(path, follow=True)
            if status.known and status.get().kind == "file":
                return Observed(path, "PATH", None)
        return missing(Problem.ABSENT, "PATH", f"no {program} in the usual directories")

    def run(self, command: Sequence[str], limit_s: float = 5.0) -> Observed[CommandResult]:
        """Nothing: no command is run."""
        return missing(Problem.NOT_LOOKED, " ".join(command), _WHY)

    def variables(self) -> Mapping[str, str]:
        """None are known."""
        return {}

    def identity(self) -> Mapping[str, str]:
        """Nothing is known."""
        return {}

    def query(self, subject: str, limit_s: float = 5.0) -> Observed[Mapping[str, object]]:
        """Nothing: no library is asked."""
        return missing(Problem.NOT_LOOKED, subject, _WHY)

    def apart(self, module: str, limit_s: float) -> Observed[Told]:
        """What a module of envkit writes of this tree, in a process of its own."""
        from envkit.host.apart import ask_apart

        about = {"root": os.path.abspath(self._name)}
        return ask_apart(module, about, {"PATH": os.defpath, "LC_ALL": "C"}, limit_s)

    @staticmethod
    def _live(path: str) -> Observed[Any] | None:
        """NOT_LOOKED for what belongs to a running kernel, None for files of the image."""
        first = path.strip("/").split("/")[0]
        return missing(Problem.NOT_LOOKED, path, _WHY) if first in _LIVE_FOLDERS else None
